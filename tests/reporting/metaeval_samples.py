"""A small test set with human scores for pages of a meta-evaluation."""

import torch

from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.scores import Scores

HOSTILE = "<img src=x onerror=window.hit=5>"


def judged(name="zh-en", systems=6, seed=1, segments=40):
    random = torch.Generator().manual_seed(seed)
    shape = systems, segments
    human = torch.randn(shape, generator=random, dtype=torch.float64).mul(2).round()
    human += torch.arange(systems)[:, None] / 4
    human[0, :5] = torch.nan
    metrics = [
        Scores(key, key, human.nan_to_num() + noise * torch.randn(shape, generator=random).double())
        for key, noise in (("good", 0.3), (HOSTILE, 4.0), ("fair", 1.5))
    ]
    names = [f"system {k} {HOSTILE if k == 2 else ''}" for k in range(systems)]
    return JudgedSet(name, "mqm", human, metrics, (torch.arange(segments), segments), names)
