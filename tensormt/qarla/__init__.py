"""QARLA: combine similarity metrics without weights, and evaluate them without human scores.

QUEEN scores a text, KING a set of metrics, JACK a set of peers (Amigó et al. 2005); `measures` has
the definitions and the choices that were made where the paper leaves one.
"""

from tensormt.qarla.jack_counts import jack, jack_sets
from tensormt.qarla.measures import king, king_sets, queen, queen_sets
from tensormt.qarla.selection import MetricSet, best_of, best_set, greedy_set

__all__ = [
    "MetricSet",
    "best_of",
    "best_set",
    "greedy_set",
    "jack",
    "jack_sets",
    "king",
    "king_sets",
    "queen",
    "queen_sets",
]
