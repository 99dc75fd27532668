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
from tensormt.kernels import length_buckets
from tensormt.kernels import ngrams as compare
from tensormt.kernels.counts import Keys, clipped, occurrences, spread
from tensormt.kernels.lengths import closest
from tensormt.ngram import BLEU, matching, references
from tensormt.ngram.keys import ngrams, orders
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


def check(rows: list[tuple[list[str], list[list[str]]]], top: int) -> None:
    """Every rank and count of every part against plain Python."""
    hyp, refs = batches(rows)
    seen = []
    for some, part in matching.matches(hyp, refs, top):
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
@given(segments, st.integers(1, 5), st.sampled_from([0, 64]))
def test_comparison_equals_plain_python(
    rows: list[tuple[list[str], list[list[str]]]], top: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(length_buckets, "_FEW", few)  # a few segments are not sorted by length
        check(rows, top)


@settings(max_examples=60, deadline=None)
@given(segments, st.integers(1, 5), st.sampled_from([0, 64]))
def test_sorting_equals_plain_python(
    rows: list[tuple[list[str], list[list[str]]]], top: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(length_buckets, "_FEW", few)
        for module in (length_buckets, matching, references):
            patch.setattr(module, "LONGEST", 4)
        check(rows, top)


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
@given(segments, st.integers(1, 5))
def test_id_tensors_without_a_host_sync(
    rows: list[tuple[list[str], list[list[str]]]], top: int
) -> None:
    hyp, refs = batches(rows)
    width = int(refs.lengths.max())
    others = torch.full((len(rows), len(refs), width + 2), 7, dtype=torch.int64)
    shared = TokenBatch.concat([hyp, *refs])
    padded = [shared[k * len(rows) : (k + 1) * len(rows)].ids for k in range(len(refs) + 1)]
    for k, ids in enumerate(padded[1:]):
        others[:, k, : ids.shape[1]] = ids
    found = compare.clipped_matches(padded[0], hyp.lengths, others, refs.lengths.t(), top)
    assert found.dtype == torch.int64
    assert found.tolist() == [
        [sum(oracle.clip(h, r, n).values()) for n in range(1, top + 1)] for h, r in rows
    ]


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


def test_occurrences_of_nothing() -> None:
    none = Keys(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    some = Keys(torch.tensor([0, 0]), torch.tensor([5, 5]))
    assert [part.tolist() for part in occurrences(some, [none], 1)] == [[0, 1], [[0, 0]]]
    assert [part.tolist() for part in occurrences(none, [some], 1)] == [[], [[]]]
    assert spread([some, none, some], 2).tolist() == [[0, 1, 0], [0, 0, 0]]


def test_parts_hold_every_segment_once_and_do_not_mix() -> None:
    lengths = sorted([*range(300), *[20] * 5000, 0, 0, 70_000])
    bounds = list(length_buckets.cut(lengths))
    assert [k for low, high in bounds for k in range(low, high)] == list(range(len(lengths)))
    for low, high in bounds:
        assert (lengths[low] <= length_buckets.LONGEST) == (
            lengths[high - 1] <= length_buckets.LONGEST
        )
        assert high - low == 1 or (high - low) * lengths[high - 1] <= length_buckets._CELLS


def test_references_say_what_is_missing() -> None:
    with pytest.raises(TensorMTError, match="segment 2 has no reference"):
        References.from_text([["a", ""], ["b", None]])
    with pytest.raises(TensorMTError, match="reference 2 has 1 segments"):
        References([TokenBatch.from_text(["a", "b"]), TokenBatch.from_text(["a"])])
    with pytest.raises(
        TensorMTError, match="streams holds 0, expected at least 1: a batch of references"
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


def test_closest_length_prefers_the_shorter() -> None:
    refs = References.from_text([["a a a a a", "a"], ["a a a", ""], ["a a a a a a a a a", "a a a"]])
    assert closest(torch.tensor([4, 2]), refs.lengths.t()).tolist() == [3, 1]
    assert closest(torch.tensor([0, 9]), refs.lengths.t()).tolist() == [3, 3]


def test_orders_longer_than_every_reference() -> None:
    hyp, *refs = TokenBatch.from_texts([["a b c d e f"], ["a"], ["b"], ["f"]], "none")
    for number in (1, 2, 3):
        rows = BLEU(4, tokenize="none").statistics(hyp, refs[:number])
        assert rows.tolist() == [[1, 6, 1, number, 0, 0, 0, 6, 5, 4, 3]]
