"""Parsing of text into trees: supar's neural parsers in batches, and parsers of other libraries."""

from tensormt.parser.parser import Parser
from tensormt.parser.registry import open_parser

__all__ = ["Parser", "open_parser"]
