"""A small error rate, for tests of what lower scores mean."""

import torch

from tensormt.formulas import as_float64, namespace
from tensormt.inputs import Tokens
from tensormt.metric import Metric


class LengthError(Metric):
    """The difference of the lengths of hypothesis and first reference, over the latter."""

    name = "LengthError"
    summary = "how far the lengths are from each other"
    higher_is_better = False

    @property
    def reads(self):
        return Tokens("none")

    def settings(self):
        return {}

    def _statistics(self, hyp, refs):
        errors = (hyp.lengths - refs[0].lengths).abs()
        return torch.stack([torch.ones_like(errors), errors, refs[0].lengths], 1)

    def _score(self, rows, segment):
        return as_float64(rows[..., 1]) / namespace(rows).clip(as_float64(rows[..., 2]), 1, None)
