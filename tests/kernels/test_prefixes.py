"""Shared n-grams of pairs of sequences against plain counting."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pretend import Watch, home

from tensormt.errors import TensorMTError
from tensormt.kernels.prefixes import Sequences, reach, shared_ngrams


def sequences(sides, kinds, top):
    """Sides of rows, with as many ends behind each row as are looked at."""
    symbols, starts = [], []
    for side, rows in enumerate(sides):
        for row in rows:
            starts.append(len(symbols))
            symbols += row + [kinds + 1 if side else 0] * (reach(kinds, top) if row else 0)
    found = (symbols, starts, [len(row) for rows in sides for row in rows])
    flat, *tables = (torch.tensor(part, dtype=torch.int64, device="cpu") for part in found)
    return Sequences(flat, *(table.view(len(sides), -1) for table in tables))


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
    found = shared_ngrams(sequences([one, *others], kinds, top), kinds, top)
    assert found.tolist() == [expected(one, two, top) for two in others]


def test_rows_too_long_for_short_sums():
    generator = torch.Generator().manual_seed(3)
    one, two = (torch.randint(1, 3, (40_000,), generator=generator).tolist() for _ in range(2))
    found = shared_ngrams(sequences([[one], [two]], 2, 3), 2, 3)[0]
    assert found.tolist() == expected([one], [two], 3)


def test_on_a_device():
    rows = [[1, 2, 1, 2, 3], [], [4]]
    others = [[2, 1, 2], [1], [4, 4]]
    with Watch():
        pair = Sequences(*(part.to("cuda") for part in sequences([rows, others], 4, 3)))
        found = shared_ngrams(pair, 4, 3)[0]
    assert home(found).tolist() == expected(rows, others, 3)


def test_too_many_kinds():
    pair = sequences([[[1, 2]], [[1, 2]]], 2, 2)
    with pytest.raises(TensorMTError, match="different symbols are too many"):
        shared_ngrams(pair, 1 << 40, 2)
