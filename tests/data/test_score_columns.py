"""Files of segment scores of other tools."""

import json

import numpy as np
import pytest

from tensormt.command.main import main
from tensormt.data.score_columns import read_column, read_systems
from tensormt.errors import TensorMTError

SYSTEMS = {"out/a.txt": ["a.txt", "a"], "out/b.txt": ["b.txt", "b"]}
A, B = [0.5, np.nan, 1.0], [0.25, 0.75, -1.0]


def read(tmp_path, name, text, systems=SYSTEMS, size=3):
    path = tmp_path / name
    path.write_text(text)
    return read_column([str(path)], "COMET", systems, size)


def check(found):
    np.testing.assert_array_equal(found["out/a.txt"], A)
    np.testing.assert_array_equal(found["out/b.txt"], B)


def test_a_file_for_each_system(tmp_path):
    (tmp_path / "a").write_text("0.5\nNone\n1\n")
    (tmp_path / "b").write_text(".25\n0.75\n-1e0\n")
    check(read_column([str(tmp_path / "a"), str(tmp_path / "b")], "COMET", SYSTEMS, 3))
    with pytest.raises(TensorMTError, match="3 files of scores for 2 systems"):
        read_column(["x", "y", "z"], "COMET", SYSTEMS, 3)


def test_the_format_of_mt_metrics_eval(tmp_path):
    rows = "a\t0.5\na\tNone\na\t1\nb\t0.25\nb\t0.75\nb\t-1\nother\t1\nother\t1\nother\t1\n"
    check(read(tmp_path, "COMET.seg.score", rows))


@pytest.mark.parametrize("column", ["COMET", "score"])
def test_tables(tmp_path, column):
    rows = [(s, k, v) for s, own in (("b.txt", B), ("a", A)) for k, v in enumerate(own, 1)]
    rows.reverse()  # any order
    cells = [(s, k, "" if np.isnan(v) else v) for s, k, v in rows]
    for name, mark in (("x.tsv", "\t"), ("x.csv", ",")):
        lines = [mark.join(("system", "segment", column)), *(mark.join(map(str, c)) for c in cells)]
        check(read(tmp_path, name, "\n".join(lines) + "\n"))
    objects = [{"system": s, "segment": k, column: None if v == "" else v} for s, k, v in cells]
    check(read(tmp_path, "x.jsonl", "".join(json.dumps(row) + "\n" for row in objects)))


def test_a_table_of_one_system_in_order(tmp_path):
    found = read(tmp_path, "x.tsv", "id\tCOMET\nq\t1\nr\t2\n", {"h": ["h"]}, 2)
    assert found["h"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "1\n2\n3\n", "x.txt has scores of one system, there are 2"),
        ("x.score", "a 1\na 2\na 3\n", "has no scores of b.txt: it has those of a"),
        ("x.score", "a 1\na 2\nb 1\nb 2\n", "has 2 scores of a, there are 3 segments"),
        (
            "x.tsv",
            "system\tsegment\tBLEU\na\t1\t2\n",
            "no column 'COMET', the row has system",
        ),
        (
            "x.tsv",
            "system\tsegment\tCOMET\na\t1\t2\na\t1\t2\n",
            "segment 1 stands there twice",
        ),
        ("x.tsv", "system\tsegment\tCOMET\na\tone\t2\n", "segment 'one' is no number"),
        ("x.tsv", "system\tsegment\tCOMET\na\t1\t2\na\t3\t2\n", "no score of segment 2 a"),
        ("x.tsv", "system\tsegment\tCOMET\n", "no score, expected a row for each segment"),
        ("x.jsonl", '{"COMET": true}\n', "line 1: 'True' is no finite score"),
        ("x.txt", "", "has scores of one system"),
    ],
)
def test_what_cannot_be_used(tmp_path, name, text, message):
    with pytest.raises(TensorMTError, match=message):
        read(tmp_path, name, text)


@pytest.mark.parametrize("value", ["inf", "word", "1,5"])
def test_numbers(tmp_path, value):
    with pytest.raises(TensorMTError, match=r"x.txt, line 2: .* is no finite score"):
        read(tmp_path, "x.txt", f"1\n{value}\n", {"h": ["h"]}, 2)


def test_the_commands(tmp_path, capsys):
    for name, lines in (("r", ["a dog", "a cat"]), ("a", ["a dog", "x"]), ("b", ["a", "a cat"])):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "comet.tsv").write_text(
        "system\tsegment\tCOMET\na\t1\t.5\na\t2\t.7\nb.txt\t1\t.1\nb.txt\t2\t.2\n"
    )
    files = [str(tmp_path / f"{name}.txt") for name in "rab"]
    inputs = [files[0], "-i", *files[1:], "-m", "chrf", "--scores", f"COMET={tmp_path}/comet.tsv"]
    assert main(["score", *inputs, "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["systems"]
    assert found["a.txt"]["COMET"]["score"] == pytest.approx(0.6)
    assert found["b.txt"]["COMET"]["score"] == pytest.approx(0.15)
    assert main(["compare", *inputs, "--lower-is-better", "COMET"]) == 0
    assert "lower is better: COMET" in capsys.readouterr().out
    assert main(["explain", *inputs]) == 0
    assert "cannot explain" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", *inputs, "-o", str(page), "-q"]) == 0
    assert page.stat().st_size
    capsys.readouterr()
    for wrong, message in (
        (["--scores", "x"], "expected NAME=FILE"),
        (["--scores", "chrf=x"], "there is another metric chrf"),
        (["--lower-is-better", "X"], "no --scores of that name"),
        (["--scores", f"X={tmp_path}/none"], "none"),
    ):
        assert main(["score", *inputs, *wrong]) == 2
        assert message in capsys.readouterr().err


def test_all_systems_of_files(tmp_path):
    both = tmp_path / "both.seg.score"
    both.write_text("A\t1\nA\t2\nB\t3\nB\tNone\n")
    found = read_systems([both], "COMET")
    assert [row.tolist()[:1] for row in found.values()] == [[1.0], [3.0]]
    assert list(found) == ["A", "B"]
    (tmp_path / "one.txt").write_text("1\n2\n")
    (tmp_path / "two.txt").write_text("1\n")
    assert list(read_systems([tmp_path / "one.txt"], "m")) == ["one"]
    with pytest.raises(TensorMTError, match="m of two has 1 scores, m of one has 2"):
        read_systems([tmp_path / "one.txt", tmp_path / "two.txt"], "m")
