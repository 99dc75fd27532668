"""Unique names of rewards, and of metrics in a collection.

    STM(balance="f1")  →  stm:balance=f1        the name, and the options that are not the defaults

Metrics of the same name have the same scores.
"""

from __future__ import annotations

import re
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.options import describe
from tensormt.registry import make


def as_metric(metric: Any) -> Metric[Any]:
    """Return a metric that is given itself or by its name with options.

    Raises:
        TensorMTError: If it is neither, or the name is unknown.

    >>> as_metric("stm:balance=f1").name
    'STM'
    """
    if isinstance(metric, str):
        return make(metric)
    if not isinstance(metric, Metric):
        raise TensorMTError(f"the metric is {describe(metric)}, expected a Metric or its name")
    return metric


def metric_label(metric: Metric[Any]) -> str:
    """Return the name of a metric with the options that are not the defaults.

    >>> metric_label(make("stm:balance=f1"))
    'stm:balance=f1'
    """
    name = metric.name.lower()
    try:
        defaults = make(name).settings()
    except TensorMTError:  # a metric that cannot be made from its name
        defaults = {}
    missing = object()
    options = metric.settings().items()
    changed = [f"{key}={value}" for key, value in options if defaults.get(key, missing) != value]
    return ":".join(filter(None, (name, ",".join(changed))))


def identifier(*words: str) -> str:
    """Join words to an identifier of letters, digits and underscores.

    >>> identifier("stm:balance=f1", "", "reward")
    'stm_balance_f1_reward'
    """
    return re.sub(r"[\W_]+", "_", "_".join(filter(None, words))).strip("_")
