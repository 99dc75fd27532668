"""Names that tell two rewards, or two metrics of a collection, apart.

    STM(balance="f1")  →  stm:balance=f1        the name, and the options that are not the defaults

Two metrics with one such name give the same scores, so what is logged under it is the same too.
"""

from __future__ import annotations

import re
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.registry import make


def label(metric: Metric[Any]) -> str:
    """The metric's name with the options that are not the defaults, as in its signature."""
    name = metric.name.lower()
    try:
        usual = make(name).settings()
    except TensorMTError:  # a metric that cannot be made by its name alone
        usual = {}
    changed = [f"{k}={v}" for k, v in metric.settings().items() if k not in usual or usual[k] != v]
    return ":".join(filter(None, (name, ",".join(changed))))


def identifier(*words: str) -> str:
    """Words as one name of letters, digits and underscores."""
    return re.sub(r"[\W_]+", "_", "_".join(filter(None, words))).strip("_")
