"""Metrics at several orders, as in the papers' tables.

`sweep(["bleu", "stm", "tkm"], [1, 2])` gives bleu-1, bleu-2, stm-1, stm-2, and tkm once, because it
has no order, depth or length. Combined metrics are also given once.
"""

from collections.abc import Sequence
from typing import Any

from tensormt.metric import Metric
from tensormt.registry import find, is_combined, make, parse_spec

ORDERS = ("max_order", "max_depth", "max_length")


def order_option(spec: str) -> str | None:
    """Return the option that is the metric's order; None if there is none or it is already set.

    >>> order_option("stm"), order_option("stm:max_depth=2"), order_option("tkm")
    ('max_depth', None, None)
    """
    if is_combined(spec):
        return None
    name, given = parse_spec(spec)
    known = {option.name for option in find(name).options()}
    return next((key for key in ORDERS if key in known and key not in given), None)


def sweep(
    specs: Sequence[str], orders: Sequence[int], lang: str | None = None
) -> dict[str, Metric[Any]]:
    """Make metrics at several orders.

    Args:
        specs: Metrics as on the command line.
        orders: Orders, depths or lengths; empty: every metric once, as it is.
        lang: Language of the text, which sets tokenisers that specifications do not name.

    Returns:
        Metrics by name.

    >>> list(sweep(["bleu", "tkm"], [1, 2]))
    ['bleu-1', 'bleu-2', 'tkm']
    """
    found = {}
    for spec in specs:
        option = order_option(spec)
        if option is None or not orders:
            found[spec] = make(spec, lang)
        else:
            found |= {f"{spec}-{n}": make(spec, lang, **{option: n}) for n in orders}
    return found
