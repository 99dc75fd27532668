"""Tallies against plain counters: bytes that overflow, sums in any order, absent keys."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.ngram import frequencies
from tensormt.ngram.count_table import CountTable
from tensormt.text.tokens import TokenBatch

# few different keys, some of them seen hundreds of times
blocks = st.lists(
    st.tuples(st.integers(-4, 4), st.sampled_from([1, 2, 100, 127, 128, 254, 255, 256, 600])),
    max_size=6,
)


def counted(parts):
    found = Counter()
    for key, times in parts:
        found[key << 60] += times
    return found


def tally(found):
    return CountTable.of(
        torch.tensor([k for k, n in found.items() for _ in range(n)]).to(torch.int64)
    )


@given(st.lists(blocks, min_size=1, max_size=4))
def test_a_tally_is_a_counter(parts):
    whole, total = CountTable.none(torch.device("cpu")), Counter()
    for part in map(counted, parts):
        whole = whole.plus(tally(part))
        total += part
    assert dict(zip(whole.keys.tolist(), whole.full_counts.tolist(), strict=True)) == total
    assert whole.keys.tolist() == sorted(total)
    asked = [k << 60 for k in (3, -4, 0, 2, -1, 1, -3, 4, -2)] + [7, -9]
    assert whole.look_up(torch.tensor(asked)).tolist() == [total[key] for key in asked]
    assert whole.large_keys.tolist() == sorted(k for k, n in total.items() if n > 254)
    assert whole.size == 9 * len(total) + 16 * whole.large_keys.shape[0]


@pytest.mark.parametrize("least", [1, 50, 1 << 20])
def test_pieces_of_any_size_give_one_table(monkeypatch, least):
    """N-grams that wait are merged in sooner or later; the counts are those of all text at once."""
    lines = [f"a b {k % 7} c d {k % 3}" for k in range(400)]
    whole = frequencies.Frequencies(3).add([TokenBatch.from_text(lines)])
    monkeypatch.setattr(frequencies, "_LEAST", least)
    pieces = frequencies.Frequencies(3)
    for k in range(0, 400, 9):
        pieces.add([TokenBatch.from_text(lines[k : k + 9])])
    for (keys, counts), (own, number) in zip(whole.tables, pieces.tables, strict=True):
        assert torch.equal(keys, own)
        assert torch.equal(counts, number)
    assert whole.tables[0][1].max() == 400
