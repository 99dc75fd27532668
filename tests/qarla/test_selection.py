"""The best set of metrics against a search through all, the greedy one against its own steps."""

import pytest
import torch
from qarla.similarity_samples import OPTIONS, members, oracle_king, random_similarities, real

from tensormt import qarla
from tensormt.errors import TensorMTError

CHOICES = [((), ()), ((2,), ()), ((), (0, 3)), ((1,), (2,))]


def oracle_best(kings, count, include=(), exclude=()):
    allowed = [
        s
        for s in range(1, 1 << count)
        if set(include) <= set(members(s, count)) and not set(exclude) & set(members(s, count))
    ]
    return min(allowed, key=lambda s: (-kings[s], len(members(s, count)), s))


def oracle_greedy(kings, count, include=(), exclude=()):
    """The steepest rise, the first of equal ones, as long as KING rises."""
    chosen = sum(1 << k for k in include)
    reached = kings[chosen] if chosen else -1.0
    while True:
        left = [k for k in range(count) if not chosen >> k & 1 and k not in exclude]
        step = max(left, key=lambda k: kings[chosen | 1 << k], default=None)
        if step is None or kings[chosen | 1 << step] <= reached:
            return chosen
        chosen |= 1 << step
        reached = kings[chosen]


@pytest.mark.parametrize(("include", "exclude"), CHOICES)
@pytest.mark.parametrize(("triples", "leave_one_out"), OPTIONS)
def test_both_searches_equal_plain_ones(triples, leave_one_out, include, exclude):
    """On ragged beds, with every KING from the oracle."""
    options = {"triples": triples, "include": include, "exclude": exclude}
    for seed in range(3):
        am, mm, _, model_mask, peer_mask = random_similarities(
            seed, True, metrics=4, peers=3, lift=2
        )
        masks = {"model_mask": model_mask, "peer_mask": peer_mask}
        lists = am.tolist(), mm.tolist(), real(model_mask), real(peer_mask)
        kings = [oracle_king(*lists, members(s, 4), triples, leave_one_out) for s in range(16)]
        for search, oracle in ((qarla.best_set, oracle_best), (qarla.greedy_set, oracle_greedy)):
            found = search(am, mm, leave_one_out, **options, **masks)
            expected = oracle(kings, 4, include, exclude)
            assert found.metrics == tuple(members(expected, 4))
            assert found.king == pytest.approx(kings[expected], abs=1e-15)


@pytest.mark.parametrize(("include", "exclude"), CHOICES)
def test_the_best_of_tied_kings(include, exclude):
    """Ties everywhere, and all of them: the smaller set, then the one whose metrics come first."""
    for seed in range(20):
        levels = torch.randint(seed % 4 + 1, (32,), generator=torch.Generator().manual_seed(seed))
        kings = levels.double() / 4
        found = qarla.best_of(kings, include=include, exclude=exclude)
        index = oracle_best(kings.tolist(), 5, include, exclude)
        assert found == qarla.MetricSet(tuple(members(index, 5)), kings[index].item())
    for wrong in (kings[:31], kings[:1], kings.index_fill(0, torch.tensor([3]), torch.nan)):
        with pytest.raises(TensorMTError, match=f"kings has {len(wrong)} values: expected 2"):
            qarla.best_of(wrong)


def test_greedy_takes_more_metrics_than_can_be_enumerated():
    am, mm, *_ = random_similarities(1, metrics=20, lift=2)
    found = qarla.greedy_set(am, mm, include=[3], exclude=[0])
    assert 3 in found.metrics
    assert 0 not in found.metrics
    chosen = list(found.metrics)
    assert found.king == qarla.king(am[..., chosen], mm[..., chosen]).item()
    with pytest.raises(TensorMTError, match=r"20 metrics have 2\^20 sets.*greedy_set"):
        qarla.king_sets(am, mm)


def test_wrong_choices_of_metrics():
    am, mm, *_ = random_similarities(0)
    with pytest.raises(TensorMTError, match="metric 3 does not exist: there are 3"):
        qarla.best_set(am, mm, include=[3])
    with pytest.raises(TensorMTError, match="metric 1 is both included and excluded"):
        qarla.best_set(am, mm, include=[1], exclude=[1])
    with pytest.raises(TensorMTError, match="every metric is excluded"):
        qarla.greedy_set(am, mm, exclude=[0, 1, 2])
