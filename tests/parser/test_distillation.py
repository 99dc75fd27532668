"""Soft targets of teachers, and a student that is trained on them."""

import math
import random
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_trees
from parser.samples import SMALL_RECIPE, fit_constituency, write_treebank

from tensormt.errors import TensorMTError
from tensormt.parser import fitting
from tensormt.parser.distillation import consistent, soft_targets
from tensormt.parser.training import ConstituencyTrainer, span_loss
from tensormt.parser.treebank import Example, read_treebank

SENTENCES = [["the", "dog", "saw", "town", "."], ["I", "ran", "."], ["town"]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = write_treebank(tmp_path_factory.mktemp("distillation"))
    for seed, out in ((1, "first"), (2, "second")):
        fit_constituency(folder, replace(SMALL_RECIPE, epochs=3, seed=seed), out)
    return folder


@pytest.fixture(scope="module")
def teachers(files):
    from tensormt.parser import Parser

    return [Parser.load(files / name).network for name in ("first", "second")]


def probabilities(network, words):
    """Spans and labels by listing all binary trees, in plain Python."""
    with torch.no_grad():
        lexicon = network.lexicon(words)
        rows, lengths = torch.arange(len(words))[None], torch.tensor([len(words)])
        scores, left, right = network.heads(network.posts(lexicon, rows, lengths))
        labels = network.model.label_attn(left, right)
    labels = labels[0] if labels.dim() == 4 else labels
    names = network.parser.transform.CHART.vocab.itos
    trees = all_trees(0, len(words))
    masses = [math.exp(sum(float(scores[0, i, j]) for i, j in tree)) for tree in trees]
    spans = {}
    for tree, mass in zip(trees, masses, strict=True):
        for span in tree:
            spans[span] = spans.get(span, 0.0) + mass / sum(masses)
    found = {}
    for i, j in spans:
        narrow = set(network.settings["narrow"])
        row = [
            float(x) if (name in narrow) == (j == i + 1) else -math.inf
            for name, x in zip(names, labels[:, i, j], strict=True)
        ]
        total = sum(map(math.exp, row))
        found |= {(i, j, n): math.exp(x) / total for n, x in zip(names, row, strict=True)}
    return spans, found


@pytest.mark.parametrize("threshold", [1e-9, 0.2])
def test_targets_are_the_average_of_all_trees(teachers, threshold):
    targets = soft_targets(teachers, (0.55, 0.45), SENTENCES, threshold=threshold, tokens=6)
    assert [target.words for target in targets] == SENTENCES
    for words, target in zip(SENTENCES, targets, strict=True):
        first, second = (probabilities(network, words) for network in teachers)
        spans, labels = (
            {key: 0.55 * first[k][key] + 0.45 * second[k][key] for key in first[k]} for k in (0, 1)
        )
        found = {}
        for (i, j, name), weight in zip(target.spans, target.weights, strict=True):
            found.setdefault((i, j), {})[name] = weight
        for (i, j), row in found.items():
            assert sum(row.values()) == pytest.approx(
                spans[i, j], abs=0.04 if threshold < 0.1 else 0.3
            )
            own = {k[2]: q for k, q in labels.items() if k[:2] == (i, j)}
            own = {k: q for k, q in own.items() if q > threshold or q == max(own.values())}
            assert {k: w / sum(row.values()) for k, w in row.items()} == pytest.approx(
                {k: q / sum(own.values()) for k, q in own.items()}, abs=1e-4
            )
        assert {key for key, p in spans.items() if p > max(threshold, 0.3)} <= found.keys()
        assert sum(target.weights) == pytest.approx(2 * len(words) - 1, rel=1e-5)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0.0, 0.5))
def test_targets_belong_to_a_distribution_over_trees(length, seed, threshold):
    """So log Z − Σ p s, the loss of a student, is never negative, whatever its scores."""
    rng = random.Random(seed)
    trees = all_trees(0, length)
    masses = [rng.random() ** 4 for _ in trees]
    spans = torch.zeros(1, length + 1, length + 1, dtype=torch.float64)
    for tree, mass in zip(trees, masses, strict=True):
        for i, j in tree:
            spans[0, i, j] += mass / sum(masses)
    spans *= spans > threshold
    found = consistent(1.1 * spans, torch.tensor([length]))[0]
    for _ in range(20):
        scores = [[30 * rng.gauss(0, 1) for _ in range(length + 1)] for _ in range(length + 1)]
        totals = torch.tensor([sum(scores[i][j] for i, j in tree) for tree in trees])
        expected = sum(
            float(found[i, j]) * scores[i][j]
            for i in range(length)
            for j in range(i + 1, length + 1)
        )
        assert float(totals.logsumexp(0)) - expected > -1e-3


def test_certain_targets_have_the_loss_of_gold_trees(files):
    """A span with its label in two halves counts as the whole."""
    own, corpus = fitting.constituency_settings(files / "train.ptb", {}, SMALL_RECIPE, False)
    trainer = ConstituencyTrainer(own, SMALL_RECIPE, files, {}, torch.device("cpu"))
    model = trainer.model.eval()
    _, examples = read_treebank(files / "train.ptb")
    halves = [Example(e.words, e.spans * 2, [0.5] * 2 * len(e.spans)) for e in examples]
    soft = fitting.SpanCorpus(halves, own)
    for members in ([0], [1, 4, 7]):
        gold = span_loss(model, corpus.batch(members), 0.0)
        torch.testing.assert_close(span_loss(model, soft.batch(members), 0.0), gold)


def test_a_student_learns_from_targets(files, teachers):
    targets = soft_targets(teachers, (0.5, 0.5), SENTENCES)
    row = " ".join(map(str, range(12)))
    (files / "vectors.txt").write_text(f"fox {row}\ndog {row}\n")
    parser = fit_constituency(
        files, replace(SMALL_RECIPE, epochs=2), "student",
        targets=targets, repeat=2, tune=True, embed=files / "vectors.txt",
    )  # fmt: skip
    own = parser.network.settings
    assert own["vectors"] == 0
    assert own["known"] == len(own["words"])
    assert "fox" in own["words"]
    _, corpus = fitting.constituency_settings(
        files / "train.ptb", {}, SMALL_RECIPE, False, targets, 2
    )
    assert len(corpus.types) == 2 * 26 + len(SENTENCES)


def test_labels_must_be_known(files, teachers):
    with pytest.raises(TensorMTError, match=r"labels that no tree of .* has: \['ODD'\]"):
        fit_constituency(files, out="odd", targets=[Example(["a"], [(0, 1, "ODD")])])
    other = files / "other"
    other.mkdir()
    (other / "train.ptb").write_text("(TOP (XP (XX a) (XX b)))\n")
    (other / "dev.ptb").write_text("(TOP (XP (XX a) (XX b)))\n")
    odd = fit_constituency(other, replace(SMALL_RECIPE, epochs=1)).network
    with pytest.raises(TensorMTError, match="the teachers have different labels"):
        soft_targets([teachers[0], odd], (0.5, 0.5), SENTENCES)
