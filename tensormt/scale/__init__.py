"""Folders of shards on many workers: processes of this machine, or actors of a Ray cluster."""

from tensormt.scale.driver import Summary, score_files

__all__ = ["Summary", "score_files"]
