"""Lenient reader of mteval's SGML and XML (refset, tstset) and WMT's XML (src, ref, hyp in a doc).

Old test sets are SGML, not XML: tags in any case, unquoted attributes, unescaped ampersands.
Python's HTML parser reads both. Segments keep the order of the file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from html.parser import HTMLParser
from typing import NamedTuple, NoReturn

from tensormt.data import files
from tensormt.errors import TensorMTError


class Markup(NamedTuple):
    """The segments of a file.

    Attributes:
        path: Name of the file.
        refs: Texts of every reference; None: missing.
        hyps: Texts of every system; None: missing.
        places: (document, id) of every segment.
    """

    path: str
    refs: dict[str, list[str | None]]
    hyps: dict[str, list[str | None]]
    places: list[tuple[str, str]]

    def ordered_as(self, first: Markup) -> Markup:
        """Return the segments in the order of another file, by document and segment id.

        Raises:
            TensorMTError: If a segment is in only one of the files.
        """
        missing = set(first.places) ^ set(self.places)
        if missing:
            doc, segment = min(missing)
            raise TensorMTError(
                f"segment {segment!r} of document {doc!r} is in only one of {first.path} and "
                f"{self.path}: both must have the same segments"
            )
        number = {place: index for index, place in enumerate(self.places)}
        order = [number[place] for place in first.places]
        refs, hyps = (
            {name: [lines[i] for i in order] for name, lines in side.items()}
            for side in (self.refs, self.hyps)
        )
        return Markup(self.path, refs, hyps, first.places)


class _Segment(NamedTuple):
    kind: str  # ref, tst or src; "": unknown
    system: str
    doc: str
    id: str
    text: str
    line: int


class _Reader(HTMLParser):
    """Collects segments; markup that would lose one raises an error that names the line."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.path = path
        self.found: list[_Segment] = []
        self.kind, self.system, self.doc, self.set_system = "", "", "", ""
        self.segment: str | None = None
        self.line = self.count = 0  # first line of the segment; segments of this document
        self.text: list[str] = []

    def set_cdata_mode(self, *args: object, **more: object) -> None:
        """Do nothing: contents of HTML tags such as title are ordinary text here."""

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        """Raise an error that names the line."""
        place = self.getpos()[0] if line is None else line
        raise TensorMTError(f"{self.path}, line {place}: {what}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("refset", "tstset", "srcset"):
            self.kind = tag[:3]
            self.set_system = values.get("sysid") or values.get("refid", "")
        elif tag == "doc":
            self.doc = values.get("docid") or values.get("id", "")
            self.system = values.get("sysid") or self.set_system or self.kind or "doc"
            self.count = 0
        elif tag in ("ref", "hyp", "src"):
            self.kind = {"hyp": "tst"}.get(tag, tag)
            self.system = values.get("system") or values.get("translator") or tag
            self.count = 0
        elif tag == "seg":
            if self.segment is not None:
                self.fail("a <seg> begins inside another one, expected </seg> before it")
            self.count += 1
            self.segment, self.line = values.get("id") or str(self.count), self.getpos()[0]
            self.text = []

    def handle_endtag(self, tag: str) -> None:
        if tag != "seg":
            return
        if self.segment is None:
            self.fail("a </seg> without <seg>, possibly because of an unclosed tag before it")
        text = " ".join("".join(self.text).split())
        system = self.system or self.set_system or self.kind or "doc"
        self.found.append(_Segment(self.kind, system, self.doc, self.segment, text, self.line))
        self.segment = None

    def handle_data(self, data: str) -> None:
        if self.segment is not None:
            self.text.append(data)

    def read(self, text: str) -> list[_Segment]:
        """Read the segments of a text."""
        # HTML has no CDATA sections: their contents become ordinary text
        text = re.sub(r"<!\[CDATA\[(.*?)\]\]>", lambda m: escape(m[1]), text, flags=re.DOTALL)
        try:
            self.feed(text)
            self.close()
        except (AssertionError, ValueError) as error:
            if isinstance(error, TensorMTError):
                raise
            self.fail("a declaration that cannot be read, <!…")
        if self.segment is not None:
            self.fail("a <seg> that is never closed", self.line)
        return self.found


@lru_cache(maxsize=8)
def read_markup(path: str) -> Markup:
    """Read the references and hypotheses of a file.

    Raises:
        TensorMTError: If the markup is invalid or has no segment.
    """
    shown = files.display_name(path)
    reader = _Reader(shown)
    found = [segment for segment in reader.read(files.text(path)) if segment.kind != "src"]
    places = dict.fromkeys((segment.doc, segment.id) for segment in found)
    if not places:
        raise TensorMTError(
            f"{shown}: no <seg> of a reference or a hypothesis found; expected mteval SGML "
            "(refset, tstset) or WMT XML (ref, hyp)"
        )
    number = {place: index for index, place in enumerate(places)}
    # documents outside a set count as systems; if the file is a reference file, its references are
    # taken from there (tensormt.data.corpus)
    sides: dict[str, dict[str, list[str | None]]] = {"ref": {}, "tst": {}}
    seen: set[tuple[str, str, str, str]] = set()
    for kind, system, doc, name, text, line in found:
        if (kind, system, doc, name) in seen:
            reader.fail(f"segment {name!r} of document {doc!r} of {system!r} occurs twice", line)
        seen.add((kind, system, doc, name))
        side = sides["ref" if kind == "ref" else "tst"]
        empty: list[str | None] = [None] * len(number)
        side.setdefault(system, empty)[number[doc, name]] = text
    return Markup(shown, sides["ref"], sides["tst"], list(places))
