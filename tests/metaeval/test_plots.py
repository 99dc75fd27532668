"""Plots of a meta-evaluation are PNG files."""

from dataclasses import replace

import torch

from tensormt.metaeval import plots
from tensormt.metaeval.config import Config
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.scores import Scores
from tensormt.metaeval.wmt_tables import make_table


def judged(name, systems, seed):
    random = torch.Generator().manual_seed(seed)
    human = torch.randn(systems, 14, generator=random, dtype=torch.float64).mul(2).round()
    metrics = [
        Scores(key, key, human + noise * torch.randn(human.shape, generator=random).double())
        for key, noise in (("good", 0.3), ("bad", 4.0), ("fair", 1.5))
    ]
    documents = torch.arange(14) // 2, 7
    return JudgedSet(name, "mqm", human, metrics, documents, [f"s{k}" for k in range(systems)])


def test_plots_are_files(tmp_path):
    sets = [judged("zh-en", 5, 1)]
    table = make_table(sets, "wmt24", Config(permutations=60, spa_permutations=50))
    files = plots.save_plots(sets, table, tmp_path / "figures")
    assert [path.name for path in files] == [
        "zh-en-good-mqm.png",
        "zh-en-bad-mqm.png",
        "zh-en-fair-mqm.png",
        "zh-en-metrics.png",
        "average.png",
        "zh-en_system_SPA.png",
        "zh-en_segment_acc_eq.png",
    ]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in files)


def test_negated_scores_have_a_minus_sign():
    scores = Scores("ter", "TER", torch.zeros(2, 2))
    assert plots._label(scores) == "ter"
    assert plots._label(replace(scores, negated=True)) == "−ter"
