"""What was matched, and a page in the browser that shows it."""

from tensormt.reporting.build import report
from tensormt.reporting.explained import Explained, Match, Member, Pair, explain

__all__ = ["Explained", "Match", "Member", "Pair", "explain", "report"]
