"""Labels of spans: sets of labels for words and for wider spans."""

import torch

from tensormt.parser.decode import Slots
from tensormt.parser.labels import SpanLabeler


def test_without_labels_for_wide_spans():
    weight = torch.randn(3, 5, 5)
    labeller = SpanLabeler(weight, [0, 1, 2], [])
    left, right = torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    slots = Slots(*(torch.tensor([row]) for row in ([0, 0, 1], [2, 1, 1], [0, 0, 0])))
    found = labeller(left, right, slots)
    assert found.shape == (1, 3)
    assert ((found >= 0) & (found < 3)).all()
