"""The matcher: comparison, sorting counter and plain Python agree on every n-gram."""

from __future__ import annotations

from collections import Counter
from itertools import product

import ngram_oracle as oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tensormt.errors import TensorMTError
from tensormt.kernels.counts import Keys, clipped
from tensormt.kernels.ngrams import LONGEST
from tensormt.ngram import BLEU
from tensormt.ngram.keys import ngrams, orders
from tensormt.ngram.matching import matches
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

words = st.lists(st.sampled_from("abc"), max_size=9)
segments = (
    st.integers(1, 3)
    .flatmap(
        lambda r: st.lists(
            st.tuples(words, st.lists(words, min_size=r, max_size=r)), min_size=1, max_size=5
        )
    )
    .filter(lambda rows: all(any(refs) for _, refs in rows))
)


def batches(rows: list[tuple[list[str], list[list[str]]]]) -> tuple[TokenBatch, References]:
    hyp = TokenBatch.from_text([" ".join(h) for h, _ in rows], tokenize="none")
    streams = [[" ".join(r) for r in stream] for stream in zip(*(r for _, r in rows), strict=True)]
    return hyp, References([TokenBatch.from_text(s, tokenize="none") for s in streams])


def check(rows: list[tuple[list[str], list[list[str]]]], top: int, longest: int = LONGEST) -> None:
    """Every rank and count of every part against plain Python."""
    hyp, refs = batches(rows)
    seen = []
    for some, part in matches(hyp, refs, top, longest):
        places = torch.arange(len(rows))[some].tolist()
        seen += places
        for column, row in enumerate(places):
            tokens, others = rows[row]
            assert int(part.hyp_lengths[column]) == len(rows[row][0])
            for n, order in enumerate(part.orders, 1):
                found = oracle.grams(tokens, n)
                real = len(found)
                rank = [found[:i].count(gram) for i, gram in enumerate(found)]
                counts = [[oracle.grams(ref, n).count(g) for g in found] for ref in others]
                assert order.counts[:, :real, column].tolist() == counts
                # ranks are only asked for where something can match
                held = [i for i in range(real) if any(c[i] for c in counts)]
                assert [order.rank[i, column] for i in held] == [rank[i] for i in held]
                assert not order.matched[real:, column].any()
                assert order.matched[:real, column].sum() == sum(
                    oracle.clip(tokens, others, n).values()
                )
                assert order.holders[:real, column].tolist() == [
                    sum(c[i] > 0 for c in counts) for i in range(real)
                ]
                assert order.total[:real, column].tolist() == [
                    sum(c[i] for c in counts) for i in range(real)
                ]
    assert sorted(seen) == list(range(len(rows)))


@settings(max_examples=100, deadline=None)
@given(segments, st.integers(1, 5))
def test_comparison_equals_plain_python(
    rows: list[tuple[list[str], list[list[str]]]], top: int
) -> None:
    check(rows, top)


@settings(max_examples=60, deadline=None)
@given(segments, st.integers(1, 5), st.sampled_from([0, 4]))
def test_sorting_equals_plain_python(
    rows: list[tuple[list[str], list[list[str]]]], top: int, longest: int
) -> None:
    """Segments of more than `longest` tokens are sorted, not compared."""
    check(rows, top, longest)


def test_both_sides_of_the_limit() -> None:
    lengths = [(255, 255), (256, 255), (255, 256), (300, 3), (3, 300), (600, 620), (0, 260), (0, 4)]
    letters = "abcdefgh"
    rows = [
        ([letters[(i * i) % 8] for i in range(h)], [[letters[i % 7] for i in range(r)], ["a"]])
        for h, r in lengths
    ]
    check(rows, 4)


def test_counts_of_one_repeated_word_fill_a_byte() -> None:
    for h, r in ((255, 255), (300, 255), (256, 256)):
        check([(["a"] * h, [["a"] * r])], 2)


@settings(max_examples=100, deadline=None)
@given(segments, st.integers(1, 4))
def test_the_counter_clips_the_same(
    rows: list[tuple[list[str], list[list[str]]]], top: int
) -> None:
    hyp, refs = batches(rows)
    sides = [ngrams(batch, top) for batch in (hyp, *refs)]
    by_group = [keys.group.argsort(stable=True) for keys in sides]
    sides = [Keys(k.group[o], k.key[o]) for k, o in zip(sides, by_group, strict=True)]
    found = clipped(sides[0], sides[1:], len(rows) * top).view(len(rows), top)
    assert found.tolist() == [
        [sum(oracle.clip(h, r, n).values()) for n in range(1, top + 1)] for h, r in rows
    ]
    for row, (_, others) in enumerate(rows):
        for n in range(1, top + 1):
            held = Counter(g for ref in others for g in set(oracle.grams(ref, n)))
            shares = [sum(c == k for c in held.values()) for k in range(1, len(refs) + 1)]
            assert refs.spread(top)[row, n - 1].tolist() == shares
            assert refs.diversity(top)[row, n - 1] == oracle.diver(oracle.present(others), n)


@pytest.mark.parametrize(("streams", "size"), [(8, 12), (2, 300)])
def test_different_ngrams_of_many_or_long_references(streams: int, size: int) -> None:
    """Many references, and long ones, are sorted, not compared."""
    others = [[["abc"[(k * i * i + i) % 3] for i in range(size + k)] for k in range(streams)]]
    _, refs = batches([(["a"], own) for own in others])
    for n, found in enumerate(refs.distinct(4)[0].tolist(), 1):
        assert found == len({gram for ref in others[0] for gram in oracle.grams(ref, n)})


def test_keys_do_not_depend_on_the_dictionary() -> None:
    one = TokenBatch.from_text(["a b c"], tokenize="none")
    other = TokenBatch.from_text(["x c b", "a b c"], tokenize="none")[1:]
    for (left, first), (right, second) in zip(orders(one, 3), orders(other, 3), strict=True):
        assert torch.equal(left, right)
        assert torch.equal(first, second)
    _, (keys, _) = orders(TokenBatch.from_text(["a b", "b a"], tokenize="none"), 2)
    assert keys[0] != keys[1]


def test_keys_agree_with_exact_interning() -> None:
    """All n-grams up to 5 over three words: as many keys as different n-grams."""
    lines = [" ".join(line) for line in product("abc", repeat=5)]
    batch = TokenBatch.from_text(lines, tokenize="none")
    for n, (keys, _) in enumerate(orders(batch, 5), 1):
        assert len(set(keys.tolist())) == 3**n


def test_references_say_what_is_missing() -> None:
    with pytest.raises(TensorMTError, match="segment 2 has no reference"):
        References.from_text([["a", ""], ["b", None]])
    with pytest.raises(TensorMTError, match="reference 2 has 1 segments"):
        References([TokenBatch.from_text(["a", "b"]), TokenBatch.from_text(["a"])])
    with pytest.raises(
        TensorMTError, match="streams has 0 elements, expected at least 1: a batch of references"
    ):
        References([])
    refs = References.from_text([["a"], [None]])
    with pytest.raises(TensorMTError, match="the hypothesis has 2"):
        refs.align(TokenBatch.from_text(["a", "b"]))
    with pytest.raises(TensorMTError, match="not of one kind"):
        refs.align(TokenBatch.from_ids(torch.tensor([[1]]), torch.tensor([1])))
    assert len(refs) == 2
    assert refs.number.tolist() == [1]
    assert refs[1].lengths.tolist() == [0]
    assert refs.rows(slice(0, 1)).segments == 1


def test_orders_longer_than_every_reference() -> None:
    hyp, *refs = TokenBatch.from_texts([["a b c d e f"], ["a"], ["b"], ["f"]], "none")
    for number in (1, 2, 3):
        rows = BLEU(4, tokenize="none").statistics(hyp, refs[:number])
        assert rows.tolist() == [[1, 6, 1, number, 0, 0, 0, 6, 5, 4, 3]]


def test_memory_for_long_segments_is_known_before_it_is_asked_for():
    """A line of 500,000 tokens: BLEU-4 is computed, order 100 refused at once."""
    line = TokenBatch.from_text(["a b " * 250_000], "none")
    with pytest.raises(
        TensorMTError, match="segment 1 has 500,000 tokens with up to 100,000,000 n"
    ):
        BLEU(max_order=100)(line, [line])


def test_long_segments_one_at_a_time_are_those_together(monkeypatch):
    lines = [" ".join(str(k % m) for k in range(400)) for m in (3, 5, 7)]
    hyp, ref = TokenBatch.from_text(lines, "none"), TokenBatch.from_text(lines[::-1], "none")
    whole = BLEU()._statistics(hyp, [ref])
    monkeypatch.setattr("tensormt.ngram.matching.MAX_NGRAMS", 2 * 4 * 400)
    assert BLEU()._statistics(hyp, [ref]).tolist() == whole.tolist()
