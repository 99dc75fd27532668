"""Scoring of many files on many workers: local processes, or actors of a Ray cluster."""

from tensormt.scale.driver import Summary, score_files

__all__ = ["Summary", "score_files"]
