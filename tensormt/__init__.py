"""tensormt: syntactic and multi-reference evaluation of machine translation on torch tensors.

Names are loaded when they are first asked for: importing the package imports nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTError
from tensormt.version import __version__

if TYPE_CHECKING:
    from tensormt import metaeval, qarla
    from tensormt.combined import Mean, Queen
    from tensormt.contextual import BERTScore
    from tensormt.edit import CER, PER, TER, WER
    from tensormt.nbest import diversity, rerank
    from tensormt.ngram import BLEU, BM, BMA, NIST, NM, ChrF, Copied, OffTarget
    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.references import References
    from tensormt.parser import Parser
    from tensormt.reporting import explain, report
    from tensormt.result import Result, Results
    from tensormt.rouge import ROUGE
    from tensormt.scoring import parse, score
    from tensormt.stored_scores import Scores
    from tensormt.syntax import DSTM, DTKM, HWCM, STM, TKM
    from tensormt.text.tokens import TokenBatch
    from tensormt.trees import TreeBatch

__all__ = [
    "BLEU",
    "BM",
    "BMA",
    "CER",
    "DSTM",
    "DTKM",
    "HWCM",
    "NIST",
    "NM",
    "PER",
    "ROUGE",
    "STM",
    "TER",
    "TKM",
    "WER",
    "BERTScore",
    "ChrF",
    "Copied",
    "Frequencies",
    "Mean",
    "OffTarget",
    "Parser",
    "Queen",
    "References",
    "Result",
    "Results",
    "Scores",
    "TensorMTError",
    "TokenBatch",
    "TreeBatch",
    "__version__",
    "compare",
    "diversity",
    "explain",
    "metaeval",
    "parse",
    "qarla",
    "report",
    "rerank",
    "score",
]

# module → the public names that are imported from it; "": the module itself is public
_NAMES = {
    "combined": "Mean Queen",
    "comparison": "compare",
    "contextual": "BERTScore",
    "edit": "CER PER TER WER",
    "nbest": "diversity rerank",
    "ngram": "BLEU BM BMA NIST NM ChrF Copied OffTarget",
    "ngram.frequencies": "Frequencies",
    "ngram.references": "References",
    "rouge": "ROUGE",
    "syntax": "DSTM DTKM HWCM STM TKM",
    "parser": "Parser",
    "reporting": "explain report",
    "result": "Result Results",
    "scoring": "parse score",
    "stored_scores": "Scores",
    "text.tokens": "TokenBatch",
    "trees": "TreeBatch",
    "metaeval": "",
    "qarla": "",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name in _HOMES:
        value = getattr(import_module(f"tensormt.{_HOMES[name]}"), name)
    elif name in _NAMES:
        value = import_module(f"tensormt.{name}")
    else:
        raise AttributeError(f"module 'tensormt' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
