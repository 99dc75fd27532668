"""Constituency treebanks for training: words and labeled spans, word vectors, vocabularies.

A bracketing is converted to its words and the 2n−1 spans of its left-binarized tree; the tag of a
word is (the end of) the label of the span of that word, so one model predicts tags and brackets.
Words are looked up in lower case, characters keep their case.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensormt.data import files
from tensormt.errors import TensorMTError
from tensormt.parser.model import SPECIALS, Span, read_tree


@dataclass(frozen=True)
class Example:
    """One sentence: its words and the spans (start, end, label) of its binarized tree.

    Soft targets have a weight for each span with a label, its probability; without weights all are
    1, as in a gold tree.
    """

    words: list[str]
    spans: list[Span]
    weights: Sequence[float] = ()


def read_treebank(path: Path, max_length: int | None = None) -> tuple[str, list[Example]]:
    """Read a file with one bracketing per line.

    Args:
        path: The file.
        max_length: Largest number of words of a sentence; None: no limit.

    Returns:
        The most frequent root label, and the sentences.

    Raises:
        TensorMTError: If a line is not a bracketing, or there is none.
    """
    examples, roots = [], Counter[str]()
    for number, line in enumerate(files.lines(str(path)), 1):
        if not line.strip():
            continue
        try:
            root, words, spans = read_tree(line)
        except (ValueError, IndexError, AttributeError, TypeError, RecursionError):
            raise TensorMTError(
                f"{path}, line {number}: expected one Penn-style bracketing per line, "
                f"got {line[:60]!r}"
            ) from None
        roots[root] += 1
        if max_length is None or len(words) <= max_length:
            examples.append(Example(words, spans))
    if not examples:
        raise TensorMTError(f"{path}: expected bracketed trees, found none")
    return roots.most_common(1)[0][0], examples


def read_vectors(path: Path) -> dict[str, list[float]]:
    """Read word vectors from text, `word x₁ x₂ …` per line; the first one of repeated words counts.

    Raises:
        TensorMTError: If a line is invalid or there is none.
    """
    vectors: dict[str, list[float]] = {}
    size = 0
    for number, line in enumerate(files.lines(str(path)), 1):
        word, *numbers = line.rstrip().split(" ")
        size = size or len(numbers)
        if len(numbers) != size or not numbers:
            raise TensorMTError(
                f"{path}, line {number}: expected a word and {size} numbers, got {len(numbers)}"
            )
        vectors.setdefault(word.lower(), _finite(numbers, f"{path}, line {number}"))
    if not vectors:
        raise TensorMTError(f"{path}: expected word vectors, found none")
    return vectors


def _finite(numbers: list[str], where: str) -> list[float]:
    try:
        found = [float(x) for x in numbers]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise TensorMTError(f"{where}: expected a word followed by finite numbers")
    return found


def vocabularies(
    examples: list[Example], vectors: Iterable[str] = (), min_count: int = 2
) -> dict[str, Any]:
    """Return the words, characters and labels of the settings (`tensormt.parser.model`)."""
    words = Counter(word.lower() for example in examples for word in example.words)
    chars = {char for example in examples for word in example.words for char in word}
    labels = {label for example in examples for _, _, label in example.spans}
    known = [*SPECIALS, *sorted(word for word, count in words.items() if count >= min_count)]
    outer = sorted(set(vectors).difference(known))
    return {
        "words": known + outer,
        "known": len(known),
        "chars": [*SPECIALS, *sorted(chars.difference(SPECIALS))],
        "labels": sorted(labels),
    }


def narrow_labels(examples: list[Example]) -> set[str]:
    """Return the labels of spans of one word: those that end in a tag."""
    return {label for example in examples for i, j, label in example.spans if j == i + 1}
