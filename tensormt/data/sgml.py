"""Lenient reader of mteval's SGML and XML (refset, tstset) and WMT's XML (src, ref, hyp in a doc).

Old test sets are SGML, not XML: tags in any case, unquoted attributes, unescaped ampersands. They
are cut into tags and text as HTML is, from left to right and without going back: time is linear in
the length of the file, whatever it contains, which Python's HTML parser does not guarantee.
Segments keep the order of the file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
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
        sources: Source text of every segment; None: the file has none.
    """

    path: str
    refs: dict[str, list[str | None]]
    hyps: dict[str, list[str | None]]
    places: list[tuple[str, str]]
    sources: list[str | None] | None = None

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
        sources = None if self.sources is None else [self.sources[i] for i in order]
        return Markup(self.path, refs, hyps, first.places, sources)


class _Segment(NamedTuple):
    kind: str  # ref, tst or src; "": unknown
    system: str
    doc: str
    id: str
    text: str
    line: int


_NAME = re.compile(r"[a-zA-Z][^\s/>]*")
_BETWEEN = re.compile(r"[\s/]*")  # between attributes
_ATTRIBUTE = re.compile(r"=?[^\s/>=]*")
_EQUALS = re.compile(r"\s*=\s*")
_BARE = re.compile(r"[^\s>]*")  # a value without quotation marks
_MARKUP = re.compile(r"<[a-zA-Z/]")


class _Reader:
    """Collects segments; markup that would lose one raises an error that names the line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[_Segment] = []
        self.kind, self.system, self.doc, self.set_system = "", "", "", ""
        self.segment: str | None = None
        self.line = self.count = 0  # first line of the segment; segments of this document
        self.text: list[str] = []
        self.markup, self.place, self.place_line = "", 0, 1  # of the current tag

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        """Raise an error that names the line."""
        place = self.place_line if line is None else line
        raise TensorMTError(f"{self.path}, line {place}: {what}")

    def start_tag(self, tag: str, values: dict[str, str]) -> None:
        """Read a start tag with its attributes."""
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
            self.segment, self.line = values.get("id") or str(self.count), self.place_line
            self.text = []

    def end_tag(self, tag: str) -> None:
        """Read an end tag."""
        if tag != "seg":
            return
        if self.segment is None:
            self.fail("a </seg> without <seg>, possibly because of an unclosed tag before it")
        text = " ".join("".join(self.text).split())
        system = self.system or self.set_system or self.kind or "doc"
        self.found.append(_Segment(self.kind, system, self.doc, self.segment, text, self.line))
        self.segment = None

    def add_text(self, data: str) -> None:
        """Add text to the segment, with character references replaced."""
        if self.segment is not None and data:
            try:
                self.text.append(unescape(data) if "&" in data else data)
            except (ValueError, OverflowError):
                self.fail("a character reference that cannot be read, &#…")

    def read(self, text: str) -> list[_Segment]:
        """Read the segments of a text."""
        self.markup = text
        at = 0
        while (start := text.find("<", at)) >= 0:
            self.add_text(text[at:start])
            self.place_line += text.count("\n", self.place, start)
            self.place = start
            at = self._tag(start)
        self.add_text(text[at:])
        if self.segment is not None:
            self.fail("a <seg> that is never closed", self.line)
        return self.found

    def _tag(self, start: int) -> int:
        """Read what begins with `<`; returns the place after it."""
        text, second = self.markup, self.markup[start + 1 : start + 2]
        if text.startswith("<![CDATA[", start):
            stop = self._end("]]>", start, "a CDATA section that is never closed")
            if self.segment is not None:
                self.text.append(text[start + 9 : stop])
            return stop + 3
        if text.startswith("<!--", start):
            return self._end("-->", start + 2, "a comment that is never closed") + 3
        if text.startswith("<![", start):
            self.fail("a declaration that cannot be read, <![…")
        if second in ("!", "?", "/"):
            name = _NAME.match(text, start + 2)
            if second == "/" and name:
                self.end_tag(name[0].lower())
            stop = text.find(">", start)
            return len(text) if stop < 0 else stop + 1
        name = _NAME.match(text, start + 1)
        if not name:
            self.add_text("<")
            return start + 1
        return self._start_tag(name[0].lower(), name.end())

    def _end(self, mark: str, start: int, what: str) -> int:
        """The place of the next mark; raises if there is none."""
        place = self.markup.find(mark, start)
        if place < 0:
            self.fail(what)
        return place

    def _start_tag(self, tag: str, at: int) -> int:
        """Read the attributes of a start tag and what closes it; returns the place after it."""
        text = self.markup
        values: dict[str, str] = {}
        while True:
            between = _BETWEEN.match(text, at)
            assert between
            at = between.end()
            if at == len(text):
                return at  # no tag, and nothing follows
            if text[at] == ">":
                break
            name = _ATTRIBUTE.match(text, at)
            assert name
            value, at = self._value(name.end())
            values[name[0].lower()] = value
        self.start_tag(tag, values)
        if "/" in between[0]:
            self.end_tag(tag)
        return at + 1

    def _value(self, at: int) -> tuple[str, int]:
        """The value of an attribute, "" if it has none, and the place after it."""
        text = self.markup
        equals = _EQUALS.match(text, at)
        if not equals:
            return "", at
        at = equals.end()
        if text[at : at + 1] not in ("'", '"'):
            bare = _BARE.match(text, at)
            assert bare
            return self._attribute(bare[0]), bare.end()
        stop = self._end(text[at], at + 1, "the value of an attribute that is never closed")
        return self._attribute(text[at + 1 : stop]), stop + 1

    def _attribute(self, value: str) -> str:
        if _MARKUP.search(value):
            self.fail("a tag in the value of an attribute, possibly because of a missing quote")
        try:
            return unescape(value)
        except (ValueError, OverflowError):
            self.fail("a character reference that cannot be read, &#…")


@lru_cache(maxsize=8)
def read_markup(path: str) -> Markup:
    """Read the references and hypotheses of a file, and the source text where it has one.

    Raises:
        TensorMTError: If the markup is invalid or has no segment.
    """
    shown = files.display_name(path)
    reader = _Reader(shown)
    read = reader.read(files.text(path))
    found = [segment for segment in read if segment.kind != "src"]
    source = {(own.doc, own.id): own.text for own in read if own.kind == "src"}
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
    sources = [source.get(place) for place in places] if source else None
    return Markup(shown, sides["ref"], sides["tst"], list(places), sources)
