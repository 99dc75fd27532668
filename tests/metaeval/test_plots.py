"""Plots of a meta-evaluation are PNG files."""

from dataclasses import replace

import torch

from tensormt.metaeval import plots
from tensormt.metaeval.config import Config
from tensormt.metaeval.grouping import correlate_systems
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.scores import Scores, system_means
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
    assert plots.score_label(scores) == "ter"
    assert plots.score_label(replace(scores, negated=True)) == "−ter"


def boxes(axes):
    """The boxes of the names beside points, and the frame."""
    axes.figure.draw_without_rendering()
    return [text.get_window_extent() for text in axes.texts], axes.get_window_extent()


def test_names_of_systems_do_not_collide_or_leave_the_frame():
    own = judged("zh-en", 14, 3)
    close = torch.tensor([[0.001 * k, 0.001 * k] for k in range(14)]).double()
    names = [f"a-system-with-a-name-{k}" for k in range(14)]
    crowded = replace(own, human=close.repeat(1, 7), systems=names)
    scores = Scores("m", "m", close.repeat(1, 7) * 2)
    for test, metric in ((own, own.metrics[0]), (crowded, scores)):
        figure = plots._scatter(plots.new_figure(6, 9), test, metric)
        found, frame = boxes(figure.axes[0])
        assert len(found) == 14
        for k, one in enumerate(found):
            assert one.x0 >= frame.x0 - 1
            assert one.x1 <= frame.x1 + 1
            assert one.y0 >= frame.y0 - 1
            assert one.y1 <= frame.y1 + 1
            for other in found[:k]:
                sides = [(b.x0 + 1, b.y0 + 1, b.x1 - 1, b.y1 - 1) for b in (one, other)]
                assert plots._overlap(*sides) == 0
        r = float(correlate_systems(system_means(test.human), metric.systems()))
        assert figure.axes[0].get_title() == f"systems: r = {r:.3f}, n = 14"
        assert "n = 196" in figure.axes[1].get_title()


def test_numbers_of_the_heatmap_stand_out():
    figure = plots._matrix(plots.new_figure(6, 5), judged("zh-en", 5, 1))
    axes = figure.axes[0]
    assert "zh-en: Pearson's r of segment scores" in axes.get_title()
    assert len(axes.texts) == 16
    for text in axes.texts:
        value = float(text.get_text())
        assert text.get_color() == ("white" if abs(value) > 0.6 else "black")


def test_a_ranking_has_all_names_and_values():
    sets = [judged("zh-en", 5, 1)]
    table = make_table(sets, "wmt24", Config(permutations=60, spa_permutations=50))
    axes = plots._ranking(plots.new_figure(7, 3), table.tasks[0], table).axes[0]
    values = sorted(table.tasks[0].values.tolist(), reverse=True)
    assert [float(text.get_text()) for text in axes.texts] == [round(v, 3) for v in values]
    assert next(text.get_text().split()[1] for text in axes.get_yticklabels()) == "good"
