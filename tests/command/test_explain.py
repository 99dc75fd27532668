"""`tensormt explain`."""

import json
import re

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
    assert re.search(r"^\+0\.\d+ +NP +subtrees of depth 1 +1 of 2 +1$", out, re.MULTILINE)
    assert re.search(r"^\+0\.0000 +\(VP VBP NP\) +subtrees of depth 2 +0 of 1$", out, re.MULTILINE)
    assert "  productions  " in out
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
    assert "adds     item     kind     matched  references\n" in out
    assert re.search(r"^\+\d+\.\d{3} +the cat +2-grams +1 of 1 +1$", out, re.MULTILINE)
    assert "sat  " not in out
    assert main(["explain", *files, "--segment", "2", "--all"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^\+0\.000 +sat +1-grams +0 of 1$", out, re.MULTILINE)


def test_the_source_is_shown(tmp_path, capsys):
    rows = [("eins", "a", "b"), ("zwei", "the cat sat", "the cat ran"), (None, "x", "x")]
    names = "src hypothesis reference".split()
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ["explain", "-i", str(tmp_path / "a.jsonl"), "-m", "bleu", "-q"]
    assert main([*command, "--src", "src", "--segment", "2"]) == 0
    assert capsys.readouterr().out.startswith("segment 2 of 3\nsource: zwei\nreference 1: the cat")
    assert main([*command, "--src", "src", "--segment", "2", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == "zwei"
    assert main([*command, "--segment", "2"]) == 0  # a column src needs no name
    assert "source: zwei" in capsys.readouterr().out
    assert main([*command, "--src", "src", "--segment", "3"]) == 0
    assert "source" not in capsys.readouterr().out


def test_items_are_ranked_by_what_they_add(files, capsys):
    assert main(["explain", *files, "-m", "bleu", "chrf", "--segment", "2"]) == 0
    *_, bleu, chrf = capsys.readouterr().out.split("\n\n")
    for block, first in ((bleu, "bleu 55.0"), (chrf, "chrf 52.")):
        title, _, *lines = block.splitlines()
        assert title.startswith(first)
        adds = [float(line.split()[0]) for line in lines if line.startswith("+")]
        assert adds == sorted(adds, reverse=True)
        assert min(adds) > 0
    assert "+0." not in bleu


def test_a_long_list_is_cut(tmp_path, capsys):
    (tmp_path / "a").write_text("the committee will publish its final report on Monday\n")
    files = [str(tmp_path / "a"), "-i", str(tmp_path / "a"), "-m", "chrf", "-q"]
    assert main(["explain", *files]) == 0
    *items, rest = capsys.readouterr().out.rstrip().splitlines()[-21:]
    assert all(re.match(r"\+\d+\.\d+ .* character \d-grams", line) for line in items)
    count, adds = re.fullmatch(
        r"(\d+) further items add \+([\d.]+) together \(--all\)", rest
    ).groups()
    shown = sum(float(line.split()[0]) for line in items)
    assert shown + float(adds) == pytest.approx(100, abs=0.02)
    assert main(["explain", *files, "--all"]) == 0
    assert capsys.readouterr().out.count("character") == 20 + int(count)


def test_matches_that_add_nothing_are_left_out(files, capsys):
    """Without smoothing BLEU is 0, whatever was matched."""
    arguments = [*files, "-m", "bleu:smooth=none,effective_order=no", "--segment", "2"]
    assert main(["explain", *arguments]) == 0
    block = capsys.readouterr().out.rpartition("\n\n")[2]
    assert block.splitlines() == [
        "bleu:smooth=none,effective_order=no 0.0000",
        "3 matched items add nothing (--all)",
    ]
    assert main(["explain", *files, "--segment", "1"]) == 0
    assert capsys.readouterr().out.endswith("bleu 0.0000\nnothing was matched\n")


def test_what_a_match_adds_is_not_always_known(files, capsys):
    assert main(["explain", *files, "-m", "bleu:max_order=9", "--segment", "2"]) == 0
    *_, block = capsys.readouterr().out.rstrip().split("\n\n")
    _, head, *rows, note = block.splitlines()
    assert head.split() == ["item", "kind", "matched", "references"]
    assert [row.split()[0] for row in rows] == ["the", "cat", "the"]
    assert note == "what a match adds is not known for this metric"


def test_members_are_named_by_their_settings(tmp_path, capsys):
    for name, lines in (("r.ptb", TREES[:1]), ("h.ptb", TREES[1:])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["explain", str(tmp_path / "r.ptb"), "-i", str(tmp_path / "h.ptb"), "--trees", "-q"]
    spec = "hwcm:max_length=1,balance=f1+hwcm:max_length=3,balance=brevity"
    assert main([*command, "-m", spec]) == 0
    out = capsys.readouterr().out
    assert re.search(r"adds +item +kind +of +matched +references", out)
    assert re.search(r"the +headword chains of 1 +HWCM-1 F1 +1 of 1 +1", out)
    assert re.search(r"dog → the +headword chains of 2 +HWCM-3 brevity +1 of 1 +1", out)
    assert "HWCM 1" not in out
    assert main([*command, "-m", spec, "-f", "json"]) == 0
    members = json.loads(capsys.readouterr().out)["systems"]["h.ptb"][spec]["members"]
    assert [member["name"] for member in members] == ["HWCM-1 F1", "HWCM-3 brevity"]


def test_json_and_numbers_out_of_range(files, capsys):
    assert main(["explain", *files, "--segment", "2", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    items = found["systems"]["hyp.txt"]["bleu"]["items"]
    assert {item["text"] for item in items if item["counted"]} == {"the", "cat", "the cat"}
    assert main(["explain", *files, "--segment", "3"]) == 2
    assert "--segment 3: expected a number from 1 to 2" in capsys.readouterr().err


def test_edits_name_their_reference_also_in_a_mean(tmp_path, capsys):
    for name, line in (
        ("h", "the dog runs home"),
        ("r", "the cat ran home today"),
        ("s", "a dog runs to home"),
    ):
        (tmp_path / name).write_text(f"{line}\n")
    files = [str(tmp_path / "r"), str(tmp_path / "s"), "-i", str(tmp_path / "h")]
    edits = "2 edits to reference 2\n  substitution at 1: the → a\n  deletion at 4: to\n"
    assert main(["explain", *files, "-m", "ter"]) == 0
    assert edits in capsys.readouterr().out
    assert main(["explain", *files, "-m", "ter+chrf"]) == 0
    assert f"TER: {edits}" in capsys.readouterr().out
    assert main(["explain", *files, "-m", "ter", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["systems"]["h"]["ter"]
    assert (found["reference"], len(found["edits"])) == (1, 2)
