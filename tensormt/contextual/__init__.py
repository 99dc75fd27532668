"""Metrics on contextual vectors: BERTScore."""

from tensormt.contextual.bertscore import BERTScore

__all__ = ["BERTScore"]
