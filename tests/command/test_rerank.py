"""`tensormt rerank`: files in, the best candidates out."""

import json

import pytest

import tensormt as tm
from tensormt.command.main import main

TEXTS = [["a cat sat", "a dog sat", "a dog ran", "the dog sat"], ["x", "a b", "a b c"]]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"candidates": own, "lp": [-float(k) for k in range(len(own))]} for own in TEXTS]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "c.txt").write_text("".join("\n".join(own) + "\n\n" for own in TEXTS))
    (tmp_path / "pool.jsonl").write_text('{"references": ["a dog ran"]}\n{"references": ["x"]}\n')


def run(capsys, *arguments):
    status = main(["rerank", *arguments, "-q"])
    return status, *capsys.readouterr()


def test_the_best_candidates_are_those_of_the_library(capsys, tmp_path):
    best = tm.rerank(TEXTS, "chrf").best
    assert run(capsys, "c.jsonl") == (0, "".join(f"{text}\n" for text in best), "")
    assert run(capsys, "c.txt")[1] == "".join(f"{text}\n" for text in best)
    logs = [[-float(k) for k in range(len(own))] for own in TEXTS]
    weighted = tm.rerank(TEXTS, "bleu", log_probabilities=logs)
    out = run(capsys, "c.jsonl", "-m", "bleu", "--log-probs", "lp", "-f", "jsonl", "--nbest", "2")
    rows = [json.loads(line) for line in out[1].splitlines()]
    assert [row["scores"] for row in rows] == [own[:2] for own in weighted.scores]
    assert [row["indices"] for row in rows] == [own[:2] for own in weighted.indices]
    out = run(capsys, "c.txt", "--references", "pool.jsonl")
    assert out[1].splitlines() == ["a dog ran", "x"]
    assert run(capsys, "c.txt", "--nbest", "9", "-o", "all.txt")[:2] == (0, "")
    everything = list(tm.rerank(TEXTS, "chrf").texts)
    text = (tmp_path / "all.txt").read_text()
    assert text == "".join("\n".join(own) + "\n\n" for own in everything)
    assert run(capsys, "all.txt")[1] == run(capsys, "c.txt")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["c.txt", "--nbest", "0"], "--nbest 0: expected an integer from 1"),
        (["c.txt", "--lines", "0"], "--lines 0: expected an integer from 1"),
        (["c.txt", "--reference-lines", "0"], "--reference-lines 0: expected an integer from 1"),
        (["c.txt", "--weights", "w"], "no 'w': give rows"),
        (["c.txt", "-m", "nist"], "NIST needs all references of a test set"),
        (["none.txt"], "none.txt cannot be read"),
        (["c.txt", "-o", "c.txt"], "c.txt"),
        (["c.jsonl", "--column", "x"], "the row has no 'x': it has candidates, lp"),
    ],
)
def test_bad_input_is_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_lines_within_a_candidate(capsys, tmp_path):
    (tmp_path / "c.jsonl").write_text(json.dumps({"candidates": ["a\nb"]}) + "\n")
    assert "has several lines, which text cannot hold: use -f jsonl" in run(capsys, "c.jsonl")[2]
    out = run(capsys, "c.jsonl", "-f", "jsonl")[1]
    assert json.loads(out)["candidates"] == ["a\nb"]
