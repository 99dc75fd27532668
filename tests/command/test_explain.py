"""`tensormt explain`."""

import json

import pytest

from tensormt.command.main import main


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
