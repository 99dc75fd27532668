"""The overview panels against `compare`, `score`, `tensormt qarla` and plain counting."""

import json
import math
import random
import re

import numpy as np
import oracles
import pytest
import torch
from error_rate import LengthError
from reporting.page_samples import DOCS, HYPS, REFS, read_page

import tensormt as tm
from tensormt.command.main import main
from tensormt.evaluator import Evaluator
from tensormt.reporting.overview import json_number
from tensormt.segments import Segments
from tensormt.significance import compare


def test_p_values_are_those_of_compare(page):
    found = Evaluator(["bleu:max_order=2", "bm"]).evaluate(Segments(HYPS, REFS))
    names = list(HYPS)
    rows = {
        (row.metric, names.index(row.baseline), names.index(row.system)): row
        for row in compare(found, all_pairs=True)
    }
    assert len(rows) == 6
    for metric in page.meta["metrics"]:
        assert len(metric["pairs"]) == 3
        for a, b, p, holm, gap, n, *segments in metric["pairs"]:
            row = rows[metric["name"], a, b]
            assert segments == [row.losses, row.ties, row.wins]
            assert (gap, n) == (json_number(row.baseline_score - row.score), 4)
            assert (p, holm) == (json_number(row.p), json_number(row.p_holm))
            assert metric["intervals"][b] == [json_number(row.low), json_number(row.high)]
        for (a, b, *_), ends in zip(metric["pairs"], metric["ends"], strict=True):
            row = rows[metric["name"], a, b]
            expected = [json_number(-row.difference_high), json_number(-row.difference_low)]
            assert ends == expected


def test_the_page_and_the_command_give_one_p_value(tmp_path, capsys):
    """Ten systems: the page once drew 1,800 samples for its 45 pairs, the command 1,000 for 9."""
    rng = random.Random(1)
    ref = [" ".join(rng.choices("abcdefgh", k=8)) for _ in range(20)]
    (tmp_path / "ref").write_text("\n".join(ref))
    names = [f"s{k}" for k in range(10)]
    for name in names:
        lines = [" ".join(w for w in line.split() if rng.random() > 0.2) for line in ref]
        (tmp_path / name).write_text("\n".join(lines))
    files = [str(tmp_path / "ref"), "-i", *(str(tmp_path / name) for name in names), "-q"]
    files += ["-m", "bleu:max_order=2"]
    assert main(["compare", *files, "-f", "json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert main(["compare", *files, "--all-pairs", "-f", "json"]) == 0
    all_pairs = json.loads(capsys.readouterr().out)["comparisons"]
    assert main(["report", *files, "-o", str(tmp_path / "page.html")]) == 0
    meta = read_page(tmp_path / "page.html").meta
    assert (meta["samples"], meta["seed"]) == (compared["samples"], compared["seed"])
    rows = meta["metrics"][0]["pairs"]
    expected = [json_number(own["p"]) for own in compared["comparisons"]]
    assert [row[2] for row in rows[:9]] == expected
    assert len(set(expected)) == 9  # nothing is trivial
    assert [row[2:4] for row in rows] == [
        [json_number(own["p"]), json_number(own["p_holm"])] for own in all_pairs
    ]


def test_people_and_error_rates(tmp_path):
    """An error rate that orders outputs as people do agrees with them."""
    hyps = {"A": ["a b c", "a b"], "B": ["a b", "a b c d e f"], "C": ["a", "a b c d"]}
    human = {"good": torch.tensor([[3.0, 1.0], [2.0, 3.0], [1.0, 2.0]])}
    refs = [["a b c", "a b c d e f"]]
    page = read_page(tm.report(hyps, refs, [LengthError()], tmp_path / "r.html", human=human))
    [row] = page.meta["people"]
    assert (row["share"], row["pairs"]) == (1.0, 6)
    assert row["pearson"] > 0.9
    assert page.meta["metrics"][0]["higher"] is False


def test_buckets_hold_what_their_segments_score(page):
    ways = {way["title"]: way for way in page.meta["buckets"]}
    # all references have fewer than 10 words
    assert set(ways) == {"agreement among references", "document", "word frequency"}
    way = ways["document"]
    assert (way["labels"], way["n"]) == (["d1", "d2"], [[2, 2, 2], [2, 2, 2]])
    assert page.array(way["index"]).tolist() == [1, 1, 2, 2]
    for k, rows in enumerate((slice(0, 2), slice(2, 4))):
        for s, lines in enumerate(HYPS.values()):
            expected = tm.score(lines[rows], [ref[rows] for ref in REFS], ["bm"]).corpus["bm"]
            assert way["scores"]["bm"][k][s][0] == json_number(expected)


def test_numbers_that_json_lacks():
    assert json_number(math.nan) is None
    assert json_number(math.inf) is None
    assert json_number(0.123456789) == 0.1234568


def test_a_judged_set_brings_human_scores(tmp_path):
    rows = []
    for i in range(4):
        systems = {
            name: {"hyp": lines[i], "scores": {"fluency": float(len(lines[i]))}}
            for name, lines in HYPS.items()
        }
        refs = [stream[i] for stream in REFS if stream[i]]
        rows.append(json.dumps({"doc": DOCS[i], "refs": refs, "sys": systems}))
    path, out = tmp_path / "set.jsonl", tmp_path / "out.html"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert main(["report", "-i", str(path), "-m", "bleu", "bm", "-o", str(out), "-q"]) == 0
    page = read_page(out)
    [bleu, _] = page.meta["people"]
    scores = [tm.score(lines, REFS, ["bleu"]).segments["bleu"].tolist() for lines in HYPS.values()]
    right = pairs = 0
    for i in range(4):
        for a in range(3):
            for b in range(a):
                people = len(list(HYPS.values())[a][i]) - len(list(HYPS.values())[b][i])
                if people:
                    gap = (scores[a][i] - scores[b][i]) * people
                    right += 1 if gap > 0 else 0.5 if gap == 0 else 0
                    pairs += 1
    assert (bleu["pairs"], bleu["share"]) == (pairs, json_number(right / pairs))
    assert page.meta["qarla"]["cases"] == 3  # with three references


def test_missing_outputs_are_left_out(tmp_path):
    """A judged set without some outputs: scores, pairs and people are over what is there."""
    hyps = {name: list(lines) for name, lines in HYPS.items()}
    hyps["B"][1] = None
    rows = [
        json.dumps(
            {
                "refs": [stream[i] for stream in REFS if stream[i]],
                "sys": {
                    name: {"hyp": lines[i], "scores": {"f": i + len(name)}}
                    for name, lines in hyps.items()
                },
            }
        )
        for i in range(4)
    ]
    path, out = tmp_path / "set.jsonl", tmp_path / "out.html"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert main(["report", "-i", str(path), "-m", "bleu", "chrf", "-o", str(out), "-q"]) == 0
    page = read_page(out)
    assert page.meta["outputs"] == [4, 3, 4]
    kept = [0, 2, 3]
    for metric in page.meta["metrics"]:
        name = metric["name"]
        refs = [[stream[i] for i in kept] for stream in REFS]
        score = {
            system: tm.score([lines[i] for i in kept], refs, [name])
            for system, lines in hyps.items()
        }
        assert metric["scores"][1] == json_number(score["B"].corpus[name])
        assert metric["scores"][0] != json_number(score["A"].corpus[name])  # over all four
        column = page.array(metric["columns"][1])
        assert np.isnan(column).tolist() == [False, True, False, False]
        pairs = {(a, b): (gap, n) for a, b, _, _, gap, n, *_ in metric["pairs"]}
        gap = score["A"].corpus[name] - score["B"].corpus[name]
        assert pairs[0, 1] == (json_number(gap), 3)
        assert pairs[0, 2][1] == 4
    assert page.meta["correlations"]["n"] == 11
    assert {row["n"] for row in page.meta["people"]} == {11}


def leaves(tree):
    return " ".join(re.findall(r"([^\s()]+)\)", tree))


@pytest.fixture(scope="module")
def parsed():
    """Trees of three systems and three references, which share subtrees and words."""
    rng = random.Random(3)
    pool = [oracles.brackets(oracles.random_tree(rng, 8)) for _ in range(5)]
    refs = [[rng.choice(pool) for _ in range(9)] for _ in range(3)]
    hyps = {name: [rng.choice(pool) for _ in range(9)] for name in "ABC"}
    return hyps, refs


METRICS = ["chrf+bleu", "stm"]  # the first reads tokens only


def qarla_of_the_command(hyps, refs, folder, capsys, metrics):
    rows = [
        {
            "refs": [stream[i] for stream in refs],
            "sys": {name: {"hyp": lines[i]} for name, lines in hyps.items()},
        }
        for i in range(len(refs[0]))
    ]
    path = folder / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    capsys.readouterr()
    assert main(["qarla", str(path), "--trees", "-m", *metrics, "-f", "json", "-q"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("given", ["written", "beside the text"])
@pytest.mark.parametrize("metrics", [METRICS, METRICS[::-1]])
def test_the_qarla_panel_has_all_metrics(parsed, given, metrics, tmp_path, capsys):
    """Token-only means were once dropped from it when trees were given."""
    hyps, refs = parsed
    texts, trees = (hyps, refs), True
    if given != "written":
        lines = {name: list(map(leaves, own)) for name, own in hyps.items()}
        texts, trees = (lines, [list(map(leaves, own)) for own in refs]), (hyps, refs)
    page = read_page(tm.report(*texts, metrics, tmp_path / "r.html", trees=trees))
    found = page.meta["qarla"]
    assert list(found["kings"]) == metrics
    expected = qarla_of_the_command(hyps, refs, tmp_path, capsys, metrics)
    assert found["cases"] == expected["cases"] == 9
    for key in ("kings", "queens"):
        assert found[key] == {name: json_number(v) for name, v in expected[key].items()}
    assert found["best"]["metrics"] == expected["best"]["metrics"]
    assert found["best"]["king"] == json_number(expected["best"]["king"])
    assert found["jack"] == json_number(expected["jacks"]["all"])
    assert len({*found["kings"].values(), *found["queens"].values()}) > 2  # nothing is trivial


def test_no_qarla_panel_without_three_references_or_two_systems(parsed, tmp_path):
    hyps, refs = parsed
    for own, streams in ((hyps, refs[:2]), ({"A": hyps["A"]}, refs)):
        page = read_page(tm.report(own, streams, ["stm"], tmp_path / "r.html", trees=True))
        assert page.meta["qarla"] is None


def test_an_error_of_the_qarla_panel_is_not_swallowed(parsed, tmp_path, monkeypatch):
    hyps, refs = parsed

    def fails(*arguments):
        raise tm.TensorMTError("this error must be seen")

    monkeypatch.setattr("tensormt.reporting.overview.similarity_tensors_from_segments", fails)
    with pytest.raises(tm.TensorMTError, match="this error must be seen"):
        tm.report(hyps, refs, METRICS, tmp_path / "r.html", trees=True)
