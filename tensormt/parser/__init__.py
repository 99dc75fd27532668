"""Text to trees: supar's neural parsers, scores to node tensors in batches, and foreign ones."""

from tensormt.parser.named import open_parser
from tensormt.parser.parser import Parser

__all__ = ["Parser", "open_parser"]
