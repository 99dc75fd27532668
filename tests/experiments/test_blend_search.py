"""The figures of the search for `blend` against the functions of the package."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tensormt.metaeval import calibrated_accuracy, pearson, soft_pairwise_accuracy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))


@pytest.mark.parametrize("ties", [False, True])
def test_figures_are_those_of_the_package(ties):
    from blend_search import Judged

    random = np.random.default_rng(1)
    human = random.integers(0, 4, (5, 30)).astype(float)
    human[0, 3] = human[2, 7] = np.nan
    members = random.random((3, 5, 30)).round(1 if ties else 9)
    found = Judged(human, members).figures([0, 2])
    people, table = torch.from_numpy(human), torch.from_numpy(members[[0, 2]].mean(0))
    real = ~people.isnan()
    filled = [torch.nan_to_num(side).t().contiguous() for side in (people, table)]
    expected = [
        soft_pairwise_accuracy(people, table, permutations=0),
        calibrated_accuracy(*filled, mask=real.t().contiguous())[0],
        None,
        pearson(people[real], table[real]),
    ]
    lead = (table[:, None] - table[None])[people[:, None] > people[None]]
    expected[2] = ((lead > 1e-9).double().mean() + (lead >= -1e-9).double().mean()) / 2
    assert found == pytest.approx([float(value) for value in expected], abs=1e-9)
