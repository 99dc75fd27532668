"""A small error rate, and the same numbers with the opposite sign as an ordinary metric."""

import torch

from tensormt.formulas import as_float64, namespace
from tensormt.inputs import Tokens
from tensormt.metric import Metric


class LengthError(Metric):
    """Difference of the lengths of hypothesis and first reference, in words of the reference."""

    name = "LengthError"
    scale = None
    higher_is_better = False

    @property
    def reads(self):
        return Tokens("13a")

    def settings(self):
        return {}

    def _statistics(self, hyp, refs):
        wrong = (hyp.lengths - refs[0].lengths).abs()
        return torch.stack([torch.ones_like(wrong), wrong, refs[0].lengths], 1)

    def _score(self, rows, segment):
        return as_float64(rows[..., 1]) / namespace(rows).clip(as_float64(rows[..., 2]), 1, None)


class LengthScore(LengthError):
    """The negated error rate."""

    name = "LengthScore"
    higher_is_better = True

    def _score(self, rows, segment):
        return -super()._score(rows, segment)
