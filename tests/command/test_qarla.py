"""`tensormt qarla`: what it prints is what the library computes."""

import json
import sys

import pytest
import torch

from tensormt.command.main import build_parser, main
from tensormt.data.human_scores import read_jsonl
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.qarla.from_texts import is_paper_measure, similarity_tensors_from_segments
from tensormt.qarla.summary import SummaryOptions, summarize

ROWS = [
    {
        "refs": ["the cat sat on the mat .", "a cat sat on the mat .", "the cat sits on a mat ."],
        "sys": {"poor": ["mat cat", 1], "good": ["the cat sat on a mat .", 5], "odd": ["a dog", 2]},
    },
    {
        "refs": ["it rained all day .", "the rain fell all day .", "all day long it rained ."],
        "sys": {"poor": ["day", 1], "good": ["it rained the whole day .", 4], "odd": ["", 0]},
    },
    {
        "refs": ["nobody knew .", "no one knew .", "nobody knew it .", "it was not known ."],
        "sys": {"poor": ["nobody", 2], "good": ["nobody knew that .", 5], "odd": ["who knew", 3]},
    },
]
METRICS = ["rouge1", "vector", "bleu:max_order=2"]


@pytest.fixture
def jsonl(tmp_path):
    lines = []
    for row in ROWS:
        systems = {
            name: {"hyp": hyp, "scores": {"fluency": score}}
            for name, (hyp, score) in row["sys"].items()
        }
        lines.append(json.dumps({"doc": "d", "refs": row["refs"], "sys": systems}))
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run(*words):
    args = build_parser(["qarla"]).parse_args(["qarla", *map(str, words)])
    assert args.run(args) == 0


def test_json_is_the_report(jsonl, capsys, tmp_path):
    run(jsonl, "-m", *METRICS, "--human", "fluency", "--exclude", "rouge1", "-f", "json",
        "--subset", "short=poor,odd", "--triples", "all", "--literal")  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    test = read_jsonl(jsonl)
    ours = Evaluator([n for n in METRICS if not is_paper_measure(n)])
    tensors = similarity_tensors_from_segments(test, METRICS, ours)
    human = {name: torch.from_numpy(table) for name, table in test.human.items()}
    options = SummaryOptions("all", leave_one_out=False, exclude=("rouge1",))
    expected = summarize(tensors, test.systems, options, {"short": ["poor", "odd"]}, human)
    assert found["kings"] == expected.kings
    assert found["queens"] == expected.queens
    assert found["best"] == expected.best
    assert found["jacks"] == expected.jacks
    assert found["cases"] == 3


def test_text_shows_every_part(jsonl, capsys, tmp_path):
    run(jsonl, "-m", *METRICS, "--human", "fluency", "--plots", tmp_path / "figures")
    text = capsys.readouterr().out
    for part in ("KING", "best set: ", "QUEEN", "fluency", "pearson with QUEEN", "JACK",
                 "humans ranked first", "QUEEN(rouge1)", "KING against correlation"):  # fmt: skip
        assert part in text
    assert (tmp_path / "figures" / "king.png").exists()
    run(jsonl, "-m", "rouge1", "--include", "rouge1")
    assert "fluency" not in capsys.readouterr().out


def test_twenty_metrics_and_more_are_searched_greedily(jsonl, capsys):
    """One metric at a time is added as long as KING rises; the definition, in plain Python."""
    rouge = [f"rouge:variant={v},balance={b}" for v in "1234l" for b in ("recall", "f1")]
    names = [*rouge, *(f"vector-{n}" for n in range(1, 9)), "bleu", "chrf", "wer", "cer", "per"]
    assert len(names) > 20
    run(jsonl, "-m", *names, "--human", "fluency", "-f", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"] == names
    assert found["king_and_correlation"] is None
    ours = Evaluator([n for n in names if not is_paper_measure(n)])
    tensors = similarity_tensors_from_segments(read_jsonl(jsonl), names, ours)

    def king(members):
        part = tensors.take(metrics=sorted(members))
        return part.king_sets()[-1].item() if len(members) <= 16 else 0.0

    chosen, reached = [], -1.0
    while len(chosen) < len(names):
        left = [k for k in range(len(names)) if k not in chosen]
        best = max(left, key=lambda k: king([*chosen, k]))  # the first of equal ones
        if king([*chosen, best]) <= reached:
            break
        chosen, reached = [*chosen, best], king([*chosen, best])
    assert found["best"] == {"metrics": [names[k] for k in sorted(chosen)], "king": reached}
    assert found["kings"].keys() == set(names)


def test_mistakes(jsonl):
    with pytest.raises(TensorMTError, match="--subset 'x': expected NAME=SYSTEM,SYSTEM"):
        run(jsonl, "-m", "rouge1", "--subset", "x")
    with pytest.raises(TensorMTError, match="no metric named 'rouge9'"):
        run(jsonl, "-m", "rouge9")
    with pytest.raises(TensorMTError, match=r"segment 1 has 2 references.*needs at least 3"):
        run(jsonl, "-m", "rouge1", "--max-references", 2)
    with pytest.raises(TensorMTError, match="no segment has outputs of two systems"):
        run(jsonl, "-m", "rouge1", "--without", "poor", "odd")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--triples", "distinct"],
         "segment 1 has 3 references: QARLA (triples 'distinct') compares a reference with others "
         "and needs at least 4 in every segment; leave out the 2 of 3 segments that have fewer "
         "(--min-references 4)"),
        (["--max-references", "1"],
         "segment 1 has 1 reference: QARLA (triples 'pairs') compares a reference with others and "
         "needs at least 3 in every segment; no segment has so many, so that QARLA cannot be used "
         "on this test set"),
        (["--without", "poor", "odd"],
         "no segment has outputs of two systems of 'all': JACK compares two, give more systems"),
        (["--subset", "x=good,none"],
         "subset 'x': there is no system 'none', use good, odd, poor"),
        (["--include", "chrf"], "metric 'chrf' is not measured: there are hwcm"),
        (["--human", "x"], "there is no human score 'x': the test set has fluency"),
        (["-m", "hwcm", "vector-x"], "'vector-x': expected a number of terms, as in vector-8"),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_any_text_is_parsed(jsonl, monkeypatch, capsys, words, message):
    def parse(*args, **options):
        raise AssertionError("parsed")

    monkeypatch.setattr("tensormt.parser.parser.Parser.parse", parse)
    assert main(["qarla", str(jsonl), "-m", "hwcm", "--no-cache", "-q", *words]) == 2
    assert capsys.readouterr().err == f"tensormt: {message}\n"


def test_segments_keep_their_numbers(jsonl, capsys):
    """Segment 3 is the only one with four references; with three triples need no more."""
    assert main(["qarla", str(jsonl), "-m", "rouge1", "--min-references", "4", "-q"]) == 0
    capsys.readouterr()
    words = ["--min-references", "4", "--max-references", "2"]
    assert main(["qarla", str(jsonl), "-m", "rouge1", "-q", *words]) == 2
    assert "segment 3 has 2 references" in capsys.readouterr().err


def test_plots_need_matplotlib_before_any_text_is_parsed(jsonl, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("tensormt.parser.parser.Parser.parse", None)
    with pytest.raises(TensorMTError, match="plots need matplotlib"):
        run(jsonl, "-m", "hwcm", "--no-cache", "--plots", tmp_path / "figures")


def test_what_the_best_sets_contain_is_said(jsonl, capsys):
    run(jsonl, "-m", *METRICS, "--exclude", "vector", "--include", "bleu:max_order=2")
    [found] = [line for line in capsys.readouterr().out.splitlines() if "best set without" in line]
    assert found.startswith("best set without vector: ")
    assert "bleu:max_order=2" in found
    many = [f"vector-{n}" for n in range(1, 18)]
    run(jsonl, "-m", *many, "--human", "fluency")
    out = capsys.readouterr().out
    assert "best set (greedy search): vector-" in out
    assert out.endswith("KING against correlation: left out, for it takes all sets of 17 metrics\n")


def test_scores_of_another_tool_are_correlated_as_human_ones(jsonl, tmp_path, capsys):
    table = tmp_path / "scores.txt"
    lines = [f"{name}\t{row['sys'][name][1]}" for name in ("poor", "good", "odd") for row in ROWS]
    table.write_text("\n".join(lines) + "\n")
    words = ["qarla", str(jsonl), "-m", "rouge1", "vector", "-q", "-f", "json", "--scores"]
    words += [f"COMET={table}", f"ERR={table}", "--lower-is-better", "ERR", "--human", "fluency"]
    assert main(words) == 0
    human = json.loads(capsys.readouterr().out)["human"]
    assert list(human) == ["fluency", "COMET", "ERR"]
    assert human["COMET"] == human["fluency"]
    assert human["ERR"]["pearson"] == pytest.approx(-human["fluency"]["pearson"])
    table.write_text("\n".join(["poor\tnan", *lines[1:]]) + "\n")
    assert main(words) == 0
    assert "1 outputs have no score of COMET: its means are" in capsys.readouterr().err
    assert main([*words[:9], f"fluency={table}"]) == 2
    assert "there is a human score fluency, choose another name" in capsys.readouterr().err
