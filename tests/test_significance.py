"""Significance: p-values equal to sacrebleu's, matrix products equal to loops, Holm by example."""

import os
import random
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
import torch
from sacrebleu.significance import PairedTest

import tensormt as tm
from tensormt.significance import compare, holm

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def lines(name):
    return (EXAMPLES / name).read_text().splitlines()


def noisy(text, seed, share):
    """A worse system: some words dropped."""
    rng = random.Random(seed)
    return [" ".join(w for w in line.split() if rng.random() > share) for line in text]


@pytest.fixture(scope="module")
def systems():
    base = lines("sysA.txt") * 4
    return {"base": noisy(base, 1, 0.1), "b": noisy(base, 2, 0.1), "c": noisy(base, 3, 0.2)}


def statistics(systems, metric):
    refs = [tm.TokenBatch.from_text(lines(f"ref{k}.txt") * 4) for k in (1, 2)]
    return {
        name: {"bleu": metric.statistics(tm.TokenBatch.from_text(text), refs)}
        for name, text in systems.items()
    }


@pytest.mark.parametrize(("test", "samples"), [("bs", 1000), ("ar", 1000)])
def test_p_values_equal_sacrebleu(systems, test, samples, monkeypatch):
    """Same generator, seed, draws: the same p-values, means and intervals."""
    monkeypatch.setitem(os.environ, "SACREBLEU_SEED", "12345")
    metric = tm.BLEU()
    found = compare(statistics(systems, metric), {"bleu": metric}, test, samples=samples)
    refs = [lines("ref1.txt") * 4, lines("ref2.txt") * 4]
    peer = PairedTest(
        list(systems.items()),
        {"BLEU": sacrebleu.BLEU(references=refs)},
        None,
        test_type=test,
        n_samples=samples,
    )
    _, scores = peer()
    for result, theirs in zip(found, scores["BLEU"][1:], strict=True):
        assert result.score == pytest.approx(theirs.score, abs=1e-9)
        assert result.p == pytest.approx(theirs.p_value, abs=1e-12)
        if test == "bs":
            assert result.mean == pytest.approx(theirs.mean, abs=1e-4)
            assert result.width == pytest.approx(theirs.ci, abs=1e-4)


def test_matrix_product_equals_a_loop(systems):
    metric = tm.BLEU()
    tables = statistics(systems, metric)
    found = compare(tables, {"bleu": metric}, "bs", samples=70, seed=5)[0]
    rng = np.random.default_rng(5)
    a, b = tables["base"]["bleu"], tables["b"]["bleu"]
    draws = rng.choice(len(a), size=(70, len(a)), replace=True)
    gaps, scores = [], []
    for row in draws:
        ours = metric.score(b[torch.from_numpy(row)].sum(0), segment=False).item()
        theirs = metric.score(a[torch.from_numpy(row)].sum(0), segment=False).item()
        gaps.append(abs(ours - theirs))
        scores.append(ours)
    real = abs(found.score - found.baseline_score)
    mean = sum(gaps) / len(gaps)
    p = (sum(gap - mean > real for gap in gaps) + 1) / 71
    assert found.p == pytest.approx(p)
    assert found.mean == pytest.approx(sum(scores) / 70)
    assert found.low == pytest.approx(sorted(scores)[1])
    assert found.high == pytest.approx(sorted(scores)[68])


def test_all_pairs_and_correction(systems):
    metric = tm.BLEU()
    found = compare(statistics(systems, metric), {"bleu": metric}, all_pairs=True, samples=99)
    assert [(r.baseline, r.system) for r in found] == [("base", "b"), ("base", "c"), ("b", "c")]
    assert [r.p_holm for r in found] == holm([r.p for r in found])


def test_equal_systems_do_not_differ(systems):
    metric = tm.BLEU()
    tables = statistics({"a": systems["b"], "b": systems["b"]}, metric)
    assert compare(tables, {"bleu": metric}, "ar", samples=50)[0].p == 1


def test_holm():
    """The worked example of four p-values: 0.01 · 4, 0.013 · 3, 0.014 · 2, 0.19."""
    assert holm([0.014, 0.01, 0.19, 0.013]) == pytest.approx([0.04, 0.04, 0.19, 0.04])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_bad_input():
    metric = tm.BLEU()
    with pytest.raises(tm.TensorMTError, match="one system only"):
        compare({"a": {}}, {"bleu": metric})
    with pytest.raises(tm.TensorMTError, match="no segments to compare"):
        compare({"a": {}, "b": {}}, {"bleu": metric})
    with pytest.raises(tm.TensorMTError, match="seed -1"):
        compare({"a": {}, "b": {}}, {"bleu": metric}, seed=-1)
    with pytest.raises(tm.TensorMTError, match="no test named"):
        compare({"a": {}, "b": {}}, {}, "t")
