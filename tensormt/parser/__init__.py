"""Parsing of text into trees: supar's neural parsers in batches, and parsers of other libraries.

Public names are loaded when they are first asked for, so that jobs without trees need no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensormt.parser.parser import Parser
    from tensormt.parser.registry import open_parser
    from tensormt.parser.tree_source import clear_parsers

__all__ = ["Parser", "clear_parsers", "open_parser"]

_HOMES = {"Parser": "parser", "open_parser": "registry", "clear_parsers": "tree_source"}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tensormt.parser' has no attribute {name!r}")
    return getattr(import_module(f"tensormt.parser.{_HOMES[name]}"), name)
