"""What was matched, and a page in the browser that shows it."""

from tensormt.reporting.matched import Explained, Match, Pair, explain
from tensormt.reporting.report import report

__all__ = ["Explained", "Match", "Pair", "explain", "report"]
