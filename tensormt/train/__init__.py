"""Training: metrics on token ids, rewards, MBR decoding, differentiable metrics, torchmetrics.

`tensormt.train.torchmetrics_wrapper` is not imported here, since it needs torchmetrics (the extra
`train`).
"""

from tensormt.train.batcher import Batcher, batched
from tensormt.train.expected_counts import expected_bleu, expected_matches
from tensormt.train.learned import Learned
from tensormt.train.mbr import best, mbr, nbest
from tensormt.train.rewards import (
    Reward,
    against_greedy,
    leave_one_out,
    minimum_risk,
    policy_gradient,
)
from tensormt.train.soft_kernel import SoftKernel, soft_log_kernel
from tensormt.train.special_tokens import SpecialIds, distinct
from tensormt.train.text_reward import TextReward

__all__ = [
    "Batcher",
    "Learned",
    "Reward",
    "SoftKernel",
    "SpecialIds",
    "TextReward",
    "against_greedy",
    "batched",
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
