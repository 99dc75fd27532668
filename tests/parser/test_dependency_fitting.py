"""Training of a dependency parser: supar's loss, two languages, resumed runs."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from parser.samples import (
    SMALL_DEPENDENCY,
    fit_dependency,
    write_treebanks,
)

from tensormt.parser import Parser
from tensormt.parser import dependency_fitting as fitting
from tensormt.parser.dependency_treebank import DependencyCorpus, dependency_settings, read_language


@pytest.fixture
def files(tmp_path):
    return write_treebanks(tmp_path)


def test_loss_is_supars(files):
    """Relations at gold arcs only, fused LSTMs: the number of supar's own loss."""
    sentences = read_language(files / "de.conllu", "de")
    settings = dependency_settings(sentences, SMALL_DEPENDENCY)
    trainer = fitting.DependencyTrainer(settings, SMALL_DEPENDENCY, files, torch.device("cpu"))
    model = trainer.model.eval()
    for weight in trainer.weights:
        torch.nn.init.normal_(weight, std=0.3)
    corpus = DependencyCorpus(sentences, settings, 0.0)
    batch = corpus.batch([0, 3, 5])
    scores = model(batch.words, [batch.chars[batch.types]])
    expected = model.loss(*scores, batch.heads, batch.relations, batch.heads.ge(0))
    torch.testing.assert_close(
        fitting.dependency_loss(model, batch, 0.0), expected, rtol=0.02, atol=0.02
    )


def test_two_languages_are_learnt(files):
    heard = []
    parser = fit_dependency(files, replace(SMALL_DEPENDENCY, epochs=60), report=heard.append)
    assert heard[-1]["uas"] > 90
    assert heard[-1]["las"] > 90
    assert {"uas_de", "las_fr"} < set(heard[-1])
    trees = parser("fr").parse(["voit le chien ."])
    assert trees.to_heads()[1] == [[0, 3, 1, 1]]
    assert trees.to_relations() == [["root", "det", "obj", "punct"]]
    loaded = Parser.load(files / "out", lang="de").parse(["die Katze sah ."])
    assert loaded.to_heads()[1] == [[2, 3, 0, 3]]
    settings = json.loads((files / "out" / "settings.json").read_text())
    assert settings["scripts"] == {"de": ["LATIN"], "fr": ["LATIN"]}


def test_a_killed_run_goes_on_to_the_same_weights(files):
    class Killed(Exception):
        pass

    def kill(figures):
        if figures["epoch"] == 2:
            raise Killed

    whole, resumed = [], []
    fit_dependency(files, out="whole", report=whole.append)
    with pytest.raises(Killed):
        fit_dependency(files, out="cut", report=kill)
    fit_dependency(files, out="cut", resume=True, report=resumed.append)
    assert resumed == whole[2:]
    first, second = (torch.load(files / name / "checkpoint.pt") for name in ("whole", "cut"))
    for name in ("weights", "averaged"):
        for a, b in zip(first[name], second[name], strict=True):
            assert torch.equal(a, b)


def test_rate_is_constant_and_falls_at_the_end(files):
    settings = dependency_settings(read_language(files / "de.conllu", "de"), SMALL_DEPENDENCY)
    trainer = fitting.DependencyTrainer(settings, SMALL_DEPENDENCY, files, torch.device("cpu"))
    rates = []
    for trainer.epoch in range(4):
        for done in range(10):
            rates.append(trainer.rate(done, 10))
            trainer.step += 1
    assert rates[0] == pytest.approx(SMALL_DEPENDENCY.rate / 2)
    assert rates[1:21] == pytest.approx([SMALL_DEPENDENCY.rate] * 20)
    assert all(a > b for a, b in pairwise(rates[20:]))
    assert rates[-1] < 0.02 * SMALL_DEPENDENCY.rate
