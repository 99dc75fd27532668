"""mteval's SGML and XML (refset, tstset) and WMT's XML (src, ref, hyp in each doc), read leniently.

Old test sets are SGML, not XML: tags in any case, unquoted attributes, loose ampersands. Python's
HTML parser reads both. Segments are taken in the order of documents and of segments in the file.
"""

from __future__ import annotations

from functools import lru_cache
from html.parser import HTMLParser
from typing import NamedTuple

from tensormt.data import files
from tensormt.errors import TensorMTError

__all__ = ["Markup", "read_markup"]


class Markup(NamedTuple):
    """Segments by system, those of references and of hypotheses, and (document, id) of each."""

    path: str
    refs: dict[str, list[str | None]]
    hyps: dict[str, list[str | None]]
    places: list[tuple[str, str]]

    def arranged(self, first: Markup) -> Markup:
        """The same segments in the order of another file, by document and segment id."""
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


class _Reader(HTMLParser):
    """Collects (kind, system, document, segment, text)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str, str, str, str]] = []
        self.kind, self.system, self.doc, self.set_system = "", "", "", ""
        self.segment: str | None = None
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("refset", "tstset", "srcset"):
            self.kind = tag[:3]
            self.set_system = values.get("sysid") or values.get("refid", "")
        elif tag == "doc":
            self.doc = values.get("docid") or values.get("id", "")
            self.system = values.get("sysid") or self.set_system or self.kind
        elif tag in ("ref", "hyp", "src"):
            self.kind = {"hyp": "tst"}.get(tag, tag)
            self.system = values.get("system") or values.get("translator") or tag
        elif tag == "seg":
            self.segment = values.get("id") or str(len(self.found))
            self.text = []

    def handle_endtag(self, tag: str) -> None:
        if tag == "seg" and self.segment is not None:
            text = " ".join("".join(self.text).split())
            self.found.append((self.kind, self.system, self.doc, self.segment, text))
            self.segment = None

    def handle_data(self, data: str) -> None:
        if self.segment is not None:
            self.text.append(data)


@lru_cache(maxsize=8)
def read_markup(path: str) -> Markup:
    """References and hypotheses of a file; a segment that one of them lacks is None there."""
    reader = _Reader()
    reader.feed(files.text(path))
    reader.close()
    places = dict.fromkeys((doc, seg) for kind, _, doc, seg, _ in reader.found if kind != "src")
    if not places:
        raise TensorMTError(
            f"{path}: no <seg> of a reference or a hypothesis found; expected mteval SGML "
            "(refset, tstset) or WMT XML (ref, hyp)"
        )
    number = {place: index for index, place in enumerate(places)}
    sides: dict[str, dict[str, list[str | None]]] = {"ref": {}, "tst": {}}
    for kind, system, doc, seg, line in reader.found:
        if kind in sides:
            empty: list[str | None] = [None] * len(number)
            sides[kind].setdefault(system, empty)[number[doc, seg]] = line
    return Markup(files.shown(path), sides["ref"], sides["tst"], list(places))
