"""Text to trees: supar's neural constituency parser, from scores to node tensors in batches."""

from tensormt.parser.parser import Parser

__all__ = ["Parser"]
