"""Errors that people marked in outputs: MQM ratings of mt-metrics-eval, ESA of Appraise and WMT.

    .seg.rating   system <tab> {"errors": [{"start", "end", "category", "severity", "score",
                  "is_source_error"}]} [<tab> rater], the segments of a system in order; None: not
                  rated. `start` and `end` are characters of the output, `end` is the first one
                  behind the error (mt-metrics-eval).
    .jsonl        one rating a line: "system", "line_id" (the segment, from 0), "esa_spans" (or
                  "spans") with "start_i", "end_i" (the last character), "severity", "error_type";
                  "esa_score", "annotator", and "tgt", the output (WMT 2024)
    .csv          Appraise's export without a head: annotator, system, segment (from 0), type,
                  source and target language, score, document, -, spans as JSON, two times. Control
                  items (BAD, #bad, #dup, #incomplete, tutorials) are left out.

A span "missing" stands for an omission: it has no place in the output.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensormt.data import files
from tensormt.errors import TensorMTError

__all__ = ["ErrorSpan", "Ratings", "read_ratings"]

# Penalties of MQM (Freitag et al. 2021): severity → points.
_POINTS = {"critical": 5.0, "major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0}


class ErrorSpan(NamedTuple):
    """An error in an output.

    Attributes:
        start: First character of the output; -1: an omission, or an error of the source.
        end: First character behind it.
        severity: Such as "major" or "minor", in lower case; "" if it has none.
        category: Such as "accuracy/mistranslation"; "" if it has none.
        rater: Who marked it; "" if it is not known.

    >>> ErrorSpan(0, 3, "minor").points
    1.0
    """

    start: int
    end: int
    severity: str = ""
    category: str = ""
    rater: str = ""

    @property
    def points(self) -> float:
        """Penalty of MQM: 25 for a non-translation, 5 for major and 1 for minor errors.

        Minor errors of punctuation have 0.1 (Freitag et al. 2021).
        """
        category = self.category.lower().replace("_", "-").replace("!", "")
        if category.startswith("non-translation"):
            return 25.0
        if self.severity == "minor" and category == "fluency/punctuation":
            return 0.1
        return _POINTS.get(self.severity, 1.0)


class Ratings(NamedTuple):
    """Errors by system and segment, with scores where the raters gave any.

    Attributes:
        spans: By system, for each of N segments the errors; None: nobody rated the output.
        scores: Scores by name, float64 [S,N], in the order of `spans`; NaN: none. Of MQM, minus the
            points of a segment's errors; of several raters, the mean.
    """

    spans: dict[str, list[list[ErrorSpan] | None]]
    scores: dict[str, np.ndarray]


class _Rating(NamedTuple):
    """One rating of one output; `score` is None for ratings without one."""

    where: str
    system: str
    segment: int
    spans: list[ErrorSpan]
    rater: str
    score: float | None


def read_ratings(
    paths: Sequence[str],
    outputs: Mapping[str, Sequence[str | None]],
    names: Mapping[str, Sequence[str]] | None = None,
) -> Ratings:
    """Read ratings with error spans.

    Args:
        paths: Files in a format of this module; several raters may have a file each.
        outputs: Texts of S systems, [N] each; other systems in the files are left out.
        names: By system, other names by which files may call it.

    Returns:
        The errors and scores of these systems.

    Raises:
        TensorMTError: If a file cannot be read, a span lies outside of its text, or there is no
            rating of any system.
    """
    known = {other: system for system, more in (names or {}).items() for other in more}
    known |= {system: system for system in outputs}
    size = len(next(iter(outputs.values())))
    spans: dict[str, list[list[ErrorSpan] | None]] = {name: [None] * size for name in outputs}
    kinds: dict[str, dict[tuple[str, int], dict[str, float]]] = {"MQM": {}, "ESA": {}}
    seen: set[str] = set()
    for path in paths:
        for number, rating in enumerate(_ratings(path)):
            seen.add(rating.system)
            if rating.system not in known:
                continue
            system = known[rating.system]
            if not 0 <= rating.segment < size:
                raise TensorMTError(
                    f"{rating.where}: segment {rating.segment + 1} of {rating.system}, the outputs"
                    f" have {size}: they must align one to one"
                )
            text = outputs[system][rating.segment]
            if text is None:
                continue
            _check(rating, text)
            spans[system][rating.segment] = (spans[system][rating.segment] or []) + rating.spans
            kind, score = "ESA", rating.score
            if score is None:
                kind, score = "MQM", -sum(span.points for span in rating.spans)
            place = kinds[kind].setdefault((system, rating.segment), {})
            place[rating.rater or f"{path} {number}"] = score
    if not any(kinds.values()):
        raise TensorMTError(
            f"{', '.join(map(files.display_name, paths))}: no rating of {', '.join(outputs)}, but"
            f" of {', '.join(sorted(seen)[:20]) or 'no system'}"
        )
    scores = {}
    for kind, given in kinds.items():
        table = np.full((len(spans), size), math.nan)
        for (system, segment), by_rater in given.items():
            table[list(spans).index(system), segment] = sum(by_rater.values()) / len(by_rater)
        if given:
            scores[kind] = table
    return Ratings(spans, scores)


def _check(rating: _Rating, text: str) -> None:
    for span in rating.spans:
        if span.start >= 0 and not span.start <= span.end <= len(text):
            raise TensorMTError(
                f"{rating.where}: an error from character {span.start} to {span.end} of an output "
                f"with {len(text)} characters: the ratings belong to other outputs of "
                f"{rating.system}"
            )


def _ratings(path: str) -> Iterator[_Rating]:
    kind = files.suffix(path)
    read = {".jsonl": _of_jsonl, ".csv": _of_csv}.get(kind, _of_tsv)
    return read(path)


def _of_tsv(path: str) -> Iterator[_Rating]:
    """Ratings of mt-metrics-eval."""
    counts: dict[str, int] = {}
    for number, line in enumerate(files.lines(path), 1):
        where = f"{files.display_name(path)}, line {number}"
        system, *columns = line.rstrip("\n").split("\t")
        if len(columns) not in (1, 2):
            raise TensorMTError(
                f"{where}: expected system <tab> rating [<tab> rater], found {1 + len(columns)}"
                " columns"
            )
        segment = counts[system] = counts.get(system, -1) + 1
        if columns[0].strip() == "None":
            continue
        errors = files.json_line(columns[0], where).get("errors")
        if not isinstance(errors, list):
            raise TensorMTError(f'{where}: expected {{"errors": [...]}} or None')
        rater = columns[1] if len(columns) > 1 else ""
        spans = []
        for error in errors:
            if not isinstance(error, dict):
                raise TensorMTError(f"{where}: an error is an object with start and end")
            start, end = (_integer(error.get(key), where, key) for key in ("start", "end"))
            if error.get("is_source_error"):
                start, end = -1, -1
            spans.append(_span(start, end, error.get("severity"), error.get("category"), rater))
        yield _Rating(where, system, segment, spans, rater, None)


def _of_jsonl(path: str) -> Iterator[_Rating]:
    """ESA, an object a line."""
    for where, row in files.json_objects(path):
        given = row.get("esa_spans", row.get("spans"))
        if not isinstance(row.get("system"), str) or not isinstance(given, list):
            raise TensorMTError(f'{where}: expected "system", "line_id" and "esa_spans"')
        segment = _integer(row.get("line_id"), where, "line_id")
        rater = str(row.get("annotator") or "")
        spans = _esa_spans(given, rater, where)
        score = _score(row.get("esa_score", row.get("score")), where)
        yield _Rating(where, row["system"], segment, spans, rater, score)


def _of_csv(path: str) -> Iterator[_Rating]:
    """Appraise's export of ESA."""
    for number, row in enumerate(csv.reader(files.lines(path)), 1):
        where = f"{files.display_name(path)}, line {number}"
        if not row:
            continue
        if len(row) < 10:
            raise TensorMTError(
                f"{where}: expected the 12 columns of Appraise (annotator, system, segment, type,"
                f" languages, score, document, -, spans, times), found {len(row)}"
            )
        rater, system, segment, kind, _, _, score, document, _, given = row[:10]
        control = document.endswith(("#bad", "#dup", "#incomplete")) or "-tutorial" in document
        if kind == "BAD" or control:
            continue
        try:
            spans = json.loads(given or "[]")
        except ValueError:
            spans = None
        if not isinstance(spans, list):
            raise TensorMTError(f"{where}: column 10 is no JSON list of spans")
        found = _esa_spans(spans, rater, where)
        place = _integer(segment, where, "segment")
        yield _Rating(where, system, place, found, rater, _score(score, where))


def _esa_spans(given: list[Any], rater: str, where: str) -> list[ErrorSpan]:
    spans = []
    for own in given:
        if not isinstance(own, dict):
            raise TensorMTError(f"{where}: a span is an object with start_i and end_i")
        severity, category = own.get("severity"), own.get("error_type")
        if "missing" in (own.get("start_i"), own.get("end_i")):
            spans.append(_span(-1, -1, severity, category or "omission", rater))
            continue
        start, end = (_integer(own.get(key), where, key) for key in ("start_i", "end_i"))
        spans.append(_span(start, end + 1, severity, category, rater))
    return spans


def _span(start: int, end: int, severity: Any, category: Any, rater: str) -> ErrorSpan:
    return ErrorSpan(start, end, str(severity or "").lower(), str(category or ""), rater)


def _integer(value: Any, where: str, name: str) -> int:
    try:
        if isinstance(value, bool) or int(value) != float(value):
            raise ValueError
        return int(value)
    except (TypeError, ValueError):
        raise TensorMTError(f"{where}: {name} is {value!r}, expected a whole number") from None


def _score(value: Any, where: str) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise TensorMTError(f"{where}: the score is {value!r}, expected a number")
    return found
