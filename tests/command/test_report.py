"""`tensormt report`."""

import json

import pytest
from reporting.page_samples import HYPS, REFS, read_page

from tensormt.command.main import main


def test_the_command_writes_the_page(tmp_path, capsys):
    for name, lines in (("r.txt", REFS[0]), ("a.txt", HYPS["A"]), ("b.txt", HYPS["B"])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("r.txt", "a.txt", "b.txt")]
    out = tmp_path / "out.html"
    command = ["report", files[0], "-i", *files[1:], "-m", "bleu", "-o", str(out), "-q"]
    assert main([*command, "--trees-for", "1"]) == 0
    assert "4 segments" in capsys.readouterr().err
    page = read_page(out)
    assert page.meta["systems"] == ["a", "b"]
    assert len(page.cards()) == 1
    assert main([*command, "--trees-for", "some"]) == 2
    assert "--trees-for 'some'" in capsys.readouterr().err


@pytest.fixture
def files(tmp_path):
    for name, text in {"a": "the cat sat", "b": "a cat", "ref": "the cat ran"}.items():
        (tmp_path / f"{name}.txt").write_text(f"{text}\n")
    return [str(tmp_path / f"{name}.txt") for name in ("ref", "a", "b")]


def test_the_page_and_its_message(files, tmp_path, capsys):
    ref, *systems = files
    out = tmp_path / "page.html"
    given = ["report", ref, "-i", *systems, "-m", "bleu", "-o", str(out), "-q", "--title", "T & U"]
    assert main(given) == 0
    assert "T &amp; U" in out.read_text()
    assert f"page.html: 1 segments, {out.stat().st_size:,} bytes" in capsys.readouterr().err


def test_rejected_arguments(files, capsys):
    ref, *systems = files
    given = ["report", ref, "-i", *systems, "-m", "bleu", "-q"]
    assert main([*given, "--trees-for", "few"]) == 2
    assert "--trees-for 'few': expected a number" in capsys.readouterr().err
    assert main([*given, "-o", ref]) == 2
    assert "is an input of this run" in capsys.readouterr().err


def test_a_file_of_systems_with_human_scores(tmp_path):
    row = {
        "src": "ä <b>",
        "refs": ["a b"],
        "sys": {s: {"hyp": "a b", "scores": {"da": 1}} for s in "xy"},
    }
    (tmp_path / "set.jsonl").write_text(json.dumps(row))
    out = tmp_path / "page.html"
    given = ["report", "-i", str(tmp_path / "set.jsonl"), "-m", "bleu", "-o", str(out), "-q"]
    assert main(given) == 0
    assert out.stat().st_size
    page = read_page(out)
    assert page.texts(page.meta["sources"]) == ["ä <b>"]
    assert [column["name"] for column in page.meta["human"]] == ["da"]


def test_the_source_of_rows_and_scores_of_another_tool(tmp_path):
    rows = [{"hypothesis": "a b", "reference": "a b", "quelle": text} for text in ("eins", None)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "x.txt").write_text("0.25\n0.5\n")
    out = tmp_path / "page.html"
    given = ["report", "-i", str(tmp_path / "a.jsonl"), "-m", "bleu", "-o", str(out), "-q"]
    assert main([*given, "--src", "quelle", "--scores", f"X={tmp_path / 'x.txt'}"]) == 0
    page = read_page(out)
    assert page.texts(page.meta["sources"]) == ["eins", ""]
    assert page.array(page.meta["metrics"][1]["columns"][0]).tolist() == [0.25, 0.5]
