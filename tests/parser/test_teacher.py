"""Training of a tiny transformer with CRF heads."""

from dataclasses import replace

import pytest
import torch
from parser.samples import SMALL_TEACHER, write_encoder, write_treebank

from tensormt.errors import TensorMTError
from tensormt.parser import Parser
from tensormt.parser.fitting import evaluate_file
from tensormt.parser.teacher import fit_teacher, load_teacher


@pytest.fixture
def files(tmp_path):
    write_encoder(tmp_path / "encoder")
    return write_treebank(tmp_path)


def fit(files, out="teacher", recipe=SMALL_TEACHER, **options):
    paths = files / "train.ptb", files / "dev.ptb", files / out, files / "encoder"
    return fit_teacher(*paths, recipe, **options)


def test_a_small_treebank_is_learnt(files):
    heard = []
    network = fit(files, recipe=replace(SMALL_TEACHER, epochs=10), report=heard.append)
    assert heard[-1]["f1"] > 90
    assert heard[-1]["tags"] > 90
    scores = evaluate_file(Parser(network, "teacher"), files / "dev.ptb")
    assert scores["f1"] == pytest.approx(max(row["f1"] for row in heard), abs=3)
    again = load_teacher(files / "teacher", files / "encoder")
    words = [["the", "dog", "ran", "."]]
    trees = [Parser(n, "teacher").parse_sentences(words).to_brackets() for n in (network, again)]
    assert trees[0] == trees[1]
    with pytest.raises(TensorMTError, match="expected format"):
        Parser.load(files / "teacher").parse(["the dog"])


def test_the_transformer_learns_slowly_and_a_killed_run_goes_on(files):
    class Killed(Exception):
        pass

    def kill(figures):
        raise Killed

    whole, resumed = [], []
    fit(files, "whole", report=whole.append)
    with pytest.raises(Killed):
        fit(files, "cut", report=kill)
    fit(files, "cut", resume=True, report=resumed.append)
    assert resumed == whole[1:]
    first, second = (torch.load(files / name / "checkpoint.pt") for name in ("whole", "cut"))
    slow, fast = first["optimizer"]["param_groups"]
    assert slow["lr"] == pytest.approx(fast["lr"] * 0.1)
    assert all(map(torch.equal, first["averaged"], second["averaged"]))
