"""`tensormt metaeval`: what it prints is what the library computes."""

import json
import random
import sys

import numpy as np
import pytest
import torch
from metaeval.wmt_samples import PAIRS, write_folder

from tensormt import metaeval
from tensormt.command import metaeval as command
from tensormt.command.main import build_parser, main
from tensormt.data import human_scores as data
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metaeval.scores import evaluate_metrics
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
    args = build_parser(["metaeval"]).parse_args(["metaeval", *map(str, words)])
    assert args.run(args) == 0


@pytest.mark.parametrize("grouping", [[], ["--grouping", "none"]])
def test_json_holds_every_row(jsonl, capsys, grouping):
    run(jsonl, "-m", "bleu", "bleu:max_order=1", "--level", "segment", "document", "system",
        "-f", "json", "--bootstrap", 20, "--test", *grouping)  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 2 * 3 * 3
    name = grouping[1] if grouping else "segment"
    for each in (*found["rows"], *found["tests"]):
        assert each["grouping"] == (None if each["level"] == "system" else name)
    assert {row["human"] for row in found["rows"]} == {"fluency"}
    assert all(row["signature"].startswith("BLEU|order:") for row in found["rows"])
    assert all(row["low"] <= row["high"] for row in found["rows"])
    assert len(found["tests"]) == 3 * 3
    test = data.read_jsonl(jsonl)
    (column,) = evaluate_metrics(Evaluator(["bleu"]), test)
    human = torch.from_numpy(test.human_scores("fluency"))
    for level, expected in (
        ("segment", metaeval.correlate(human, column.segments, grouping=name)),
        ("system", metaeval.correlate_systems(human.mean(dim=1), column.systems())),
    ):
        row = next(row for row in found["rows"] if row["level"] == level)
        assert (row["metric"], row["statistic"]) == ("bleu", "pearson")
        assert row["signature"] == column.signature
        assert row["value"] == pytest.approx(expected.item())


def test_tables_as_in_the_papers(jsonl, capsys):
    run(jsonl, "-m", "bleu", "--orders", 1, 2, "--statistic", "pearson", "--human", "fluency")
    lines = capsys.readouterr().out.split("\n")
    head = "fluency, segment level, grouped by segment, pearson"
    assert lines[0].rsplit(maxsplit=1) == [head, "bleu"]
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
    expected = metaeval.correlate(tables[0], tables[1], "tau_b", "segment").item()
    assert rows[0]["value"] == pytest.approx(expected)
    docs.write_text("news\td1\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"x.docs has 1 lines.*has 8 scores a system"):
        run(files[0], "--scores", files[1], "--docs", docs)
    with pytest.raises(TensorMTError, match="goes with one file of human scores, got 2"):
        run(files[0], files[1], "--scores", files[2])
    with pytest.raises(TensorMTError, match="-m ter: score files have no texts"):
        run(files[0], "--scores", files[1], "-m", "ter")
    with pytest.raises(TensorMTError, match="holds scores, not texts: name the files of --scores"):
        run(files[0], "--scores", f"X={files[1]}")


def test_trees_are_parsed_once_and_kept(jsonl, capsys, monkeypatch, tmp_path):
    seen = []

    class Flat:
        fingerprint, kind = "flat-1", "constituency"

        @classmethod
        def load(cls, name, trusted, device, lang):
            assert (name, trusted, lang) == ("flat", False, None)
            return cls()

        def parse(self, lines, progress):
            progress(len(lines))
            seen.extend(lines)
            flat = [" ".join(f"(X {word})" for word in line.split()) for line in lines]
            return TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in flat])

    monkeypatch.setattr("tensormt.parser.registry.Parser", Flat)
    for _ in range(2):
        run(jsonl, "-m", "stm", "hwcm", "--orders", 2, "--parser", "flat", "--statistic", "pearson",
            "--cache", tmp_path / "parses", "-f", "json")  # fmt: skip
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert {row["metric"] for row in rows} == {"stm-2", "hwcm-2"}
        assert all("|refs:2|parser:flat-1|" in row["signature"] for row in rows)
    assert len(seen) == len(set(seen))


def test_no_human_scores(tmp_path):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"refs": ["a b"], "sys": {"x": {"hyp": "a"}}}', encoding="utf-8")
    with pytest.raises(TensorMTError, match="the test set has no human scores"):
        run(path)


def test_names_are_the_librarys():
    from tensormt import significance
    from tensormt.command import compare as compare_command
    from tensormt.metaeval import config, grouping, permutation_test, scores, wmt_tables

    assert command.LEVELS == scores.LEVELS
    assert command.STATISTICS == config.ALL_STATISTICS
    assert command.GROUPINGS == grouping.GROUPINGS
    assert command.UNITS == permutation_test.UNITS
    assert command.TABLES == wmt_tables.TABLES
    assert (compare_command.SAMPLES, compare_command.SEED) == (
        significance.SAMPLES,
        significance.SEED,
    )


def test_the_difference_tested_is_that_of_the_table(jsonl, capsys):
    run(jsonl, "-m", "bleu", "bma", "--level", "segment", "document", "system", "mean", "--test",
        "--statistic", "pearson", "tau_b", "accuracy", "-f", "json",
        "--permutations", 20)  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    values = {(r["metric"], r["level"], r["statistic"]): r["value"] for r in found["rows"]}
    assert len(found["tests"]) == 4 * 3
    for test in found["tests"]:
        level, name = test["level"], test["statistic"]
        expected = values["bleu", level, name] - values["bma", level, name]
        assert test["difference"] == pytest.approx(expected, abs=1e-9)


def test_what_goes_with_a_test(jsonl, capsys):
    run(jsonl, "-m", "bleu", "bma", "nist", "--level", "system", "--statistic", "pearson", "--test",
        "williams", "--correction", "holm", "--fisher")  # fmt: skip
    text = capsys.readouterr().out
    assert "p (corrected)" in text
    assert " p=" in text
    run(jsonl, "-m", "bleu", "bma", "--level", "segment", "--statistic", "accuracy_ties", "--test",
        "--grouping", "segment", "--units", "pairs", "--permutations", 20,
        "--one-sided")  # fmt: skip
    assert "(ε " in capsys.readouterr().out
    with pytest.raises(TensorMTError, match="a corpus score belongs to a system"):
        run(jsonl, "-m", "bleu", "bma", "--level", "system", "--test", "--units", "both")
    with pytest.raises(TensorMTError, match="Williams' test is for Pearson"):
        run(jsonl, "-m", "bleu", "bma", "--statistic", "tau_b", "--test", "williams")


def test_undefined_numbers_are_null(tmp_path, capsys):
    rows = [
        {
            "refs": ["a b c"],
            "sys": {s: {"hyp": "a b c", "scores": {"f": k}} for k, s in enumerate("xy")},
        }
    ]
    path = tmp_path / "same.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run(path, "-m", "bleu", "bma", "-f", "json", "--test", "--permutations", 5, "--bootstrap", 5)
    text = capsys.readouterr().out
    assert "NaN" not in text
    assert json.loads(text)["rows"][0]["value"] is None


@pytest.fixture
def folder(tmp_path):
    """A test set in mt-metrics-eval's layout, two language pairs."""
    random = torch.Generator().manual_seed(0)
    root = tmp_path / "wmt99"
    for pair in ("zh-en", "en-de"):
        refs = [sentence(random, 9) for _ in range(8)]
        files = {
            f"documents/{pair}.docs": [f"news\td{i // 2}" for i in range(8)],
            f"references/{pair}.refA.txt": refs,
            f"references/{pair}.refB.txt": [sentence(random, 9) for _ in range(8)],
            f"system-outputs/{pair}/refA.txt": refs,
        }
        human, stored = [], []
        for s in range(4):
            files[f"system-outputs/{pair}/s{s}.txt"] = [
                " ".join(ref.split()[: 3 + 2 * s]) + " " + sentence(random, 2) for ref in refs
            ]
            for i in range(8):
                score = s + torch.rand((), generator=random).item()
                human.append(f"s{s}\t{'None' if (s, i) == (0, 3) else score}")
                stored.append(f"s{s}\t{-score if s == 2 else score}")
        files[f"system-outputs/{pair}/s1.txt"][2] = "[No translation supplied]"
        files[f"human-scores/{pair}.mqm.seg.score"] = human
        files[f"human-scores/{pair}.da.sys.score"] = ["s0\t1"]  # of a score without segments
        files[f"metric-scores/{pair}/COMET-refA.seg.score"] = stored
        files[f"metric-scores/{pair}/QE-src.seg.score"] = stored
        files[f"metric-scores/{pair}/OTHER-refB.seg.score"] = stored
        for name, lines in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def test_a_folder_of_mt_metrics_eval(folder, capsys, tmp_path):
    run(folder, "--lp", "zh-en", "-m", "bleu", "--statistic", "pearson", "-f", "json",
        "--write-scores", tmp_path / "ours")  # fmt: skip
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["metric"] for row in rows] == ["bleu", "COMET", "QE"] * 2
    written = data.read_scores(tmp_path / "ours" / "bleu-refA.seg.score")
    assert list(written) == ["s0", "s1", "s2", "s3"]
    human = data.read_scores(folder / "human-scores" / "zh-en.mqm.seg.score")
    tables = [torch.tensor([t[s] for s in written], dtype=torch.float64) for t in (human, written)]
    assert tables[1][1, 2].isnan()
    expected = metaeval.correlate(*tables, grouping="segment").item()
    assert rows[0]["value"] == pytest.approx(expected, abs=1e-12)
    assert len(data.read_scores(tmp_path / "ours" / "bleu-refA.sys.score")["s1"]) == 1
    # what we wrote is read again
    (tmp_path / "ours" / "bleu-refA.seg.score").rename(
        folder / "metric-scores" / "zh-en" / "ours-refA.seg.score"
    )
    run(folder, "--lp", "zh-en", "-m", "bleu", "--stored", "ours", "--level", "segment",
        "--statistic", "pearson", "-f", "json")  # fmt: skip
    again = json.loads(capsys.readouterr().out)["rows"]
    assert [row["metric"] for row in again] == ["bleu", "ours"]
    assert again[1]["value"] == pytest.approx(again[0]["value"], abs=1e-12)


def put(path, rows):
    path.write_text("".join(f"{name}\t{score}\n" for name, score in rows.items()))


def test_published_scores_of_systems(folder, capsys):
    """`.sys.score`: of people and of metrics, in the place of means of segments."""
    human = {"s0": 1.0, "s1": 5.0, "s2": 2.0, "s3": 9.0}
    corpus = {"s0": 3.0, "s1": 1.0, "s2": 4.0, "s3": 4.5}
    asked = ["--lp", "zh-en", "-m", "bleu", "--statistic", "pearson", "-f", "json"]
    run(folder, *asked)
    before = {(r["metric"], r["level"]): r["value"] for r in read(capsys)["rows"]}
    put(folder / "human-scores" / "zh-en.mqm.sys.score", human)
    put(folder / "metric-scores" / "zh-en" / "CORPUS-refA.sys.score", corpus)
    put(folder / "metric-scores" / "zh-en" / "QE-src.sys.score", corpus)
    run(folder, *asked, "--bootstrap", 20, "--draw", "systems")
    rows = {(r["metric"], r["level"]): r for r in read(capsys)["rows"]}
    expected = float(np.corrcoef(list(human.values()), list(corpus.values()))[0, 1])
    for name in ("CORPUS", "QE"):
        assert rows[name, "system"]["value"] == pytest.approx(expected, abs=1e-12)
        assert rows[name, "system"]["low"] <= expected <= rows[name, "system"]["high"]
    assert rows["CORPUS", "segment"]["value"] is None
    assert rows["QE", "segment"]["value"] == before["QE", "segment"]
    assert rows["bleu", "system"]["value"] != before["bleu", "system"]
    # segments of a published score cannot be drawn: no interval, rather than that of another number
    run(folder, *asked, "--bootstrap", 20, "--level", "system", "mean", "--test", "williams")
    found = read(capsys)
    rows = {(r["metric"], r["level"]): r for r in found["rows"]}
    assert rows["QE", "system"]["low"] is None
    assert rows["QE", "mean"]["low"] is not None
    gaps = {(t["first"], t["second"], t["level"]): t["difference"] for t in found["tests"]}
    gap = rows["bleu", "system"]["value"] - rows["QE", "system"]["value"]
    assert gaps["bleu", "QE", "system"] == pytest.approx(gap, abs=1e-12)
    # files with the means of segments change nothing
    scores = data.read_scores(folder / "human-scores" / "zh-en.mqm.seg.score")
    put(folder / "human-scores" / "zh-en.mqm.sys.score",
        {name: np.nanmean(row) for name, row in scores.items()})  # fmt: skip
    (folder / "metric-scores" / "zh-en" / "QE-src.sys.score").unlink()
    run(folder, *asked, "--bootstrap", 20)
    rows = {(r["metric"], r["level"]): r for r in read(capsys)["rows"]}
    assert rows["QE", "system"]["value"] == before["QE", "system"]
    assert rows["QE", "system"]["low"] is not None


def read(capsys):
    return json.loads(capsys.readouterr().out)


def test_the_command_of_the_docs(folder, capsys):
    """Scores the outputs, with trees too, reads other metrics' scores, prints the table."""
    run(folder, "--lp", "zh-en", "-m", "bleu", "chrf", "blend")
    out = capsys.readouterr().out
    tables = out.strip().split("\n\n")
    assert [table.split("  ")[0] for table in tables[:2]] == [
        "mqm, segment level, grouped by segment",
        "mqm, system level",
    ]
    assert tables[2:] == ["zh-en: 4 systems, refA, mqm"]
    for table in tables[:2]:
        names = [line.split()[0] for line in table.split("\n")[1:]]
        assert names == ["bleu", "chrf", "blend", "COMET", "QE"]


def test_an_interval_of_spa(folder, capsys):
    run(folder, "--lp", "zh-en", "-m", "bleu", "--level", "system", "--statistic", "spa",
        "--bootstrap", 30, "--spa-permutations", 50, "-f", "json")  # fmt: skip
    for row in read(capsys)["rows"]:
        assert row["low"] <= row["high"]
        assert 0 <= row["low"] <= row["value"] + 0.2


def test_the_whole_table_from_one_command(folder, capsys, tmp_path):
    arguments = ["-m", "bleu", "--table", "wmt24", "--permutations", 30, "--spa-permutations", 40]
    run(folder, *arguments, "--plots", tmp_path / "figures")
    lines = capsys.readouterr().out.split("\n")
    assert "en-de, system: SPA" in lines[0]
    assert "zh-en, segment: acc_eq" in lines[0]
    assert {line.split()[0] for line in lines[1:4]} == {"bleu", "COMET", "QE"}
    assert (tmp_path / "figures" / "average.png").exists()
    run(folder, *arguments, "-f", "json", "--units", "pairs")
    found = json.loads(capsys.readouterr().out)
    assert len(found["tasks"]) == 5
    run(folder, *arguments, "-f", "latex")
    assert capsys.readouterr().out.startswith(r"\begin{tabular}")


@pytest.fixture
def wmt23(tmp_path):
    return write_folder(tmp_path / "wmt23")


@pytest.mark.heavy(needs="minutes")
def test_a_table_of_several_languages(wmt23, capsys):
    """One command: references, language, human score and systems of each pair as WMT has them."""
    arguments = ["--lp", *PAIRS, "-m", "bleu", "hwcm:balance=f1", "--table", "wmt24",
                 "--permutations", 20, "--spa-permutations", 20]  # fmt: skip
    run(wmt23, *arguments)
    out, err = capsys.readouterr()
    table, notes = out.strip().split("\n\n")
    assert {line.split()[0] for line in table.split("\n")[1:]} == {
        "bleu", "hwcm:balance=f1", "COMET", "QE",
    }  # fmt: skip
    assert notes.split("\n")[1:] == [
        "zh-en: 4 systems, refA, mqm; human outputs left out: refB, synthetic_ref",
        "he-en: 4 systems, refB, mqm; human outputs left out: refA, synthetic_ref",
        "en-de: 4 systems, refA, mqm; human outputs left out: refB, synthetic_ref",
        "Left out, not in every language pair: GERMAN.",
    ]
    run(wmt23, *arguments, "--references", "he-en=refA", "--human-outputs", "-f", "json")
    found = read(capsys)
    assert [own["references"] for own in found["sets"]] == [["refA"]] * 3
    assert [len(own["systems"]) for own in found["sets"]] == [6, 6, 6]
    assert found["not_in_every_pair"] == ["GERMAN"]
    run(wmt23, *arguments, "--no-clusters", "--plots", wmt23 / "figures")
    _, first = capsys.readouterr().out.split("\n")[:2]
    assert len(first.split()) == 1 + 7  # name, average and six tasks
    assert (wmt23 / "figures" / "average.png").exists()
    run(wmt23, *arguments, "-f", "tsv")
    out, err = capsys.readouterr()
    assert out.startswith("metric\taverage\tzh-en, system: SPA\t")
    assert "he-en: 4 systems, refB, mqm; human outputs left out: refA, synthetic_ref" in err


def test_the_pair_names_the_language_of_the_parser(wmt23, capsys):
    run(wmt23, "--lp", "he-en", "en-de", "-m", "hwcm", "--stored", "none", "--level", "system",
        "--statistic", "pearson", "--human", "mqm", "-f", "json")  # fmt: skip
    he, de = (row["signature"] for row in read(capsys)["rows"])
    assert "|parser:english-" in he
    assert "|parser:ud-" in de
    assert ":de+" in de
    run(wmt23, "--lp", "en-de", "-m", "hwcm", "--stored", "none", "--level", "system",
        "--statistic", "pearson", "--human", "mqm", "-f", "json", "--lang", "nl")  # fmt: skip
    assert ":nl+" in read(capsys)["rows"][0]["signature"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stored", "X"], "no scores of 'X' for zh-en"),
        (["--references", "he-en="], "--references 'he-en=': expected NAME or LP=NAME,NAME"),
        (["--table", "wmt24", "--human", "mqm", "da-sqm"], "--table takes one human score"),
        (["--permutations", "0"], "permutations is 0"),
        (["--bootstrap", "-1"], "resamples is -1"),
        (["--confidence", "1"], "confidence is 1"),
        (["--grouping", "pooled"], "grouping 'pooled' needs a statistic of pairs"),
        (["--test", "williams"], "Williams' test"),
        (["--test", "--units", "both"], "a corpus score belongs to a system"),
        (["--human", "esa"], "no human score 'esa'"),
    ],
)
def test_mistakes_are_told_before_any_text_is_parsed(wmt23, monkeypatch, words, message):
    def parse(*args, **options):
        raise AssertionError("parsed")

    monkeypatch.setattr("tensormt.parser.parser.Parser.parse", parse)
    with pytest.raises(TensorMTError, match=message):
        run(wmt23, "--lp", *PAIRS, "-m", "hwcm", "--cache", wmt23 / "cache", *words)


def test_plots_need_matplotlib_before_any_text_is_parsed(wmt23, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("tensormt.parser.parser.Parser.parse", None)
    with pytest.raises(TensorMTError, match="plots need matplotlib"):
        run(wmt23, "-m", "hwcm", "--no-cache", "--plots", wmt23 / "figures")


def test_options_of_folders_need_a_folder(jsonl):
    with pytest.raises(TensorMTError, match="--stored are for a folder of mt-metrics-eval"):
        run(jsonl, "--stored", "COMET")


def test_wrong_folders(folder, tmp_path):
    with pytest.raises(TensorMTError, match="has no folder system-outputs"):
        run(tmp_path)
    with pytest.raises(TensorMTError, match=r"xx-yy.docs cannot be read"):
        run(folder, "--lp", "xx-yy")
    with pytest.raises(TensorMTError, match="no reference 'refC' of zh-en: use refA, refB"):
        run(folder, "--lp", "zh-en", "--references", "refC")
    with pytest.raises(TensorMTError, match="no scores of 'X' for zh-en: COMET, QE"):
        run(folder, "--lp", "zh-en", "--stored", "X")
    (folder / "system-outputs" / "zh-en" / "s1.txt").write_text("one\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"s1.txt has 1 lines, the documents have 8"):
        run(folder, "--lp", "zh-en")


def test_scores_of_another_tool_beside_the_metrics(tmp_path, capsys):
    """Scores that equal the human ones correlate perfectly; error rates are turned round."""
    rng = random.Random(5)
    rows, lines = [], ["system\tsegment\tCOMET\tERR"]
    for k in range(1, 7):
        human = {name: rng.random() for name in "abc"}
        systems = {n: {"hyp": f"a {n} {k}", "scores": {"q": x}} for n, x in human.items()}
        rows.append({"refs": [f"a b {k}"], "sys": systems})
        lines += [f"{name}\t{k}\t{score}\t{-score}" for name, score in human.items()]
    path, table = tmp_path / "data.jsonl", tmp_path / "scores.tsv"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table.write_text("\n".join(lines) + "\n")
    words = ["metaeval", str(path), "-m", "chrf", "-f", "json", "-q", "--statistic", "pearson"]
    words += ["--scores", f"COMET={table}", f"ERR={table}", "--lower-is-better", "ERR"]
    assert main([*words, "--level", "segment", "--grouping", "none"]) == 0
    found = {row["metric"]: row["value"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert found["COMET"] == pytest.approx(1)
    assert found["ERR"] == pytest.approx(1)
    assert abs(found["chrf"]) < 0.99
    assert main([*words[:-1], "X"]) == 2
    assert "--lower-is-better X: there are no --scores of that name" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["tsv", "latex"])
def test_tests_of_metrics_are_a_table_of_their_own(jsonl, capsys, form):
    words = ["metaeval", str(jsonl), "-m", "wer", "chrf", "-q", "--statistic", "pearson", "--test"]
    assert main([*words, "--level", "system", "--permutations", "9", "-f", form]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.count("pearson") == 2
    assert second.count("pearson") == 1
    assert "difference" in second
    assert ("WER|" in first) == (form == "tsv")


def test_a_page_overwrites_no_input(jsonl, tmp_path, capsys):
    """Neither the data, nor scores, nor documents."""
    scores = tmp_path / "x.txt"
    scores.write_text("1\n" * 12)
    for spec, out in ((f"X={scores}", scores), (f"X={jsonl},{scores}", scores), ("X=x", jsonl)):
        before = out.read_bytes()
        options = ["--scores", "Y=y", spec, "--report", str(out)]
        assert main(["metaeval", str(jsonl), "-m", "wer", *options]) == 2
        assert f"{out.name} is an input of this run" in capsys.readouterr().err
        assert out.read_bytes() == before
    docs = tmp_path / "d.docs"
    docs.write_text("a\n")
    options = ["--scores", str(scores), "--docs", str(docs), "--report"]
    for out in (scores, docs):
        assert main(["metaeval", "h.seg.score", *options, str(out)]) == 2
        assert "is an input of this run" in capsys.readouterr().err
