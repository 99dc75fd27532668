"""Folders of mt-metrics-eval: a test set with its texts, human scores and scores of metrics.

    documents/LP.docs                       domain <tab> document, one line per segment
    references/LP.NAME.txt                  one line per segment (.jsonl: the field "target")
    system-outputs/LP/SYSTEM.txt            (.jsonl: "hypothesis")
    human-scores/LP.NAME.seg.score          system <tab> score, segments in order, None: no score
    metric-scores/LP/NAME-REF.seg.score     REF: references joined by '.', 'all', or 'src' for none
    …/….sys.score                           system <tab> score of the system

LP is a language pair such as zh-en: metrics compare texts in the second language. Human outputs
(those with the name of a reference, and the post-edited `synthetic_ref` of WMT 2023) are no
systems; WMT's tables leave them out. Higher scores are better in all files. Scores are written in
the same format, which mt-metrics-eval reads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tensormt.data import files
from tensormt.data.human_scores import read_documents, read_scores
from tensormt.errors import TensorMTError
from tensormt.segments import Segments

# The line of a system that has no output for a segment.
NO_OUTPUT = "[No translation supplied]"
# Human outputs that do not have the name of a reference.
HUMAN_OUTPUTS = ("synthetic_ref",)
# Standard references of the WMT metrics tasks that are not the first by name (mt-metrics-eval).
STANDARD_REFERENCES = {
    "wmt21.news": {"en-de": "refC", "zh-en": "refB"},
    "wmt21.tedtalks": {"zh-en": "refB"},
    "wmt22": {"cs-en": "refB", "en-cs": "refB"},
    "wmt23": {"en-he": "refB", "he-en": "refB"},
}


@dataclass(frozen=True)
class WMTSet:
    """The test set of one language pair, with stored scores of metrics.

    Args:
        pair: Language pair.
        test: Segments of S systems, with documents and human scores.
        references: Names of the references that are used.
        human_outputs: Names of human outputs that were left out.
        stored: Segment scores by metric, float64 [S,N]; NaN: missing.
        human_systems: Published system scores by human score, float64 [S].
        stored_systems: Published system scores by metric, float64 [S].
    """

    pair: str
    test: Segments
    references: list[str]
    human_outputs: list[str]
    stored: dict[str, np.ndarray]
    human_systems: dict[str, np.ndarray]
    stored_systems: dict[str, np.ndarray]


def language_pairs(folder: str | Path) -> list[str]:
    """Return the language pairs of a test set's folder."""
    return sorted(path.name for path in (_part(folder, "system-outputs")).iterdir())


def target_language(pair: str) -> str:
    """Return the language of the outputs of a language pair.

    >>> target_language("en-de"), target_language("en-zh_TW")
    ('de', 'zh')
    """
    return pair.rpartition("-")[2].partition("_")[0]


def standard_reference(folder: str | Path, pair: str, names: Sequence[str]) -> str:
    """Return the reference that WMT used for a language pair.

    Args:
        folder: Folder of the test set; its name starts with that of the test set, such as wmt23.
        pair: Language pair.
        names: Names of the references of the pair.

    Returns:
        The reference of WMT's list; for other test sets and pairs the first by name.

    >>> standard_reference("data/wmt23", "he-en", ["refA", "refB"])
    'refB'
    """
    name = Path(folder).resolve().name
    known = (pairs for test, pairs in STANDARD_REFERENCES.items() if name.startswith(test))
    listed = next(known, {}).get(pair, "")
    return listed if listed in names else min(names)


def read_folder(
    folder: str | Path,
    pair: str,
    references: Sequence[str] = (),
    stored: bool = True,
    *,
    human_outputs: bool = False,
) -> WMTSet:
    """Read a language pair of a test set's folder.

    Args:
        folder: Folder of one test set in the layout of this module.
        pair: Language pair.
        references: References to use; empty: the one that WMT used (`standard_reference`).
        stored: Whether scores of metrics are read.
        human_outputs: Whether human outputs are systems like the others; references that are used
            never are.

    Raises:
        TensorMTError: If a file is missing, or files do not align.
    """
    documents = read_documents(_part(folder, "documents") / f"{pair}.docs")
    count = len(documents)
    texts = _texts(_part(folder, "references"), f"{pair}.", "target", count)
    if not texts:
        raise TensorMTError(f"{folder}: no reference of {pair}, expected {pair}.refA.txt")
    used = list(references) or [standard_reference(folder, pair, list(texts))]
    for name in used:
        if name not in texts:
            raise TensorMTError(
                f"{folder} has no reference {name!r} of {pair}: use {', '.join(sorted(texts))}"
            )
    outputs = _texts(_part(folder, "system-outputs") / pair, "", "hypothesis", count)
    by_people = [name for name in sorted(outputs) if name in texts or name in HUMAN_OUTPUTS]
    without = used if human_outputs else by_people
    systems = sorted(name for name in outputs if name not in without)
    if len(systems) < 2:
        raise TensorMTError(f"{folder}: {len(systems)} systems of {pair}, at least 2 are needed")
    human = {
        name: _table(path, systems, count)
        for name, path in _score_files(_part(folder, "human-scores"), f"{pair}.").items()
    }
    published = {
        name: _table(path, systems, 1)[:, 0]
        for name, path in _score_files(_part(folder, "human-scores"), f"{pair}.", "sys").items()
        if name in human
    }
    test = Segments(
        {name: outputs[name] for name in systems},
        [texts[name] for name in used],
        documents,
        human=human,
    )
    for number, row in enumerate(test.reference_rows(), 1):
        if not row:
            raise TensorMTError(f"{folder}: segment {number} of {pair} has no reference")
    found: dict[str, dict[str, np.ndarray]] = {"seg": {}, "sys": {}}
    for level, by_metric in found.items() if stored else ():
        for name, path in _score_files(Path(folder) / "metric-scores" / pair, "", level).items():
            metric, _, suffix = name.rpartition("-")
            needs = {"all": set(texts), "src": set[str]()}.get(suffix, set(suffix.split(".")))
            if metric and needs <= set(used):
                by_metric[metric] = _table(path, systems, count if level == "seg" else 1)
    none = np.full((len(systems), count), math.nan)
    of_systems = {name: table[:, 0] for name, table in found["sys"].items()}
    segments = {name: found["seg"].get(name, none) for name in (*found["seg"], *found["sys"])}
    left_out = [name for name in by_people if name in without and name not in used]
    return WMTSet(pair, test, used, left_out, segments, published, of_systems)


def read_sources(folder: str | Path, pair: str, count: int) -> list[str | None] | None:
    """Read the source texts of a language pair, one for each segment; None if there are none.

    Raises:
        TensorMTError: If the number of lines differs from that of the segments.
    """
    path = Path(folder) / "sources" / f"{pair}.txt"
    if not path.exists():
        return None
    lines: list[str | None] = [line.rstrip() for line in files.lines(str(path))]
    if len(lines) != count:
        raise TensorMTError(
            f"{path} has {len(lines)} lines, the documents have {count}: they must align"
        )
    return lines


def write_scores(
    folder: str | Path,
    metric: str,
    references: Sequence[str],
    scores: Mapping[str, Sequence[float]],
    level: str = "seg",
) -> Path:
    """Write scores to NAME-REF.LEVEL.score in a folder.

    Args:
        folder: Output folder.
        metric: Name of the metric.
        references: Names of the references; empty: none ('src').
        scores: Scores by system, [N] for segments or [1] for systems; NaN: missing.
        level: "seg" or "sys".

    Returns:
        The file.

    Raises:
        TensorMTError: If the file cannot be written.
    """
    name = metric.replace("/", "_")
    path = Path(folder) / f"{name}-{'.'.join(references) or 'src'}.{level}.score"
    lines = [
        f"{system}\t{'None' if math.isnan(score) else repr(float(score))}\n"
        for system, row in scores.items()
        for score in row
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _part(folder: str | Path, name: str) -> Path:
    """A required subfolder of the layout."""
    path = Path(folder) / name
    if not path.is_dir():
        raise TensorMTError(
            f"{folder} has no folder {name}: expected the folder of one test set of mt-metrics-eval"
            " (with documents, references, system-outputs, human-scores)"
        )
    return path


def _texts(folder: Path, head: str, field: str, count: int) -> dict[str, list[str | None]]:
    """Texts by name, from the .txt and .jsonl files of a folder whose names start with `head`."""
    found = {}
    if not folder.is_dir():
        raise TensorMTError(f"{folder} is not a folder: check the language pair")
    for path in sorted(folder.iterdir()):
        if not path.name.startswith(head) or path.suffix not in (".txt", ".jsonl"):
            continue
        rows: list[str | None] = []
        for number, line in enumerate(files.lines(str(path)), 1):
            text = line.rstrip()
            if path.suffix == ".jsonl":
                where = f"{path}, line {number}"
                value = files.json_line(line, where).get(field)
                if not isinstance(value, str):
                    raise TensorMTError(f'{where}: expected "{field}" with a text')
                text = value
            rows.append(None if text == NO_OUTPUT else text)
        if len(rows) != count:
            raise TensorMTError(
                f"{path} has {len(rows)} lines, the documents have {count}: they must align"
            )
        found[path.stem[len(head) :]] = rows
    return found


def _score_files(folder: Path, head: str, level: str = "seg") -> dict[str, Path]:
    """Score files of segments ("seg") or systems ("sys") by the name of the score."""
    if not folder.is_dir():
        return {}
    tail = f".{level}.score"
    return {
        path.name[len(head) : -len(tail)]: path
        for path in sorted(folder.iterdir())
        if path.name.startswith(head) and path.name.endswith(tail)
    }


def _table(path: Path, systems: Sequence[str], count: int) -> np.ndarray:
    """A score file as float64 [S,N]; NaN for systems that it lacks."""
    scores = read_scores(path)
    size = len(next(iter(scores.values())))
    if size != count:
        raise TensorMTError(
            f"{path} has {size} scores per system, expected {count}: one for each line of the"
            " documents, or one in a file .sys.score"
        )
    none = [math.nan] * count
    return np.array([scores.get(name, none) for name in systems], np.float64)
