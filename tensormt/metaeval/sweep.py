"""Metrics at several orders: `sweep(["bleu", "stm", "tkm"], [1, 2])` gives bleu-1, bleu-2, stm-1,
stm-2, and tkm once, since it has no order, depth or length; combined metrics once too."""

from collections.abc import Sequence
from typing import Any

from tensormt.metric import Metric
from tensormt.registry import find, is_combined, make, parse_spec

ORDERS = ("max_order", "max_depth", "max_length")


def order_option(spec: str) -> str | None:
    """Return the option that is the metric's order, if it has one that is still open."""
    if is_combined(spec):
        return None
    name, given = parse_spec(spec)
    known = {option.name for option in find(name).options()}
    return next((key for key in ORDERS if key in known and key not in given), None)


def sweep(specs: Sequence[str], orders: Sequence[int]) -> dict[str, Metric[Any]]:
    """Return metrics by name, those with an order once for each of the orders given."""
    found = {}
    for spec in specs:
        option = order_option(spec)
        if option is None or not orders:
            found[spec] = make(spec)
        else:
            found |= {f"{spec}-{n}": make(spec, **{option: n}) for n in orders}
    return found
