"""Agreement between raters, and kappa."""

from __future__ import annotations

import math
import random

import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.metaeval.rater_agreement import item_agreement, kappa, rater_agreement


def test_agreement_two_of_two_or_two_of_three() -> None:
    none = float("nan")
    judged = torch.tensor(
        [[1, 1, none], [1, 2, none], [3, 4, 3], [1, 2, 3], [5, 5, 5], [4, none, none]]
    )
    assert float(item_agreement(judged)) == pytest.approx(3 / 5)
    assert float(kappa(item_agreement(judged))) == pytest.approx((0.6 - 0.2) / 0.8)
    # of five items with company: rater 1 agrees on 3, rater 2 on 2; rater 3 judged three
    assert rater_agreement(judged).tolist() == pytest.approx([3 / 5, 2 / 5, 2 / 3])
    both = torch.stack([judged, judged.flip(-1)])
    assert item_agreement(both).tolist() == pytest.approx([0.6, 0.6])
    assert float(item_agreement(torch.full((3, 2), math.nan))) == 0.0


def test_table_1_from_its_agreement() -> None:
    """Kappa 0.311 (fluency of p2-05, Table 1) is an agreement of 0.4488 beyond a chance of 0.2."""
    assert round(float(kappa(torch.tensor(0.4488))), 3) == 0.311


def test_random_judgements_have_kappa_near_zero() -> None:
    rng = random.Random(3)
    judged = torch.tensor([[rng.randint(1, 5), rng.randint(1, 5)] for _ in range(20_000)])
    assert abs(float(kappa(item_agreement(judged)))) < 0.01


def test_errors() -> None:
    with pytest.raises(TensorMTError, match=r"expected \[...,items,raters\]"):
        item_agreement(torch.zeros(3))
    with pytest.raises(TensorMTError, match="chance is 1"):
        kappa(torch.tensor(0.5), chance=1)
