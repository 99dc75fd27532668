"""BLEU and chrF in plain Python against the batched engine: the same integers, the same scores."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import race
from text_samples import similar

import tensormt as tm
from tensormt.metric import Metric
from tensormt.ngram.references import References
from tensormt.plain import MAX_SEGMENTS, clipped, closest_length
from tensormt.text.plain_tokens import NATIVE

lines = st.one_of(similar, st.none())
# a hypothesis and as many references as the others have
segments = st.integers(1, 3).flatmap(
    lambda refs: st.lists(
        st.lists(lines, min_size=1 + refs, max_size=1 + refs), min_size=1, max_size=4
    )
)
BLEUS = [
    tm.BLEU(),
    tm.BLEU(1, "none", tokenize="none"),
    tm.BLEU(2, "floor", effective_order=True, lowercase=True),
    tm.BLEU(6, "add-k", effective_order=False, tokenize="char"),
    tm.BLEU(3, "epsilon", lowercase=True, tokenize="char"),
    tm.BLEU(tokenize="intl"),
]
CHRFS = [
    tm.ChrF(),
    tm.ChrF(word_order=2),
    tm.ChrF(3, 1, beta=1, lowercase=True),
    tm.ChrF(whitespace=True, word_order=2),
    tm.ChrF(eps_smoothing=True),
    tm.ChrF(9, whitespace=True, lowercase=True, eps_smoothing=True),
]


def sides(rows: list[list[str | None]], tokenize: str, lowercase: bool = False) -> list[Any]:
    streams = [list(column) for column in zip(*rows, strict=True)]
    return [tm.TokenBatch.from_text(stream, tokenize, lowercase) for stream in streams]


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("metric", [*BLEUS, *CHRFS], ids=lambda m: m.signature)
@settings(max_examples=120)
@given(rows=segments)
def test_plain_path_equals_engine(metric: Metric[Any], rows: list[list[str | None]]) -> None:
    hyp, *refs = sides(rows, *metric.reads.cut)
    race(metric, hyp, refs)


@pytest.mark.on_a_cpu
@pytest.mark.parametrize(
    "metric", [BLEUS[0], BLEUS[2], CHRFS[0], CHRFS[2]], ids=lambda m: m.signature
)
@settings(max_examples=60)
@given(rows=segments, cut=st.sampled_from(NATIVE), lowercase=st.booleans())
def test_batches_of_any_tokens(
    metric: Metric[Any], rows: list[list[str | None]], cut: str, lowercase: bool
) -> None:
    """A batch brings its own tokens, whatever the metric's tokeniser is."""
    hyp, *refs = sides(rows, cut, lowercase)
    race(metric, hyp, refs)
    if all(any(row[1:]) and any((ref or "").strip() for ref in row[1:]) for row in rows):
        try:
            ready = References(refs)
        except tm.TensorMTError:
            return  # <skipped> alone has no token
        race(metric, hyp, ready)
        many = tm.TokenBatch.from_text([row[0] for row in rows] * 20, cut, lowercase)
        race(metric, many[: len(rows)], refs)


@settings(max_examples=60)
@given(rows=segments)
def test_mean_of_both(rows: list[list[str | None]]) -> None:
    metric = tm.Mean([tm.BLEU(2), tm.ChrF()])
    hyp, *refs = sides(rows, "none")
    race(metric, hyp, refs)


@pytest.mark.on_a_cpu
@settings(max_examples=60)
@given(st.lists(st.text("ab c", max_size=8), min_size=2, max_size=5))
def test_the_first_of_equally_good_references(texts: list[str]) -> None:
    """Few characters: many references of one score, with different counts."""
    row = [text.strip() or "a" for text in texts]
    for metric in CHRFS:
        hyp, *refs = sides([row], *metric.reads.cut)
        race(metric, hyp, refs)


def test_many_segments_long_ones_and_ids_take_the_engine() -> None:
    metric = tm.BLEU()
    many = tm.TokenBatch.from_text(["a b"] * (MAX_SEGMENTS + 1))
    long = tm.TokenBatch.from_text(["a b " * 100_000])
    ids = tm.TokenBatch.from_ids(torch.tensor([[1, 2, 3]]), torch.tensor([3]))
    none = tm.TokenBatch.from_text([])
    for batch in (many, long, ids, none):
        assert metric._plain_statistics(batch, [batch]) is None
        assert metric.statistics(batch, [batch]).shape == (len(batch), 11)
    with pytest.raises(tm.TensorMTError, match="not of one kind"):
        metric(ids, [many[:1]])


def test_a_plain_call_makes_no_tensors_of_the_text() -> None:
    hyp, ref = (tm.TokenBatch.from_text([text]) for text in ("the dog", "a dog"))
    tm.BLEU(lowercase=True)(hyp, [ref])
    assert hyp._arrays is None
    assert ref._arrays is None


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=8), min_size=2, max_size=4))
def test_clipped_counts(rows: list[list[str]]) -> None:
    hyp, *refs = rows
    expected = sum(min(hyp.count(x), max(ref.count(x) for ref in refs)) for x in set(hyp))
    assert clipped(hyp, refs) == expected
    assert clipped("".join(hyp), refs) == expected


def test_closest_length_prefers_the_shorter() -> None:
    assert closest_length(5, [7, 3]) == 3
    assert closest_length(5, [6, 3]) == 6
    assert closest_length(0, list(chain([4], [2]))) == 2
