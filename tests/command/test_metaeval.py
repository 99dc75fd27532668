"""`tensormt metaeval`: what it prints is what the library computes."""

import argparse
import json

import pytest
import torch

from tensormt import metaeval
from tensormt.command import metaeval as command
from tensormt.data import judged as data
from tensormt.errors import TensorMTError
from tensormt.metaeval.scores import collect_texts, score_metric
from tensormt.metaeval.sweep import sweep
from tensormt.registry import make
from tensormt.trees.batch import TreeBatch

WORDS = "the a cat dog sat ran on in mat house day night it was all long".split()


def sentence(random, length):
    return " ".join(
        WORDS[int(torch.randint(len(WORDS), (), generator=random))] for _ in range(length)
    )


@pytest.fixture
def jsonl(tmp_path):
    """Systems that keep more and more of the reference, and people who see it."""
    random = torch.Generator().manual_seed(0)
    rows = []
    for i in range(12):
        refs = [sentence(random, 9), sentence(random, 8)]
        systems = {}
        for s in range(4):
            words = refs[0].split()[: 3 + 2 * s] + sentence(random, 4 - s).split()
            noise = torch.rand((), generator=random).item()
            systems[f"s{s}"] = {
                "hyp": " ".join(words),
                "scores": {"fluency": s + noise, "n_raters": 3},
            }
        rows.append({"doc": f"d{i // 3}", "seg": i, "refs": refs, "sys": systems})
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def run(*words):
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    args = parser.parse_args(["metaeval", *map(str, words)])
    assert args.run(args) == 0


def test_json_holds_every_row(jsonl, capsys):
    run(jsonl, "-m", "bleu", "bleu:max_order=1", "--level", "segment", "document", "system",
        "-f", "json", "--bootstrap", 20, "--test")  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 2 * 3 * 3
    assert {row["human"] for row in found["rows"]} == {"fluency"}
    assert all(row["signature"].startswith("BLEU|order:") for row in found["rows"])
    assert all(row["low"] <= row["high"] for row in found["rows"])
    assert len(found["tests"]) == 3 * 3
    test = data.read_jsonl(jsonl)
    column = score_metric(make("bleu"), "bleu", test, collect_texts(test))
    human = test.scores("fluency")
    for level, expected in (
        ("segment", metaeval.agreement(human, column.segments)),
        ("system", metaeval.system_agreement(human.mean(dim=1), column.systems())),
    ):
        row = next(row for row in found["rows"] if row["level"] == level)
        assert (row["metric"], row["statistic"]) == ("bleu", "pearson")
        assert row["signature"] == column.signature
        assert row["value"] == pytest.approx(expected.item())


def test_tables_as_in_the_papers(jsonl, capsys):
    run(jsonl, "-m", "bleu", "--orders", 1, 2, "--statistic", "pearson", "--human", "fluency")
    lines = capsys.readouterr().out.split("\n")
    assert lines[0].split() == ["fluency,", "segment", "level,", "pearson", "bleu"]
    assert [line.split()[0] for line in lines[1:3]] == ["1", "2"]
    run(jsonl, "-m", "bleu", "bma", "--statistic", "tau_b", "accuracy_ties", "-f", "tsv")
    lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert lines[0].split("\t")[:3] == ["metric", "signature", "human"]
    assert len(lines) == 1 + 2 * 2 * 2
    run(jsonl, "-m", "bleu", "--test", "--bootstrap", 10)
    assert "fluency, system level" in capsys.readouterr().out


def test_score_files(tmp_path, capsys):
    random = torch.Generator().manual_seed(3)
    tables = torch.rand(3, 3, 8, generator=random, dtype=torch.float64)
    files = [tmp_path / name for name in ("x.mqm.seg.score", "A.seg.score", "B.seg.score")]
    for path, table in zip(files, tables, strict=True):
        lines = [f"s{s}\t{value}" for s, row in enumerate(table.tolist()) for value in row]
        path.write_text("\n".join(lines), encoding="utf-8")
    docs = tmp_path / "x.docs"
    docs.write_text("\n".join(f"news\td{i // 2}" for i in range(8)), encoding="utf-8")
    run(files[0], "--scores", *files[1:], "--docs", docs, "-f", "json", "--level", "segment",
        "document", "--statistic", "tau_b", "--grouping", "segment")  # fmt: skip
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["metric"] for row in rows] == ["A", "B", "A", "B"]
    expected = metaeval.agreement(tables[0], tables[1], "tau_b", "segment").item()
    assert rows[0]["value"] == pytest.approx(expected)
    docs.write_text("news\td1\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"x.docs has 1 lines.*has 8 scores a system"):
        run(files[0], "--scores", files[1], "--docs", docs)
    with pytest.raises(TensorMTError, match="goes with one file of human scores, got 2"):
        run(files[0], files[1], "--scores", files[2])


def test_trees_are_parsed_once_and_kept(jsonl, capsys, monkeypatch, tmp_path):
    seen = []

    class Flat:
        fingerprint = "flat-1"

        @classmethod
        def load(cls, name, trusted, device):
            assert (name, trusted) == ("flat", False)
            return cls()

        def parse(self, lines, progress):
            progress(len(lines))
            seen.extend(lines)
            flat = [" ".join(f"(X {word})" for word in line.split()) for line in lines]
            return TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in flat])

    monkeypatch.setattr("tensormt.parser.parser.Parser", Flat)
    for _ in range(2):
        run(jsonl, "-m", "stm", "hwcm", "--orders", 2, "--parser", "flat", "--statistic", "pearson",
            "--cache", tmp_path / "parses", "-f", "json")  # fmt: skip
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert {row["metric"] for row in rows} == {"stm-2", "hwcm-2"}
        assert all("|refs:2|parser:flat-1|" in row["signature"] for row in rows)
    assert len(seen) == len(set(seen))


def test_orders_are_swept_where_a_metric_has_one():
    named = sweep(["bleu", "tkm", "hwcm:max_length=2"], [1, 3])
    assert [name for name, _ in named] == ["bleu-1", "bleu-3", "tkm", "hwcm:max_length=2"]
    assert named[1][1].signature == make("bleu:max_order=3").signature
    with pytest.raises(TensorMTError, match="no metric named 'blue'"):
        sweep(["blue"], [1])


def test_no_human_scores(tmp_path):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"refs": ["a b"], "sys": {"x": {"hyp": "a"}}}', encoding="utf-8")
    with pytest.raises(TensorMTError, match="no human scores, nothing to compare with"):
        run(path)
