"""QARLA: combine similarity metrics without weights, and judge them without human scores.

QUEEN rates a text, KING a set of metrics, JACK a set of peers (Amigó et al. 2005); see `measures`
for the definitions and what was decided where the paper leaves a choice.
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
