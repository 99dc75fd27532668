"""Trees as tensors: the batch, its readers and writers, head rules and other views."""

from tensormt.trees.batch import TreeBatch

__all__ = ["TreeBatch"]
