"""Padded units of segments, part by part."""

import pytest
import torch
from vector_samples import random_vectors

from tensormt.contextual.padded import PaddedUnits, cut


def test_texts_are_padded_by_their_last_unit_without_weight():
    source = random_vectors(1, [3, 1, 2])  # 5, 3 and 4 pieces
    units = source.units("pieces")
    made = PaddedUnits(units, torch.tensor([1, 2, 0]), [(2, 4), (1, 6)], None)
    rows = [[5, 6, 7, 7], [8, 9, 10, 11]], [[0, 1, 2, 3, 4, 4]]
    weights = [[0, 1, 0, 0], [0, 1, 1, 0]], [[0, 1, 1, 1, 0, 0]]
    for part in (0, 1):
        index = torch.tensor(rows[part])
        assert torch.equal(made.vectors(part), source.vectors[index])
        assert torch.equal(made.scale[part], units.scale[index])
        assert made.weight[part].tolist() == weights[part]
        assert made.counted[part].tolist() == [[w > 0 for w in row] for row in weights[part]]
    assert made.head is None
    made.value[0].copy_(torch.tensor([[9.0, 0.5, 9, 9], [9, 0.25, 0.5, 9]]))
    made.value[1].copy_(torch.tensor([[9.0, 0.1, 0.7, 0.8, 9, 9]]))
    assert made.means(0.2).tolist() == pytest.approx([0.5, 0.375, 0.5])


def test_no_segment():
    units = random_vectors(1, [2]).units("pieces")
    made = PaddedUnits(units, torch.zeros(0, dtype=torch.int64), [], None)
    assert made.means(0.0).tolist() == []


def test_parts_have_at_most_so_many_units_unless_they_have_one_segment():
    own, other = [2, 3, 3, 9], [3, 2, 4, 9]
    assert list(cut(own, other, 14)) == [(0, 2), (2, 3), (3, 4)]
    assert list(cut(own, other, 100)) == [(0, 4)]
    assert list(cut([], [], 100)) == []
