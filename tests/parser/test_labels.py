"""Labels of spans: sets of labels for words and for wider spans."""

import pytest
import torch
from supar.modules import Biaffine

from tensormt.parser.decode import Slots
from tensormt.parser.labels import SpanLabeler, label_scores


def test_without_labels_for_wide_spans():
    weight = torch.randn(3, 5, 5)
    labeller = SpanLabeler(weight, [0, 1, 2], [])
    left, right = torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    slots = Slots(*(torch.tensor([row]) for row in ([0, 0, 1], [2, 1, 1], [0, 0, 0])))
    found = labeller(left, right, slots)
    assert found.shape == (1, 3)
    assert ((found >= 0) & (found < 3)).all()


@pytest.mark.parametrize("size", [1, 7])
def test_label_scores_are_supars_biaffine(size):
    attention = Biaffine(size, 5)
    torch.nn.init.normal_(attention.weight)
    left, right = torch.randn(2, 4, size), torch.randn(2, 4, size)
    every = attention(left, right)
    for b, i, j in [(0, 0, 1), (0, 1, 3), (1, 2, 2), (1, 3, 0)]:
        got = label_scores(attention.weight, left[b, i : i + 1], right[b, j : j + 1])
        torch.testing.assert_close(got[0], every[b, :, i, j])


def test_words_take_tags_and_wide_spans_do_not():
    """Even where a tag scores higher on a wide span, and the other way round."""
    weight = torch.zeros(4, 3, 3)
    weight[0, 2, 2], weight[1, 2, 2], weight[2, 2, 2], weight[3, 2, 2] = 1.0, 4.0, 2.0, 3.0
    slots = Slots(
        start=torch.tensor([[0, 0, 1]]),
        width=torch.tensor([[2, 1, 1]]),
        above=torch.tensor([[0, 0, 0]]),
    )
    left = right = torch.zeros(1, 3, 2)
    assert SpanLabeler(weight, [0, 2], [1, 3])(left, right, slots).tolist() == [[1, 2, 2]]
    assert SpanLabeler(weight, [1, 3], [0, 2])(left, right, slots).tolist() == [[2, 1, 1]]
