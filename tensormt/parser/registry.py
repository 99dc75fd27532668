"""Parsers by name: those of the package, and external ones.

    default            the embedded English constituency parser
    ud:de              the embedded dependency parser, German (also: ud with lang="de")
    spacy:MODEL        a spaCy pipeline, by its name or folder
    stanza:LANG[:DIR]  a Stanza pipeline, with its models in DIR or else Stanza's default folder
                       (stanza-constituency:… for constituency trees)
    PATH               a folder of `train-parser`, or a supar checkpoint

Another package brings a parser as an entry point: a function of the text behind the colon and the
device that returns a `TextParser`.

    [project.entry-points."tensormt.parsers"]
    mine = "package.module:open_mine"    # the name mine:MODEL calls open_mine("MODEL", device)

All of them have a fingerprint, the kind of their trees, and `parse`.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import torch

from tensormt.errors import TensorMTError
from tensormt.options import describe
from tensormt.parser.parser import Parser
from tensormt.trees.batch import TreeBatch

GROUP = "tensormt.parsers"


@runtime_checkable
class TextParser(Protocol):
    """The interface of parsers."""

    @property
    def kind(self) -> str:
        """The kind of the trees: constituency or dependency."""

    @property
    def fingerprint(self) -> str:
        """Name and version of everything that determines the trees."""

    def parse(
        self,
        segments: Sequence[str | Sequence[str] | None],
        progress: Callable[[int], object] | None = None,
    ) -> TreeBatch:
        """Parse segments; `progress` is called with numbers of parsed segments."""


def open_parser(
    name: str | PathLike[str] = "default",
    trusted: bool = False,
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
    **rules: Any,
) -> TextParser:
    """Open a parser by name.

    Args:
        name: Name of the module docstring, or a path.
        trusted: Whether a supar checkpoint, a pickle that can execute any code, may be loaded.
        device: Device; None: CPU, "auto": CUDA if available.
        lang: Language of the text, for parsers of several languages.
        rules: Further arguments of `Parser.load`.

    Returns:
        The parser; weights of embedded parsers are loaded when the first text is parsed.

    Raises:
        TensorMTError: If there is no such parser, or its library or language is missing.

    >>> open_parser("default", split=False).fingerprint.partition("-")[0]
    'english'
    """
    library, _, rest = name.partition(":") if isinstance(name, str) else ("", "", "")
    if library in ("spacy", "stanza", "stanza-constituency"):
        if lang is not None:
            raise TensorMTError(
                f"lang is {lang!r}, but the parser {name} has its own language: omit lang",
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
                f"the parser {name} and lang {lang!r} disagree: use one of them",
                options="lang parser",
            )
        name, lang = "ud", rest
    for point in entry_points(group=GROUP, name=library) if library else ():
        return _installed(point, rest, device)
    return Parser.load(name, trusted, device, lang=lang, **rules)


def _installed(point: Any, rest: str, device: str | torch.device | None) -> TextParser:
    """The parser of another package."""
    try:
        found = point.load()(rest, device)
    except TensorMTError:
        raise
    except Exception as error:  # whatever another package raises
        raise TensorMTError(
            f"the parser {point.name} of {point.value} cannot be opened: {error}"
        ) from None
    if not isinstance(found, TextParser):
        raise TensorMTError(
            f"the parser {point.name}: {point.value} gave {describe(found)}, expected an object "
            "with kind, fingerprint and parse"
        )
    return found
