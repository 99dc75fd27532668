"""Training of a small constituency parser: scores, resumed runs, folders, word vectors."""

import json
import random
from dataclasses import replace

import pytest
import torch
from parser.samples import SMALL_RECIPE, fit_constituency, write_treebank

from tensormt.errors import TensorMTError
from tensormt.parser import Parser, fitting
from tensormt.parser.treebank import read_treebank, read_vectors


@pytest.fixture
def files(tmp_path):
    return write_treebank(tmp_path)


def test_a_small_treebank_is_learnt(files):
    heard = []
    parser = fit_constituency(files, replace(SMALL_RECIPE, epochs=25), report=heard.append)
    figures = fitting.evaluate_file(parser, files / "dev.ptb")
    assert figures["f1"] > 90
    assert figures["tags"] > 90
    assert [row["epoch"] for row in heard] == list(range(1, 26))
    assert max(row["f1"] for row in heard) == pytest.approx(figures["f1"], abs=3)
    loaded = Parser.load(files / "out")
    assert (
        loaded.parse(["the dog ran ."]).to_brackets()
        == parser.parse(["the dog ran ."]).to_brackets()
    )


def test_a_killed_run_goes_on_where_it_was(files):
    class Killed(Exception):
        pass

    def kill(figures):
        if figures["epoch"] == 2:
            raise Killed

    whole, resumed = [], []
    fit_constituency(files, out="whole", report=whole.append)
    with pytest.raises(Killed):
        fit_constituency(files, out="cut", report=kill)
    fit_constituency(files, out="cut", resume=True, report=resumed.append)
    assert [row["epoch"] for row in resumed] == [3, 4]
    assert resumed == whole[2:]
    first, second = (torch.load(files / name / "checkpoint.pt") for name in ("whole", "cut"))
    for a, b in zip(first["averaged"], second["averaged"], strict=True):
        assert torch.equal(a, b)


def test_runs_are_not_mixed_up(files):
    with pytest.raises(TensorMTError, match="nothing to resume"):
        fit_constituency(files, resume=True)
    fit_constituency(files, replace(SMALL_RECIPE, epochs=1))
    with pytest.raises(TensorMTError, match="contains a training run: resume it"):
        fit_constituency(files)
    with pytest.raises(TensorMTError, match="hidden 16 → 20"):
        fit_constituency(files, replace(SMALL_RECIPE, hidden=20), resume=True)
    assert json.loads((files / "out" / "recipe.json").read_text())["epochs"] == 1


def test_external_vectors(files):
    (files / "vectors.txt").write_text("".join(
        f"{word} {' '.join(str(round(random.Random(word).gauss(0, 1), 3)) for _ in range(12))}\n"
        for word in ["dog", "wolf", "town", "the"]
    ))  # fmt: skip
    parser = fit_constituency(files, replace(SMALL_RECIPE, epochs=1), embed=files / "vectors.txt")
    settings = parser.network.settings
    assert settings["vectors"] == 12
    assert settings["words"][settings["known"] :] == ["wolf"]
    assert parser.parse(["the wolf ran ."]).lengths.tolist()[0] > 0


def test_vectors_must_have_the_size_of_the_embedding(files):
    (files / "vectors.txt").write_text("dog 1 2 3\nwolf 2 1 0\n")
    with pytest.raises(TensorMTError, match=r"3 numbers per word.*embedding=3"):
        fit_constituency(files, embed=files / "vectors.txt")


def test_bad_files_are_named(files):
    (files / "bad.ptb").write_text("(S (NN a))\n(S (NN\n")
    with pytest.raises(TensorMTError, match=r"bad.ptb, line 2: expected one Penn-style bracketing"):
        read_treebank(files / "bad.ptb")
    (files / "bad.ptb").write_text("\n\n")
    with pytest.raises(TensorMTError, match="found none"):
        read_treebank(files / "bad.ptb")
    (files / "bad.txt").write_text("a 1 2\nb 1\n")
    with pytest.raises(TensorMTError, match=r"line 2: expected a word and 2 numbers, got 1"):
        read_vectors(files / "bad.txt")
