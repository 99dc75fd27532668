"""`tensormt diversity`: a table or JSON of what the library measures."""

import json

import pytest

import tensormt as tm
from tensormt.command.main import main

TEXTS = [["a cat sat", "a dog sat", "a dog ran"], ["a b", "a b c"]]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.txt").write_text("".join("\n".join(own) + "\n\n" for own in TEXTS))


def test_numbers_are_those_of_the_library(capsys):
    options = ["-m", "bleu", "ter", "--max-order", "3", "-q"]
    assert main(["diversity", "c.txt", *options, "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = tm.diversity(TEXTS, ["bleu", "ter"], 3)
    assert found["diversity"] == expected.means
    assert found["signatures"] == expected.signatures
    assert (found["segments"], found["outputs"]) == (2, 5)
    assert main(["diversity", "c.txt", *options]) == 0
    text = capsys.readouterr().out
    assert text.startswith(str(expected))
    assert "BLEU|" in text
    assert main(["diversity", "c.txt", *options, "-f", "tsv"]) == 0
    head, cells = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert dict(zip(head, cells, strict=True))["unique"] == "1.0000"


def test_direction_of_error_rates_in_every_format(capsys):
    options = ["diversity", "c.txt", "-m", "ter", "bleu", "-q", "-f"]
    assert main([*options, "json"]) == 0
    assert json.loads(capsys.readouterr().out)["higher_is_more_diverse"] == ["self-ter"]
    for form in ("text", "latex", "tsv"):
        assert main([*options, form]) == 0
        assert "higher is more diverse: self-ter" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["c.txt", "--lines", "1"], "1 outputs: expected at least 2"),
        (["c.txt", "--max-order", "0"], "--max-order 0: expected an integer from 1 to 9"),
        (["c.txt", "-m", "blue"], "blue"),
        (["none.jsonl"], "none.jsonl"),
    ],
)
def test_bad_input_is_status_2(capsys, arguments, message):
    status = main(["diversity", *arguments[:1], "-q", "-m", "bleu", *arguments[1:]])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
