"""The metrics by name, and metrics with options as they are typed: `stm:max_depth=3,balance=f1`.

Adding a metric: its class in `syntax` or `ngram`, one line here, its test, one row in the README;
the command line finds it, with its options, by itself.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.ngram import BLEU, BM, BMA, NIST, NM, ChrF
from tensormt.syntax import DSTM, DTKM, HWCM, STM, TKM

__all__ = ["METRICS", "make", "options", "parse_spec"]

METRICS: dict[str, type[Metric[Any]]] = {
    "bleu": BLEU,
    "nist": NIST,
    "bm": BM,
    "bma": BMA,
    "nm": NM,
    "chrf": ChrF,
    "stm": STM,
    "tkm": TKM,
    "hwcm": HWCM,
    "dstm": DSTM,
    "dtkm": DTKM,
}


def options(name: str) -> dict[str, Any]:
    """The options of a metric and their defaults; those that cannot be typed are left out."""
    if name not in METRICS:
        raise TensorMTError(f"no metric named {name!r}: choose from {', '.join(METRICS)}")
    parameters = inspect.signature(METRICS[name]).parameters.values()
    return {p.name: p.default for p in parameters if p.name != "counts"}


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and options of a metric as it is typed; numbers, True, False and None are read so."""
    name, _, rest = spec.partition(":")
    known = options(name)
    found: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or key not in known or key in found:
            raise TensorMTError(
                f"metric {spec!r}: {item!r} is no option of {name}, write for example "
                f"{name}:{next(iter(known))}={next(iter(known.values()))!r} "
                f"(options: {', '.join(known)})"
            )
        try:
            found[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError):
            found[key] = value
    return name, found


def make(spec: str, **more: Any) -> Metric[Any]:
    """The metric that a specification names, with more options."""
    name, found = parse_spec(spec)
    try:
        return METRICS[name](**{**found, **more})
    except TypeError as error:
        raise TensorMTError(f"metric {spec!r}: {error}") from None
