"""Text to trees: supar's neural parsers, scores to node tensors in batches, and foreign ones."""

from tensormt.parser.parser import Parser
from tensormt.parser.registry import open_parser

__all__ = ["Parser", "open_parser"]
