"""Parsing of text into trees: supar's neural parsers in batches, and parsers of other libraries."""

from tensormt.parser.parser import Parser
from tensormt.parser.registry import open_parser
from tensormt.parser.tree_source import clear_parsers

__all__ = ["Parser", "clear_parsers", "open_parser"]
