"""Metrics made of metrics: their mean, and QARLA's QUEEN of a segment."""

from tensormt.combined.mean import Mean
from tensormt.combined.queen import Queen

__all__ = ["Mean", "Queen"]
