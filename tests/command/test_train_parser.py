"""`tensormt train-parser`: training, resuming, and arguments that are rejected."""

import json

import pytest
from parser.samples import (
    write_treebanks,
)

from tensormt.command.main import main


@pytest.fixture
def files(tmp_path):
    return write_treebanks(tmp_path)


def test_the_command(files, capsys):
    recipe = "--epochs=2 --hidden=8 --layers=1 --arc=8 --relation=6".split()
    path = str(files / "de.conllu")
    out = str(files / "out")
    words = ["train-parser", "--train", f"de={path}", "--dev", f"de={path}", "--test", f"de={path}"]
    assert main([*words, "-o", out, "-q", *recipe]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parser"].startswith("out-")
    assert found["dev"] == found["test"]
    assert 0 <= found["dev"]["las"] <= found["dev"]["uas"] <= 100
    assert main([*words, "-o", out, "-q", *recipe]) == 2
    assert "(--resume)" in capsys.readouterr().err
    assert main([*words, "-o", out, "-q", *recipe, "--resume"]) == 0
    capsys.readouterr()
    text = files / "text"
    text.write_text("der Hund lief.\n")
    assert main(["parse", str(text), "--parser", out, "-q"]) == 0
    assert capsys.readouterr().out.count("\n") == 7


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--train", "de={0}", "--dev", "{0}"], "trees have no language"),
        (["--train", "de={0}", "--dev", "fr={0}"], "trees have the language 'fr'"),
        (["--train", "de={0}", "{0}", "--dev", "de={0}"], "some files have a language"),
        (["--train", "{0}", "--dev", "{1}"], "some of the tree files are CoNLL-U"),
        (["--train", "{0}", "--dev", "{0}", "--span", "3"], "--span is for brackets"),
        (["--train", "{0}", "--dev", "{0}", "--hyphens"], "--embed and --hyphens are for brackets"),
        (["--train", "{1}", "--dev", "{1}", "--arc", "3"], "--arc is for CoNLL-U"),
        (["--train", "{1}", "{1}", "--dev", "{1}"], "expected one file of brackets, got 2"),
        (["--train", "{0}", "--dev", "{2}"], "empty.conllu: expected dependency trees"),
    ],
)
def test_bad_calls_are_told(files, capsys, words, cause):
    (files / "a.ptb").write_text("(S (NN a))\n")
    (files / "empty.conllu").write_text("\n")
    names = [files / name for name in ("de.conllu", "a.ptb", "empty.conllu")]
    called = ["train-parser", *(word.format(*names) for word in words)]
    assert main([*called, "-o", str(files / "out"), "-q"]) == 2
    assert cause in capsys.readouterr().err
