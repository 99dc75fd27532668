"""Parts of similar length: every segment once, bounded in size; columns as they are padded."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels import length_buckets
from tensormt.kernels.length_buckets import column_type, columns, cut, parts, tailed


@pytest.mark.parametrize("longest", [0, 40, length_buckets.LONGEST])
def test_parts_hold_every_segment_once_and_do_not_mix(longest):
    lengths = sorted([*range(300), *[20] * 5000, 0, 0, 70_000])
    bounds = list(cut(lengths, longest=longest))
    assert [k for low, high in bounds for k in range(low, high)] == list(range(len(lengths)))
    for low, high in bounds:
        assert (lengths[low] <= longest) == (lengths[high - 1] <= longest)
        assert high - low == 1 or (high - low) * lengths[high - 1] <= length_buckets._CELLS


@given(st.lists(st.integers(0, 600), max_size=60), st.integers(1, 9))
def test_parts_of_tensors(lengths, references):
    seen = []
    for rows, longest in parts(torch.tensor(lengths, dtype=torch.int64), references):
        numbers = torch.arange(len(lengths))[rows].tolist()
        own = [lengths[number] for number in numbers]
        assert isinstance(rows, slice) or own == sorted(own)
        assert max(own) == longest
        seen += numbers
    assert sorted(seen) == list(range(len(lengths)))


@given(
    st.lists(st.lists(st.integers(1, 99), max_size=6), min_size=1, max_size=8),
    st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from([torch.int16, torch.int32]),
)
def test_columns(texts, side, spare, dtype):
    flat = torch.tensor([token for text in texts for token in text], dtype=dtype)
    starts = torch.tensor([sum(map(len, texts[:k])) for k in range(len(texts))])
    lengths = torch.tensor([len(text) for text in texts])
    padding = torch.iinfo(dtype).min + side
    width = max(map(len, texts)) + spare
    expected = [text + [padding] * (width - len(text)) for text in texts]
    found = columns(tailed(flat, 8), starts, lengths, side, spare)
    assert found.dtype == dtype
    assert found.t().tolist() == expected
    both = columns(tailed(flat, 8), starts.expand(2, -1), lengths.expand(2, -1), side, spare)
    assert torch.equal(both, found.expand(2, -1, -1))


def test_types_hold_all_ids_and_both_kinds_of_padding():
    for ids in (1, (1 << 15) - 3, (1 << 15) - 2, 1 << 20):
        limits = torch.iinfo(column_type(ids))
        assert ids + 1 <= limits.max
