"""Selection of the source of trees: a parser with its cache, or given trees.

Parsers inside the package stay loaded, with the trees of recent texts, for later calls in the same
process; `clear_parsers` releases them.
"""

from __future__ import annotations

from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTError
from tensormt.parser.language_check import check_code
from tensormt.trees.sources import PreparsedTrees, TreeOptions, TreesAsText

if TYPE_CHECKING:
    import torch

    from tensormt.parser.cache import TreeMemory
    from tensormt.parser.registry import TextParser

_MAX_LOADED = 4  # parsers that stay loaded


def tree_source(
    trees: Any,
    device: str | torch.device | None = None,
    lang: str | None = None,
    *,
    needed: bool = True,
) -> Any:
    """Return the source of trees that a value names.

    Args:
        trees: None; a parser, its name or path; `TreeOptions` (parser, cache, …); a
            function from texts to a TreeBatch; `TreesAsText` or `PreparsedTrees`.
        device: Device of a parser that is opened here.
        lang: Language of the text, for a parser that is opened here.
        needed: Whether a metric reads trees; if not, no parser is opened.

    Returns:
        A source that is called with texts, `PreparsedTrees`, or None.

    Raises:
        TensorMTError: If the value is of another kind, or the parser cannot be opened.
    """
    check_code(lang)
    if trees is None or isinstance(trees, TreesAsText | PreparsedTrees):
        return trees  # texts that are trees also give the tokens of other metrics
    if not needed:
        return None
    from tensormt.parser.cache import CachedParser
    from tensormt.parser.parser import EMBEDDED
    from tensormt.parser.registry import TextParser, open_parser

    options = trees if isinstance(trees, TreeOptions) else TreeOptions(trees)
    parser, memory = options.parser, None
    if isinstance(parser, str) and not options.rules and parser.partition(":")[0] in EMBEDDED:
        parser, memory = _loaded(parser, str(device), lang)
    elif isinstance(parser, str | PathLike):
        parser = open_parser(parser, options.trusted, device, lang=lang, **options.rules)
    elif callable(parser):
        return parser
    if memory is None and not isinstance(parser, TextParser):
        raise TensorMTError(
            f"parser is {type(parser).__name__}: expected 'default', 'ud:de', a path, a Parser or "
            "a source of trees"
        )
    return CachedParser(
        parser,
        options.cache,
        options.progress,
        strict=options.strict_cache,
        check_language=options.check_language,
        memory=None if options.cache is not None else memory,
    )


@lru_cache(maxsize=_MAX_LOADED)
def _loaded(name: str, device: str, lang: str | None) -> tuple[TextParser, TreeMemory]:
    """A parser of the package, and the trees that it made."""
    from tensormt.parser.cache import TreeMemory
    from tensormt.parser.registry import open_parser

    return open_parser(name, device=None if device == "None" else device, lang=lang), TreeMemory()


def clear_parsers() -> None:
    """Release the parsers that stay loaded, with their trees.

    >>> clear_parsers()
    """
    _loaded.cache_clear()
