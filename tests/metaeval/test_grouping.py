"""Groupings, pooled pairs, least gaps and bootstrap weights, against plain loops."""

import itertools

import numpy as np
import pytest
import scipy.stats
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from metaeval.score_samples import tied

from tensormt import metaeval
from tensormt.errors import TensorMTError

NAN = float("nan")


FORMULAS = {
    "tau_a": lambda C, D, H, M, B: (C - D) / (C + D + H + M + B),
    "tau_wmt10": lambda C, D, H, M, B: (C - D - M) / (C + D + M),
    "tau_wmt13": lambda C, D, H, M, B: (C - D) / (C + D),
    "tau_wmt14": lambda C, D, H, M, B: (C - D) / (C + D + M),
    "accuracy": lambda C, D, H, M, B: (C + B) / (C + D + H + M + B),
}


def kind(h, m):
    if h == 0:
        return "B" if m == 0 else "H"
    return "M" if m == 0 else "C" if h * m > 0 else "D"


def pooled(human, metric, least_gap=0.0, times=None):
    """Pairs of systems on the same segment, all segments together."""
    counts = dict.fromkeys("CDHMB", 0)
    for n in range(human.shape[1]):
        for i, j in itertools.combinations(range(len(human)), 2):
            h, m = (human[i, n] - human[j, n]).item(), (metric[i, n] - metric[j, n]).item()
            if abs(h) >= least_gap:
                counts[kind(h, m)] += 1 if times is None else times[n]
    return counts


@pytest.mark.parametrize("name", FORMULAS)
def test_pooled_pairs_as_in_wmt(name):
    human, metric = tied(1, (5, 9)), tied(2, (5, 9), 4)
    found = metaeval.correlate(human, metric, name, "pooled").item()
    assert found == pytest.approx(FORMULAS[name](**pooled(human, metric)), abs=1e-14)
    found = metaeval.correlate(human, metric, name, "pooled", least_gap=0.25).item()
    assert found == pytest.approx(FORMULAS[name](**pooled(human, metric, 0.25)), abs=1e-14)
    times = torch.from_numpy(np.random.default_rng(3).integers(0, 4, (2, 9)))
    drawn = metaeval.correlate(human, metric, name, "pooled", segments=times)
    for r in range(2):
        counts = pooled(human, metric, times=times[r].tolist())
        assert drawn[r].item() == pytest.approx(FORMULAS[name](**counts), abs=1e-14)


@pytest.mark.parametrize("name", ["pearson", "spearman", "tau_b", "tau_c"])
@pytest.mark.parametrize("grouping", ["system", "none"])
def test_a_weight_is_as_good_as_copies(name, grouping):
    """Where copies do no harm: scipy on the table with its segments repeated."""
    human, metric = tied(1, (3, 8)), tied(2, (3, 8), 9)
    times = torch.tensor([[0, 2, 1, 3, 0, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1, 1]])
    found = metaeval.correlate(human, metric, name, grouping, segments=times)
    tests = {
        "pearson": scipy.stats.pearsonr,
        "spearman": scipy.stats.spearmanr,
        "tau_b": scipy.stats.kendalltau,
        "tau_c": lambda x, y: scipy.stats.kendalltau(x, y, variant="c"),
    }
    for r in range(2):
        h, m = (x.repeat_interleave(times[r], dim=1) for x in (human, metric))
        rows = zip(h, m, strict=True) if grouping == "system" else [(h.flatten(), m.flatten())]
        values = [tests[name](x, y)[0] for x, y in rows]
        assert found[r].item() == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("name", ["accuracy", "accuracy_ties"])
def test_a_segment_drawn_twice_is_not_compared_with_itself(name):
    """Accuracy over pairs of different segments, each pair as often as the product of both."""
    human, metric = tied(1, (1, 8), 40), tied(2, (1, 8), 40)
    times = [0, 2, 1, 3, 0, 1, 1, 0]
    best = 0.0
    gaps = [abs(a - b) for a, b in itertools.combinations(metric[0].tolist(), 2)]
    for epsilon in [0.0, *gaps] if name == "accuracy_ties" else [0.0]:
        right = total = 0
        for i, j in itertools.combinations(range(8), 2):
            h, m = (x[0, i].item() - x[0, j].item() for x in (human, metric))
            tie = abs(m) <= epsilon + 1e-9
            right += times[i] * times[j] * ((h == 0) if tie else h * m > 0)
            total += times[i] * times[j]
        best = max(best, right / total)
    found = metaeval.correlate(human, metric, name, "none", segments=torch.tensor([times]))
    assert found.item() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", metaeval.STATISTICS)
@pytest.mark.parametrize("grouping", ["segment", "system", "none"])
def test_once_each_changes_nothing(name, grouping):
    human, metric = tied(1, (4, 7)), tied(2, (4, 7), 9)
    human[1, 2] = float("nan")
    whole = metaeval.correlate(human, metric, name, grouping)
    once = {
        "systems": torch.ones(2, 4, dtype=torch.int64),
        "segments": torch.ones(2, 7, dtype=torch.int64),
    }
    for key in ("systems", "segments"):
        drawn = metaeval.correlate(human, metric, name, grouping, **{key: once[key]})
        torch.testing.assert_close(drawn, whole.expand(2), rtol=0, atol=1e-12)


def test_the_bootstrap_of_accuracy_is_not_biased_upwards():
    """Copies of a segment would be right ties: a bias of about (1 - acc) / N."""
    human, metric = tied(1, (1, 12), 10**6), tied(2, (1, 12), 10**6)
    times = torch.distributions.Multinomial(12, torch.ones(12)).sample((4000,)).to(torch.int64)
    drawn = metaeval.correlate(human, metric, "accuracy", "none", segments=times)
    whole = metaeval.correlate(human, metric, "accuracy", "none").item()
    assert drawn.mean().item() == pytest.approx(whole, abs=0.015)


def test_last_bits_break_no_ties():
    scores = torch.tensor([[0.1, 0.2], [0.3, 0.0]], dtype=torch.float64)
    assert len(set(scores.mean(dim=1).tolist())) == 2
    means = metaeval.document_means(scores, torch.tensor([0, 0]), 1)
    assert means[0, 0] == means[1, 0]
    assert metaeval.correlate_systems(scores.mean(1), torch.ones(2), "accuracy") == 1


def test_what_does_not_go_together():
    human = tied(1, (3, 4))
    with pytest.raises(TensorMTError, match="'pooled' needs a statistic of pairs, pearson is not"):
        metaeval.correlate(human, human, "pearson", "pooled")
    with pytest.raises(TensorMTError, match="a least gap needs a statistic of pair counts"):
        metaeval.correlate(human, human, "spearman", least_gap=1.0)


def test_groupings_are_means_of_loops():
    human, metric = tied(1, (5, 8)), tied(2, (5, 8))
    human[0, 1] = human[4] = NAN
    metric[2, 2] = NAN
    real = ~(human.isnan() | metric.isnan())

    def r(rows):
        values = []
        for h, m, kept in rows:
            if kept.sum() > 1 and len(set(h[kept].tolist())) > 1 and len(set(m[kept].tolist())) > 1:
                values.append(scipy.stats.pearsonr(h[kept], m[kept])[0])
        return sum(values) / len(values)

    by_system = r(zip(human, metric, real, strict=True))
    by_segment = r(zip(human.T, metric.T, real.T, strict=True))
    together = r([(human.flatten(), metric.flatten(), real.flatten())])
    for grouping, expected in (
        ("system", by_system),
        ("segment", by_segment),
        ("none", together),
    ):
        ours = metaeval.correlate(human, metric, "pearson", grouping).item()
        assert ours == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", metaeval.STATISTICS)
@pytest.mark.parametrize("grouping", ["segment", "system", "none"])
def test_a_batch_of_tables_equals_a_loop(name, grouping):
    human, metric = tied(1, (3, 4, 6)), tied(2, (3, 4, 6))
    whole = metaeval.correlate(human, metric, name, grouping)
    for k in range(3):
        one = metaeval.correlate(human[k], metric[k], name, grouping)
        torch.testing.assert_close(whole[k], one, rtol=0, atol=1e-13, equal_nan=True)


@pytest.mark.parametrize("name", metaeval.STATISTICS)
def test_everything_stays_on_the_device_without_waiting(name):
    human, metric = tied(1, (4, 6)), tied(2, (4, 6))
    with FakeCuda() as cuda:
        there = metaeval.correlate(human.to("cuda"), metric.to("cuda"), name, "segment")
    assert isinstance(there, DeviceTensor)
    assert torch.equal(to_host(there), metaeval.correlate(human, metric, name, "segment"))
    assert cuda.syncs == {}


def test_documents_and_systems():
    scores = torch.tensor([[1.0, 3.0, 5.0], [2.0, NAN, NAN]], dtype=torch.float64)
    means = metaeval.document_means(scores, torch.tensor([0, 0, 1]), 2)
    assert means.tolist()[0] == [2.0, 5.0]
    assert means[1, 0] == 2.0
    assert means[1, 1].isnan()
    x, y = tied(1, (9,), 100), tied(2, (9,), 100)
    expected = scipy.stats.pearsonr(x, y)[0]
    assert metaeval.correlate_systems(x, y).item() == pytest.approx(expected, abs=1e-12)


def test_wrong_names_and_shapes():
    human = tied(1, (3, 4))
    with pytest.raises(TensorMTError, match="statistic is 'r', expected pearson"):
        metaeval.correlate(human, human, "r")
    with pytest.raises(TensorMTError, match="grouping is 'all', expected"):
        metaeval.correlate(human, human, "tau_b", "all")
    with pytest.raises(TensorMTError, match=r"human scores are \[3, 4\], metric scores \[4, 3\]"):
        metaeval.correlate(human, human.T)


def test_documents_are_checked_before_the_device_reads_them():
    with FakeCuda():
        scores = torch.ones(3, device="cuda")
        with pytest.raises(TensorMTError, match="from 0 to 1"):
            metaeval.document_means(scores, torch.tensor([0, 1, 2], device="cuda"), 2)
