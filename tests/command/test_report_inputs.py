"""What `tensormt report` reads: scores alone, folders, errors marked by people."""

import json

import numpy as np
import pytest
from reporting.page_samples import read_page

from tensormt.command.main import main

LINES = {"A": ["the cat sat", "a dog"], "B": ["cat sat", "a dog ran"]}


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "comet.seg.score"
    path.write_text("A\t0.5\nA\tNone\nB\t0.25\nB\t1\n")
    return path


def report(*words):
    return main(["report", *map(str, words), "-q"])


def test_scores_alone(scores, tmp_path, capsys):
    out = tmp_path / "page.html"
    given = ["-m", "none", "--scores", f"COMET={scores}", "-o", out]
    assert report(*given) == 0
    page = read_page(out)
    assert (page.meta["systems"], page.meta["refs"], page.meta["texts"]) == (["A", "B"], [], False)
    [metric] = page.meta["metrics"]
    assert (metric["name"], metric["scores"]) == ("COMET", [0.5, 0.625])
    assert np.allclose(page.array(metric["columns"][0]), [0.5, np.nan], equal_nan=True)
    # with outputs, and with references
    for name, lines in LINES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "ref").write_text("the cat\na dog\n")
    (tmp_path / "docs").write_text("d1\nd2\n")
    systems = ["-i", tmp_path / "A", tmp_path / "B"]
    assert report(*given, *systems, "--docs", tmp_path / "docs") == 0
    page = read_page(out)
    assert page.texts(page.meta["hyps"][1]) == LINES["B"]
    assert [way["title"] for way in page.meta["buckets"]] == ["document"]
    assert report(tmp_path / "ref", *given, *systems) == 0
    assert len(read_page(out).meta["refs"]) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "none"], "name scores of other tools"),
        (["-m", "bleu"], "no outputs: name hypothesis files with -i"),
        (["-m", "bleu", "--lp", "en-de"], "--lp is for a folder"),
        (["-m", "none", "--scores", "COMET=nothere"], "nothere"),
    ],
)
def test_what_is_missing(words, message, tmp_path, capsys):
    assert report(*words, "-o", tmp_path / "page.html") == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "wmt99"
    for part in ("documents", "references", "sources", "human-scores", "metric-scores/en-de"):
        (root / part).mkdir(parents=True)
    (root / "system-outputs" / "en-de").mkdir(parents=True)
    (root / "documents" / "en-de.docs").write_text("news\td1\nnews\td2\n")
    (root / "references" / "en-de.refA.txt").write_text("the cat sat\na dog\n")
    (root / "sources" / "en-de.txt").write_text("die Katze\nein Hund\n")
    for name, lines in LINES.items():
        (root / "system-outputs" / "en-de" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (root / "human-scores" / "en-de.da.seg.score").write_text("A\t1\nA\t2\nB\t3\nB\tNone\n")
    spans = {"errors": [{"start": 0, "end": 3, "severity": "major", "category": "x"}]}
    lines = [f"A\t{json.dumps(spans)}\tr1", "A\tNone", "B\tNone", 'B\t{"errors": []}\tr1']
    (root / "human-scores" / "en-de.mqm.merged.seg.rating").write_text("\n".join(lines) + "\n")
    scores = "A\t0.1\nA\t0.2\nB\t0.3\nB\t0.4\n"
    (root / "metric-scores" / "en-de" / "COMET-refA.seg.score").write_text(scores)
    return root


def test_a_folder_brings_sources_human_scores_and_ratings(folder, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert report("-i", folder, "--lp", "en-de", "-m", "bleu", "-o", out) == 0
    page = read_page(out)
    assert page.texts(page.meta["sources"]) == ["die Katze", "ein Hund"]
    assert [column["name"] for column in page.meta["human"]] == ["da", "MQM"]
    assert json.loads(page.texts(page.meta["errors"][0])[0]) == [[0, 3, "major", "x", "r1"]]
    assert page.meta["agreement"][0]["metric"] == "bleu"
    assert report("-i", folder, "-m", "none", "-o", out) == 0
    assert [metric["name"] for metric in read_page(out).meta["metrics"]] == ["COMET"]
    capsys.readouterr()
    assert report("-i", folder, "--lp", "zh-en", "-o", out) == 2
    assert "choose a language pair with --lp: en-de" in capsys.readouterr().err


def test_errors_beside_files(folder, tmp_path, capsys):
    outputs = [folder / "system-outputs" / "en-de" / f"{name}.txt" for name in LINES]
    rating = folder / "human-scores" / "en-de.mqm.merged.seg.rating"
    out = tmp_path / "page.html"
    given = [folder / "references" / "en-de.refA.txt", "-i", *outputs, "-m", "bleu"]
    assert report(*given, "--errors", rating, "-o", out) == 0
    assert len(read_page(out).meta["errors"]) == 2
    assert report(*given, "--errors", rating, "-o", rating) == 2
    assert "is an input of this run" in capsys.readouterr().err
