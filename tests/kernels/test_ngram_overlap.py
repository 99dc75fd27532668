"""Shared n-grams of pairs of sequences against plain counting."""

from collections import Counter

import pytest
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

from tensormt.errors import TensorMTError
from tensormt.kernels.ngram_overlap import Sequences, shared_ngrams


def sequences(rows):
    flat = torch.tensor([symbol for row in rows for symbol in row], dtype=torch.int64, device="cpu")
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64, device="cpu")
    return Sequences(flat, lengths.cumsum(0) - lengths, lengths)


def grams(row, n):
    return Counter(tuple(row[i : i + n]) for i in range(len(row) - n + 1))


def expected(one, two, top):
    return [
        [(grams(a, n) & grams(b, n)).total() for n in range(1, top + 1)]
        for a, b in zip(one, two, strict=True)
    ]


# few kinds fit one key; many are joined to pieces first
@pytest.mark.parametrize(
    ("kinds", "top"), [(1, 3), (6, 6), (900, 6), (3000, 6), (70_000, 4), (9, 20)]
)
@given(data=st.data())
def test_equal_to_plain_counting(kinds, top, data):
    symbol = st.one_of(st.integers(1, min(kinds, 3)), st.integers(1, kinds))
    sides = data.draw(st.integers(2, 5))
    rows = data.draw(st.lists(st.tuples(*[st.lists(symbol, max_size=25)] * sides), max_size=5))
    one, *others = ([row[side] for row in rows] for side in range(sides))
    found = shared_ngrams(sequences(one), [sequences(two) for two in others], kinds, top)
    assert found.tolist() == [expected(one, two, top) for two in others]


def test_rows_too_long_for_short_sums():
    generator = torch.Generator().manual_seed(3)
    one, two = (torch.randint(1, 3, (40_000,), generator=generator).tolist() for _ in range(2))
    found = shared_ngrams(sequences([one]), [sequences([two])], 2, 3)[0]
    assert found.tolist() == expected([one], [two], 3)


def test_on_a_device():
    rows = [[1, 2, 1, 2, 3], [], [4]]
    others = [[2, 1, 2], [1], [4, 4]]
    with FakeCuda():
        pair = [Sequences(*(part.to("cuda") for part in sequences(r))) for r in (rows, others)]
        found = shared_ngrams(pair[0], pair[1:], 4, 3)[0]
    assert to_host(found).tolist() == expected(rows, others, 3)


def test_too_many_kinds():
    one = sequences([[1, 2]])
    with pytest.raises(TensorMTError, match="different symbols are too many"):
        shared_ngrams(one, [one], 1 << 40, 2)


def test_many_different_pieces_are_taken_in_parts():
    """Long n-grams of many kinds do not fit a key for all segments at once."""
    generator = torch.Generator().manual_seed(5)
    rows = torch.randint(1, 3000, (2, 60, 50), generator=generator).tolist()
    rows[1] = [[*one[:25], *two[25:]] for one, two in zip(*rows, strict=True)]
    found = shared_ngrams(sequences(rows[0]), [sequences(rows[1])], 3000, 30)[0]
    assert found.tolist() == expected(rows[0], rows[1], 30)
    long = sequences([list(range(1, 3000))])
    with pytest.raises(TensorMTError, match="too many in one segment: take a smaller order"):
        shared_ngrams(long, [long], 3000, 60)
