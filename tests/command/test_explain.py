"""`tensormt explain`."""

import json

import pytest
from reporting.page_samples import TREES

from tensormt.command.main import main


def test_explain_prints_what_was_matched(tmp_path, capsys):
    for name, lines in (("r.ptb", TREES[:1]), ("h.ptb", TREES[1:])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["explain", str(tmp_path / "r.ptb"), "-i", str(tmp_path / "h.ptb"), "--trees", "-q"]
    assert main([*command, "-m", "stm:max_depth=2", "tkm", "--all"]) == 0
    out = capsys.readouterr().out
    assert "reference 1: the dog ran" in out
    assert "h.ptb: I have the dog" in out
    assert "    + NP  [1]" in out  # one of two
    assert "    - (VP VBP NP)" in out
    assert main([*command, "-m", "stm", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["systems"]["h.ptb"]["stm"]
    assert found["kind"] == "subtree"
    assert found["items"][0]["text"] == "S"
    assert main([*command, "--segment", "2"]) == 2
    assert "from 1 to 1" in capsys.readouterr().err


@pytest.fixture
def files(tmp_path):
    (tmp_path / "hyp.txt").write_text("a\nthe cat sat\n")
    (tmp_path / "ref.txt").write_text("b\nthe cat ran\n")
    return [str(tmp_path / "ref.txt"), "-i", str(tmp_path / "hyp.txt"), "-m", "bleu", "-q"]


def test_matched_items_of_a_segment(files, capsys):
    assert main(["explain", *files, "--segment", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("segment 2 of 2\nreference 1: the cat ran\n")
    assert "+ the cat  [1]" in out
    assert "- sat" not in out
    assert main(["explain", *files, "--segment", "2", "--all"]) == 0
    assert "- sat" in capsys.readouterr().out


def test_json_and_numbers_out_of_range(files, capsys):
    assert main(["explain", *files, "--segment", "2", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    items = found["systems"]["hyp.txt"]["bleu"]["items"]
    assert {item["text"] for item in items if item["counted"]} == {"the", "cat", "the cat"}
    assert main(["explain", *files, "--segment", "3"]) == 2
    assert "--segment 3: expected a number from 1 to 2" in capsys.readouterr().err
