"""tensormt: syntactic and multi-reference evaluation of machine translation on torch tensors."""

from typing import Any

from tensormt.errors import TensorMTError
from tensormt.ngram import BLEU, BM, BMA, NIST, NM, Frequencies, References
from tensormt.scoring import Result, score
from tensormt.syntax import DSTM, DTKM, HWCM, STM, TKM
from tensormt.text.tokens import TokenBatch
from tensormt.trees import TreeBatch
from tensormt.version import __version__

__all__ = [
    "BLEU",
    "BM",
    "BMA",
    "DSTM",
    "DTKM",
    "HWCM",
    "NIST",
    "NM",
    "STM",
    "TKM",
    "Frequencies",
    "Parser",
    "References",
    "Result",
    "TensorMTError",
    "TokenBatch",
    "TreeBatch",
    "__version__",
    "explain",
    "metaeval",
    "qarla",
    "report",
    "score",
]


def __getattr__(name: str) -> Any:
    """Load the parser, QARLA, meta-evaluation and reports when they are first asked for."""
    if name == "Parser":
        from tensormt.parser import Parser

        return Parser
    if name in ("explain", "report"):
        from tensormt import reporting

        return getattr(reporting, name)
    if name in ("metaeval", "qarla"):
        from importlib import import_module

        return import_module(f"tensormt.{name}")
    raise AttributeError(f"module 'tensormt' has no attribute {name!r}")
