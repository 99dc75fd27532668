"""The paper's tests of the framework against plain loops over single QUEENs."""

import itertools

import pytest
import torch
from qarla.similarity_samples import random_tensors

from tensormt import metaeval, qarla
from tensormt.errors import TensorMTError
from tensormt.qarla import analysis
from tensormt.qarla.case_chunks import COMPARISONS


def one_case_queen(tensors, t, to_models, models, metrics):
    """QUEEN of a text with similarities [M,X], through the public single-set call."""
    am = to_models[models][:, metrics][None, None]
    mm = tensors.mm[t][models][:, models][..., metrics][None]
    return qarla.queen(am, mm)[0, 0].item()


def real(mask, t):
    return [k for k, kept in enumerate(mask[t].tolist()) if kept]


def mean(values):
    return sum(values) / len(values)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("times", [1, 200])
def test_human_first_equals_taking_each_author_out(ragged, times):
    """Five cases two hundred times over need several chunks, and have the means of five."""
    for seed in range(3):
        one = random_tensors(seed, ragged)
        many = random_tensors(seed, ragged, times=times)
        assert times == 1 or many.am.shape[0] * many.mm.shape[1] ** 4 > 2 * COMPARISONS
        found = analysis.human_ranked_first(many)
        alone = analysis.human_ranked_first_by_metric(one)
        for m, index in itertools.product(range(5), range(1, 8)):
            metrics = [k for k in range(3) if index >> k & 1]
            own, others, plain, plain_others = [], {}, [], {}
            for t in range(5):
                models = real(one.model_mask, t)
                if m not in models:
                    continue
                rest = [k for k in models if k != m]
                own.append(one_case_queen(one, t, one.mm[t, m], rest, metrics))
                plain.append(one.mm[t, m, rest].mean(dim=0))
                for a in real(one.peer_mask, t):
                    value = one_case_queen(one, t, one.am[t, a], rest, metrics)
                    others.setdefault(a, []).append(value)
                    plain_others.setdefault(a, []).append(one.am[t, a, rest].mean(dim=0))
            gaps = [mean(own) - mean(values) for values in others.values()]
            if min(abs(gap) for gap in gaps) > 1e-9:
                assert found[m, index].item() == all(gap > 0 for gap in gaps)
            for x in metrics:
                expected = all(mean(plain)[x] > mean(v)[x] for v in plain_others.values())
                assert alone[m, x].item() == expected


def test_mean_queens_and_their_correlation():
    one = random_tensors(4, ragged=True)
    queens = qarla.queen_sets(one.am, one.mm, **one.masks)
    means = analysis.mean_queens(one)
    for a in range(3):
        cases = [t for t in range(5) if one.peer_mask[t, a]]
        torch.testing.assert_close(means[a], queens[cases, a].mean(dim=0))
    human = torch.rand(3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    human[0, 3] = torch.nan
    kings, r = analysis.king_and_correlation(one, human)
    torch.testing.assert_close(kings, qarla.king_sets(one.am, one.mm, **one.masks))
    for index in range(1, 8):
        expected = metaeval.pearson(human.nanmean(dim=1), means[:, index])
        torch.testing.assert_close(r[index], expected, equal_nan=True)
    assert r[0].isnan()
    with pytest.raises(TensorMTError, match=r"have shape \[5, 3\], the similarities have \[3, 5\]"):
        analysis.king_and_correlation(one, human.T)
