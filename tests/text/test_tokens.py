"""TokenBatch: what goes in comes out, in every form it can take."""

from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tensormt.errors import TensorMTError
from tensormt.text.tokens import TokenBatch, unify

lines_of_words = st.lists(
    st.lists(st.sampled_from(["a", "B", "é", "Σ", "ab"]), max_size=6).map(" ".join), max_size=6
)


@settings(max_examples=100, deadline=None)
@given(lines_of_words)
def test_round_trip_and_padding(lines: list[str]) -> None:
    batch = TokenBatch.from_text(lines, tokenize="none")
    split = [line.split() for line in lines]
    assert batch.to_tokens() == split
    assert len(batch) == len(lines)
    assert batch.lengths.tolist() == [len(words) for words in split]
    assert batch.ids.dtype == torch.int64
    assert batch.dictionary is not None
    for row, words in zip(batch.ids.tolist(), split, strict=True):
        assert [batch.dictionary[i] for i in row[: len(words)]] == words
        assert all(i == -1 for i in row[len(words) :])
    assert torch.equal(batch.mask, batch.ids >= 0)


@settings(max_examples=100, deadline=None)
@given(lines_of_words, st.integers(-7, 7), st.integers(-7, 7))
def test_choosing_segments(lines: list[str], low: int, high: int) -> None:
    batch = TokenBatch.from_text(lines, tokenize="none")
    split = [line.split() for line in lines]
    assert batch[low:high].to_tokens() == split[low:high]
    assert batch[::-1].to_tokens() == split[::-1] if lines else len(batch[::-1]) == 0
    assert pickle.loads(pickle.dumps(batch[low:high])).to_tokens() == split[low:high]
    if lines:
        assert batch[-1].to_tokens() == split[-1:]
        assert batch[torch.tensor([0, 0])].to_tokens() == [split[0], split[0]]
    with pytest.raises(IndexError):
        batch[len(lines)]


@settings(max_examples=100, deadline=None)
@given(lines_of_words, lines_of_words)
def test_joining_and_meeting(first: list[str], second: list[str]) -> None:
    left, right = (TokenBatch.from_text(part, tokenize="none") for part in (first, second))
    both = TokenBatch.concat([left, right])
    assert both.to_tokens() == [line.split() for line in (*first, *second)]
    assert torch.equal(both.hashes, torch.cat([left.hashes, right.hashes]))
    shared = TokenBatch.from_texts([first, second], tokenize="none")
    assert [batch.to_tokens() for batch in shared] == [left.to_tokens(), right.to_tokens()]
    assert shared[0].dictionary is shared[1].dictionary
    unified = unify([left, right])
    assert unified[0].dictionary is unified[1].dictionary
    assert [batch.to_tokens() for batch in unified] == [left.to_tokens(), right.to_tokens()]


def test_lower_case_after_the_fact() -> None:
    batch = TokenBatch.from_text(["The the THE", "ÉCOLE école"])
    assert batch.lowered.to_tokens() == [["the"] * 3, ["école"] * 2]
    assert batch.lowered is batch.lowered
    assert batch.lowered.dictionary is not None
    assert len(batch.lowered.dictionary) == 2
    ready = TokenBatch.from_text(["The the"], lowercase=True)
    assert ready.lowered is ready


def test_pickle_carries_only_its_segments() -> None:
    batch = TokenBatch.from_text(["a b"] * 50_000, tokenize="none")
    assert len(pickle.dumps(batch[:2])) < 5_000


def test_ids() -> None:
    ids = torch.tensor([[7, 8, 9], [4, -100, -100], [0, 0, 0]])
    batch = TokenBatch.from_ids(ids, torch.tensor([3, 1, 0]))
    assert batch.ids.tolist() == [[7, 8, 9], [4, -1, -1], [-1, -1, -1]]
    assert batch.dictionary is None
    assert batch[1:].to_tokens() == [["4"], []]
    assert batch.lowered is batch
    assert TokenBatch.concat([batch, batch[:1]]).to_tokens()[3] == ["7", "8", "9"]


def test_a_long_line_costs_what_it_holds() -> None:
    batch = TokenBatch.from_text(["word " * 20_000, *["a"] * 1000])
    assert batch.tokens.shape == (21_000,)
    assert batch.lengths.max() == 20_000


def test_errors_say_what_to_do() -> None:
    text = TokenBatch.from_text(["a"])
    ids = TokenBatch.from_ids(torch.tensor([[1]]), torch.tensor([1]))
    with pytest.raises(TensorMTError, match="made from text meets one made from ids"):
        unify([text, ids])
    with pytest.raises(TensorMTError, match="got one string"):
        TokenBatch.from_text("a line")
    with pytest.raises(TensorMTError, match=r"ids is .* expected whole numbers \[B, T\]"):
        TokenBatch.from_ids(torch.tensor([1, 2]), torch.tensor([2]))
    with pytest.raises(TensorMTError, match="expected whole numbers"):
        TokenBatch.from_ids(torch.tensor([[1.0]]), torch.tensor([1]))
    with pytest.raises(TensorMTError, match="between 0 and the 1 ids"):
        TokenBatch.from_ids(torch.tensor([[1]]), torch.tensor([2]))
    with pytest.raises(TensorMTError, match="different tokenisation or case"):
        TokenBatch.concat([text, text.lowered])
    with pytest.raises(TensorMTError, match="batches has 0 elements, expected at least 1"):
        TokenBatch.concat([])
    assert "1 segments, 1 tokens" in repr(text)
