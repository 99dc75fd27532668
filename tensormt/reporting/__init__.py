"""Explanations of scores (`tm.explain`) and an HTML report that shows them (`tm.report`)."""

from tensormt.reporting.build import report
from tensormt.reporting.explained import Explained, Match, Member, Pair, explain

__all__ = ["Explained", "Match", "Member", "Pair", "explain", "report"]
