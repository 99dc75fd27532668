"""treebank, corpus, training, fitting, vectors: a small parser from a small treebank."""

from itertools import pairwise

import pytest
import torch
from fake_cuda import run_with_autograd
from parser.samples import SMALL_RECIPE, write_treebank

from tensormt.parser import fitting
from tensormt.parser.training import ConstituencyTrainer, cosine_rate, span_loss


@pytest.fixture
def files(tmp_path):
    return write_treebank(tmp_path)


def test_loss_is_supars(files):
    """Labels at gold spans only, fused LSTMs: the number of supar's own loss."""
    settings, corpus = fitting.constituency_settings(files / "train.ptb", {}, SMALL_RECIPE, False)
    trainer = ConstituencyTrainer(settings, SMALL_RECIPE, files, {}, torch.device("cpu"))
    model = trainer.model.eval()
    for weight in trainer.weights:
        torch.nn.init.normal_(weight, std=0.3)
    members = [0, 3, 7, 12]
    batch = corpus.batch(members)
    b, i, j, gold = batch.spans.unbind(-1)
    types = torch.nn.utils.rnn.pad_sequence([corpus.types[k] for k in members], True, 0)
    spans, labels = model(batch.words, [corpus.chars[types]])
    size = spans.shape[1]
    charts = torch.full((len(members), size, size), -1)
    charts[b, i, j] = gold
    inside = (batch.lengths - 2)[:, None] >= torch.arange(size)
    mask = (inside[:, None] & inside[:, :, None]).triu(1)
    expected, _ = model.loss(spans, labels, charts, mask, False)
    ours = span_loss(model, batch, 0.0)
    torch.testing.assert_close(ours, expected, rtol=0.02, atol=0.02)  # bfloat16 on our side


def test_rate_rises_and_falls_to_zero():
    rates = [cosine_rate(step, 100, SMALL_RECIPE) for step in range(101)]
    assert rates[0] < rates[1] == max(rates)
    assert rates[100] == pytest.approx(0.0)
    assert all(a >= b for a, b in pairwise(rates[1:]))


@pytest.mark.heavy(needs="minutes")
def test_an_epoch_on_a_device():
    """Both kinds of parsers train on the stand-in for a device as they do on a CPU."""
    run_with_autograd("""
import tempfile
from dataclasses import replace
from pathlib import Path
import torch
from fake_cuda import DeviceTensor, FakeCuda
from parser.samples import SMALL_DEPENDENCY, SMALL_RECIPE, write_treebank, write_treebanks
from tensormt.parser import dependency_fitting, fitting, training
from tensormt.parser.dependency_treebank import DependencyCorpus, dependency_settings, read_language

training.has_bfloat16 = lambda: True  # as on a device
files = Path(tempfile.mkdtemp())
write_treebank(files)
write_treebanks(files)
recipe = replace(SMALL_RECIPE, recurrent=0.0, epochs=1)
settings, corpus = fitting.constituency_settings(files / "train.ptb", {}, recipe, False)

def constituency(device):
    return training.ConstituencyTrainer(settings, recipe, files, {}, device), corpus

sentences = read_language(files / "de.conllu", "de")
arcs = replace(SMALL_DEPENDENCY, recurrent=0.0, epochs=1)
names = dependency_settings(sentences, arcs)

def dependency(device):
    trainer = dependency_fitting.DependencyTrainer(names, arcs, files, device)
    return trainer, DependencyCorpus(sentences, names, 0.0)

for make in (constituency, dependency):
    losses = []
    for device in ("cpu", "cuda"):
        with FakeCuda(strict=False):
            trainer, corpus = make(torch.device(device))
            for module in trainer.model.modules():  # random numbers differ between devices
                for name in ("p", "dropout"):
                    if isinstance(getattr(module, name, None), float):
                        setattr(module, name, 0.0)
            losses.append([trainer.train_epoch(corpus, lambda _: None) for _ in range(2)])
            assert all(isinstance(w, DeviceTensor) == (device == "cuda") for w in trainer.weights)
    print(losses)
    assert losses[0][0] > losses[0][1]
    for here, there in zip(*losses):
        assert abs(here - there) < 0.02 * here, losses
""")
