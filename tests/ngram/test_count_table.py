"""Tallies against plain counters: bytes that overflow, sums in any order, absent keys."""

from collections import Counter

import pytest
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

from tensormt.ngram.count_table import CountTable
from tensormt.ngram.frequencies import Frequencies
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


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_pieces_of_any_size_give_one_table(every):
    """N-grams are merged when the tables are read; the counts are those of all text at once."""
    lines = [f"a b {k % 7} c d {k % 3}" for k in range(400)]
    whole = Frequencies(3).add([TokenBatch.from_text(lines)])
    pieces = Frequencies(3)
    for number, k in enumerate(range(0, 400, 9)):
        pieces.add([TokenBatch.from_text(lines[k : k + 9])])
        if number % every == 0:
            assert pieces.tables[0][1].max() == min(k + 9, 400)
    for (keys, counts), (own, number) in zip(whole.tables, pieces.tables, strict=True):
        assert torch.equal(keys, own)
        assert torch.equal(counts, number)
    assert whole.tables[0][1].max() == 400


def test_more_than_a_million_ngrams():
    """So many are merged as they are added, before the tables are read."""
    lines = [f"a b {k % 7} c d {k % 3}" for k in range(40_000)]
    batch, one = TokenBatch.from_text(lines), TokenBatch.from_text(["a b"])
    found = Frequencies(3).add([one]).add([batch, batch]).add([one])
    once = Frequencies(3).add([batch])
    for order, (keys, counts) in enumerate(found.tables):
        assert torch.equal(keys, once.tables[order][0])
        extra = torch.isin(keys, Frequencies(3).add([one]).tables[order][0]).to(torch.int64)
        assert torch.equal(counts, 2 * once.tables[order][1] + 2 * extra)


@given(st.lists(blocks, min_size=1, max_size=3))
def test_tallies_of_rows(parts):
    """Rows that are counted by one sort have the tallies of each row alone."""
    rows = [[k for k, n in counted(part).items() for _ in range(n)] for part in parts]
    size = max(map(len, rows))
    table = torch.tensor([[*row, *[7] * (size - len(row))] for row in rows], dtype=torch.int64)
    real = torch.tensor([[k < len(row) for k in range(size)] for row in rows], dtype=torch.bool)
    found = CountTable.of_rows(table.view(len(rows), size), real.view(len(rows), size))
    for own, part in zip(found, map(counted, parts), strict=True):
        assert dict(zip(own.keys.tolist(), own.full_counts.tolist(), strict=True)) == part
        assert own.keys.tolist() == sorted(part)


def test_counts_of_a_device():
    """The tables of the CPU, from references in one piece or in several."""
    lines = [["a b a b a", "", "c a b"] * 90, ["a b", "b", "a b a b a b c"] * 90]
    streams = TokenBatch.from_texts(lines)
    expected = Frequencies(4).add(streams).tables
    with FakeCuda():
        there = TokenBatch.send(streams, "cuda")
        pieces = [Frequencies(4).add(there), Frequencies(4).add(there[:1]).add(there[1:])]
        found = [[[to_host(part) for part in own] for own in one.tables] for one in pieces]
    for tables in found:
        for own, other in zip(tables, expected, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(own, other, strict=True))
