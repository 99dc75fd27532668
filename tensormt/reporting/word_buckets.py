"""Words of the outputs that the references have, by frequency and by part of speech.

As in compare-mt (Neubig et al. 2019): each output is compared with the reference with which it
shares most words. The k-th occurrence of a word in the output matches the k-th in the reference, so
matches are clipped. Of the words in a bucket,

    precision = matched / words of the output     recall = matched / words of the reference
    F1 = 2 · precision · recall / (precision + recall)

with sums over all segments. Frequencies are counted in all references; words that no reference has
are in no bucket. Parts of speech are those that the parser gave to the words of each text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from tensormt.resampling import SEED, bootstrap_weights, percentile_interval
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

BUCKET_SAMPLES = 200  # resamples for the interval of a bucket
_FREQUENCIES = (1, 2, 3, 4, 5, 10, 100, 1000)
_TAGS = 24  # parts of speech with a bucket of their own, the most frequent ones; below 32
_TAG_NAMES = {
    "CC": "conjunction", "CD": "number", "DT": "determiner", "EX": "there", "FW": "foreign word",
    "IN": "preposition", "JJ": "adjective", "JJR": "comparative", "JJS": "superlative",
    "MD": "modal verb", "NN": "noun", "NNS": "plural noun", "NNP": "proper noun",
    "NNPS": "plural proper noun", "PDT": "predeterminer", "POS": "possessive ending",
    "PRP": "pronoun", "PRP$": "possessive pronoun", "RB": "adverb", "RBR": "comparative adverb",
    "RBS": "superlative adverb", "RP": "particle", "TO": "to", "UH": "interjection",
    "VB": "verb, base form", "VBD": "verb, past", "VBG": "verb, gerund", "VBN": "past participle",
    "VBP": "verb, present", "VBZ": "verb, 3rd person", "WDT": "wh-determiner", "WP": "wh-pronoun",
    "WP$": "possessive wh-pronoun", "WRB": "wh-adverb", "HYPH": "hyphen", ",": "comma",
    ".": "end of sentence", ":": "colon or dash", "``": "quotation mark", "''": "quotation mark",
    "-LRB-": "bracket", "-RRB-": "bracket", "$": "currency", "SYM": "symbol",
}  # fmt: skip


class _Words(NamedTuple):
    """Words of one stream, [n] each, in the order of the text."""

    segment: np.ndarray
    word: np.ndarray
    tag: np.ndarray


class WordTable:
    """The words of all streams of a corpus, which is read chunk by chunk: systems, then references.

    >>> table = WordTable()
    >>> table.add(TokenBatch.from_texts([["a cat sat"], ["a cat ran"]]), 0)
    >>> found = table.by_frequency(1, np.array([[True]]))
    >>> found["labels"], [round(row[0][0], 3) for row in found["rows"]]
    (['1'], [0.8])
    """

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._tags: dict[str, int] = {}
        self._parts: list[list[_Words]] = []

    def __bool__(self) -> bool:
        """Whether there are any words."""
        return any(len(own.word) for parts in self._parts for own in parts)

    def add(self, batches: Sequence[TokenBatch] | Sequence[TreeBatch], start: int) -> None:
        """Add a chunk whose first segment has the number `start`."""
        words = [
            self._of_trees(batch) if isinstance(batch, TreeBatch) else self._of_tokens(batch)
            for batch in batches
        ]
        self._parts.append([own._replace(segment=own.segment + start) for own in words])

    def _of_tokens(self, batch: TokenBatch) -> _Words:
        assert batch.dictionary is not None
        words = self._known(self._words, batch.dictionary.strings)[batch.tokens.cpu().numpy()]
        lengths = batch.lengths.cpu().numpy()
        return _Words(np.repeat(np.arange(len(lengths)), lengths), words, np.zeros_like(words))

    def _of_trees(self, batch: TreeBatch) -> _Words:
        nodes = batch.nodes
        word, label = nodes.word.cpu().numpy(), nodes.label.cpu().numpy()
        kept = word >= 0
        words = self._known(self._words, batch.words.strings)
        tags = self._known(self._tags, batch.labels.strings)
        return _Words(nodes.segment.cpu().numpy()[kept], words[word[kept]], tags[label[kept]])

    @staticmethod
    def _known(numbers: dict[str, int], strings: Sequence[str]) -> np.ndarray:
        """Numbers of some strings, int64 [n]; new ones are added."""
        return np.array([numbers.setdefault(text, len(numbers)) for text in strings] or [0])

    def by_frequency(self, systems: int, present: np.ndarray) -> dict[str, Any]:
        """Return the buckets by the number of times that a word occurs in the references.

        Args:
            systems: Number of systems S; the other streams are references.
            present: Where systems have an output, bool [S,N].
        """
        streams = self._streams()
        words = np.concatenate([own.word for own in streams[systems:]])
        counts = np.bincount(words, minlength=len(self._words))
        labels = [
            str(low) if high == low + 1 else f"{low}–{high - 1}"
            for low, high in pairwise(_FREQUENCIES)
        ]
        labels.append(f"{_FREQUENCIES[-1]:,} and more")
        bucket = np.digitize(counts, _FREQUENCIES) - 1
        return _scored(
            "word frequency", "times in the references", labels,
            [own._replace(tag=bucket[own.word]) for own in streams], systems, present,
        )  # fmt: skip

    def by_part_of_speech(self, systems: int, present: np.ndarray) -> dict[str, Any]:
        """Return the buckets by part of speech, the most frequent first; see `by_frequency`."""
        streams = self._streams()
        tags = np.concatenate([own.tag for own in streams[systems:]])
        counts = np.bincount(tags, minlength=len(self._tags))
        names = list(self._tags)
        order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
        labels = [f"{names[k]} {_TAG_NAMES.get(names[k], '')}".strip() for k in order[:_TAGS]]
        bucket = np.full(len(names), len(labels))
        bucket[order[:_TAGS]] = np.arange(len(labels))
        return _scored(
            "part of speech", "of the parser", [*labels, "others"],
            [own._replace(tag=bucket[own.tag]) for own in streams], systems, present,
        )  # fmt: skip

    def _streams(self) -> list[_Words]:
        by_stream = zip(*self._parts, strict=True)
        return [_Words(*map(np.concatenate, zip(*parts, strict=True))) for parts in by_stream]


def _scored(
    title: str, unit: str, labels: list[str], streams: list[_Words], systems: int,
    present: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    """Score all buckets with words of a reference; `tag` of the words is their bucket, -1: none."""
    size, buckets = present.shape[1], len(labels)
    vocabulary = 1 + max(int(own.word.max(initial=0)) for own in streams)
    refs = streams[systems:]
    tables, missed = [], []
    for number, own in enumerate(streams[:systems]):
        ref = _best_reference(own, refs, vocabulary, present[number])
        keys = [side.segment * vocabulary + side.word for side in (own, ref)]
        matched = _clipped(keys[0], keys[1]), _clipped(keys[1], keys[0])
        columns = []
        for side, taken in zip((own, ref), matched, strict=True):
            for chosen in (taken, np.ones_like(taken)):
                rows = chosen & (side.tag >= 0)
                cell = side.segment[rows] * buckets + side.tag[rows]
                columns.append(np.bincount(cell, minlength=size * buckets).reshape(size, buckets))
        lacks = columns[3] > columns[2]
        missed.append((lacks * (1 << np.arange(buckets, dtype=np.int64))).sum(1))
        tables.append(torch.from_numpy(np.stack(columns, 1).astype(np.float32)))
    sums = torch.stack([table.double().sum(0) for table in tables])  # [S,4,buckets]
    drawn = [
        torch.stack([torch.tensordot(torch.from_numpy(weights).float(), t, 1) for t in tables], 1)
        for weights in bootstrap_weights(size, BUCKET_SAMPLES, SEED)
    ]
    resampled = _f1(torch.cat(drawn).double())  # [n,S,buckets]
    kept = [k for k in range(buckets) if bool((sums[:, 3, k] > 0).any())]
    scores, precision, recall = _f1(sums), *_shares(sums)
    cells = [
        [
            [
                float(scores[s, k]),
                *percentile_interval(resampled[:, s, k].numpy()),
                float(precision[s, k]),
                float(recall[s, k]),
            ]
            for s in range(systems)
        ]
        for k in kept
    ]
    bits = [sum(((own >> k) & 1) << place for place, k in enumerate(kept)) for own in missed]
    return {
        "title": title,
        "unit": unit,
        "labels": [labels[k] for k in kept],
        "n": [sums[:, 3, k].long().tolist() for k in kept],
        "rows": cells,
        "missed": bits,
    }


def _shares(sums: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Precision and recall of sums [..., 4, buckets]; 0 where there are no words."""
    own, output, ref, reference = sums.unbind(-2)
    return own / output.clamp(min=1), ref / reference.clamp(min=1)


def _f1(sums: torch.Tensor) -> torch.Tensor:
    precision, recall = _shares(sums)
    return 2 * precision * recall / (precision + recall).clamp(min=1e-300)


def _best_reference(
    own: _Words, refs: Sequence[_Words], vocabulary: int, present: np.ndarray
) -> _Words:
    """Words of the reference that shares most words (F1) with each output; the first of equals."""
    size = len(present)
    mine = own.segment * vocabulary + own.word
    lengths = np.bincount(own.segment, minlength=size)
    best, chosen = np.full(size, -1.0), np.full(size, -1)
    for number, ref in enumerate(refs):
        taken = _clipped(mine, ref.segment * vocabulary + ref.word)
        shared = np.bincount(own.segment[taken], minlength=size)
        others = np.bincount(ref.segment, minlength=size)
        f1 = np.where(others > 0, 2 * shared / np.maximum(lengths + others, 1), -1.0)
        better = f1 > best
        best[better], chosen[better] = f1[better], number
    chosen[~present] = -1
    parts = [
        _Words(*(column[chosen[ref.segment] == number] for column in ref))
        for number, ref in enumerate(refs)
    ]
    return _Words(*map(np.concatenate, zip(*parts, strict=True)))


def _clipped(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which keys match: the first ones of each, as many as the others have, bool [n]."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    first = np.searchsorted(ranked, ranked)
    held, counts = np.unique(others, return_counts=True)
    taken = np.zeros(len(keys), bool)
    if len(held):
        at = np.minimum(np.searchsorted(held, ranked), len(held) - 1)
        most = np.where(held[at] == ranked, counts[at], 0)
        taken[order] = np.arange(len(keys)) - first < most
    return taken
