"""Parsers by name: ours, and those of other libraries.

    default            the embedded English parser of constituents
    ud:de              the embedded parser of dependencies, German (also: ud with lang="de")
    spacy:MODEL        a spaCy pipeline, by its name or folder
    stanza:LANG[:DIR]  a Stanza pipeline, with its models in DIR where they are not at home
                       (stanza-constituency:… for its brackets)
    PATH               a folder of `train-parser`, or a supar checkpoint

All of them have a fingerprint, the kind of their trees, and `parse`.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import torch

from tensormt.errors import TensorMTError
from tensormt.parser.parser import Parser
from tensormt.trees.batch import TreeBatch


@runtime_checkable
class TextParser(Protocol):
    """Text to trees, for a CachedParser."""

    @property
    def kind(self) -> str:
        """Of the trees: constituency or dependency."""

    @property
    def fingerprint(self) -> str:
        """What makes the trees, in short."""

    def parse(
        self,
        segments: Sequence[str | Sequence[str] | None],
        progress: Callable[[int], object] | None = None,
    ) -> TreeBatch:
        """Trees of segments; `progress` hears how many more are done."""


def open_parser(
    name: str | PathLike[str] = "default",
    trusted: bool = False,
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
    **rules: Any,
) -> TextParser:
    """The parser of a name; `rules` are those of `Parser.load`.

    >>> open_parser("default", split=False).fingerprint.partition("-")[0]
    'english'
    """
    library, _, rest = name.partition(":") if isinstance(name, str) else ("", "", "")
    if library in ("spacy", "stanza", "stanza-constituency"):
        if lang is not None:
            raise TensorMTError(
                f"lang is {lang!r}, but the parser {name} has a language of its own: leave one out",
                options="lang parser",
            )
        if library == "spacy":
            from tensormt.parser.spacy_pipeline import SpacyParser

            return SpacyParser(rest)
        from tensormt.parser.stanza_pipeline import StanzaParser

        kind = "dependency" if library == "stanza" else "constituency"
        return StanzaParser(rest, device, kind)
    if library == "ud" and rest:
        if lang not in (None, rest):
            raise TensorMTError(
                f"the parser {name} and lang {lang!r} disagree: give one of them",
                options="lang parser",
            )
        name, lang = "ud", rest
    return Parser.load(name, trusted, device, lang=lang, **rules)
