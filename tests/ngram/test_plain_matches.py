"""NIST, BM and NM in plain Python against the batched engine, up to the rounding of logarithms."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from text_samples import similar

import tensormt as tm
from tensormt.metric import Metric
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.plain_matches import PlainFrequencies
from tensormt.registry import make

WITHOUT_TORCH = patch("tensormt.ngram.base.torch_imported", lambda: False)
lines = st.one_of(similar, st.text("ab c", max_size=12))
segments = st.integers(1, 3).flatmap(
    lambda refs: st.lists(
        st.lists(lines, min_size=1 + refs, max_size=1 + refs), min_size=1, max_size=4
    )
)
METRICS = [
    "nist",
    "nist:info=segment,max_order=2",
    "nm",
    "nm:weighting=zipf,lowercase=no",
    "nm:recurrence=occurrences,info=segment",
    "bm",
    "bm:recurrence=occurrences,tokenize=char",
    "bm:weighting=zipf",
    "bma:max_order=1",
]


def sides(rows: list[list[str]], metric: Metric[Any]) -> list[tm.TokenBatch]:
    streams = [list(column) for column in zip(*rows, strict=True)]
    return [tm.TokenBatch.from_text(stream, *metric.reads.cut) for stream in streams]


def outcome(metric: Metric[Any], hyp: tm.TokenBatch, refs: list[tm.TokenBatch]) -> Any:
    try:
        return torch.as_tensor(metric.rows(hyp, refs))
    except tm.TensorMTError as error:
        return str(error)


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("spec", METRICS)
@settings(max_examples=40)
@given(rows=segments)
def test_plain_path_equals_engine(spec: str, rows: list[list[str]]) -> None:
    """Of one call, and of segments that are scored one by one after the whole was counted."""
    metric, fitted = make(spec), make(spec)
    hyp, *refs = sides(rows, metric)
    expected = outcome(metric, hyp, refs)
    with WITHOUT_TORCH:
        found = outcome(metric, hyp, refs)
        if isinstance(expected, str):
            assert found == expected
            return
        assert metric._plain_statistics(hyp, refs) is not None
        hyp, *refs = sides(rows, metric)  # without the tensors that the engine made of them
        for ref in refs:
            fitted.fit([ref])
        single = [fitted.rows(hyp[k], [ref[k] for ref in refs]) for k in range(len(hyp))]
    assert fitted.counts is None
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        torch.cat([torch.as_tensor(row) for row in single]), expected, rtol=1e-12, atol=1e-12
    )


def test_counts_without_torch_serve_the_engine() -> None:
    metric = tm.NIST()
    refs = tm.TokenBatch.from_text(["the dog ran home", "a dog"])
    with WITHOUT_TORCH:
        metric.fit([refs[0]])
        assert not metric.needs_fit
    metric.fit([refs[1]])  # torch was imported in between
    assert isinstance(metric.counts, Frequencies)
    whole = tm.NIST().statistics(refs, [refs])
    torch.testing.assert_close(metric.statistics(refs, [refs]), whole, rtol=1e-13, atol=0)


def test_errors_are_those_of_the_engine() -> None:
    known, other = (tm.TokenBatch.from_text([text]) for text in ("the dog", "a cat"))
    mixed = tm.TokenBatch.from_text(["A cat"], "char")
    for batch, message in ((other, "counts of the test set lack"), (mixed, "read both the same")):
        metric = tm.NIST(lowercase=False)
        with WITHOUT_TORCH:
            metric.fit([known])
            with pytest.raises(tm.TensorMTError, match=message):
                metric.rows(batch, [batch])


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12))
def test_ranks(words: list[str]) -> None:
    batch = tm.TokenBatch.from_text([" ".join(words)])
    plain, table = PlainFrequencies(2).add([batch]), Frequencies(2).add([batch])
    for number in range(1, 5):
        assert plain.rank(number) == table.rank(torch.tensor(number), 2).item()
