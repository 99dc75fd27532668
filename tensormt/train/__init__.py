"""In the training loop: metrics on token ids, rewards, differentiable relatives, torchmetrics.

`tensormt.train.states` (torchmetrics) is imported by name alone: it needs the extra `train`.
"""

from tensormt.train.ids import SpecialIds, distinct
from tensormt.train.learned import Learned
from tensormt.train.mbr import best, mbr, nbest
from tensormt.train.rewards import (
    Reward,
    against_greedy,
    leave_one_out,
    minimum_risk,
    policy_gradient,
)
from tensormt.train.soft import expected_bleu, expected_matches
from tensormt.train.softkernel import SoftKernel, soft_log_kernel
from tensormt.train.textreward import TextReward

__all__ = [
    "Learned",
    "Reward",
    "SoftKernel",
    "SpecialIds",
    "TextReward",
    "against_greedy",
    "best",
    "distinct",
    "expected_bleu",
    "expected_matches",
    "leave_one_out",
    "mbr",
    "minimum_risk",
    "nbest",
    "policy_gradient",
    "soft_log_kernel",
]
