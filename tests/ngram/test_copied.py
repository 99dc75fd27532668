"""Copied against its definition in plain Python, and the ways of the source text to it."""

import json
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.command.main import main
from tensormt.errors import TensorMTError
from tensormt.inputs import SourceBatch
from tensormt.scale import score_files
from tensormt.train import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore

LINE = st.lists(st.sampled_from(["a", "A", "b", "c", "."]), max_size=6).map(" ".join)


def oracle(hyp, source, refs, borrowed, lowercase):
    """Copied words, and words."""
    lines = [line.lower() if lowercase else line for line in (hyp, source, *filter(None, refs))]
    own, theirs, *others = (Counter(line.split()) for line in lines)
    copied = 0
    for word, count in own.items():
        lent = max((ref[word] for ref in others), default=0) if borrowed else 0
        copied += max(0, min(count, theirs[word]) - lent)
    return [1, copied, sum(own.values())]


@pytest.mark.parametrize("borrowed", [True, False])
@pytest.mark.parametrize("lowercase", [True, False])
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(LINE, LINE, LINE, st.none() | LINE), min_size=1, max_size=5))
def test_statistics_are_those_of_the_definition(borrowed, lowercase, rows):
    hyp, source, *refs = (
        tm.TokenBatch.from_text(list(column), "none") for column in zip(*rows, strict=True)
    )
    metric = tm.Copied(borrowed=borrowed, tokenize="none", lowercase=lowercase)
    found = metric.statistics(SourceBatch(hyp, source), refs)
    expected = [oracle(h, s, refs, borrowed, lowercase) for h, s, *refs in rows]
    assert found.tolist() == expected
    scores = metric(SourceBatch(hyp, source), refs)
    assert scores.tolist() == [number / max(words, 1) for _, number, words in expected]


HYPS = ["Der Hund von BBC", "the dog of the BBC", "", "the the"]
REFS = [["the dog of the BBC"] * 3 + ["the"]]
SOURCES = ["Der Hund von BBC", "der Hund von BBC", "der", "the the the"]
VALUES = [0.75, 0, 0, 0.5]


@pytest.mark.filterwarnings("ignore:. of . outputs are empty")
def test_all_ways_of_the_source_give_the_same():
    found = tm.score(HYPS, REFS, ["copied", "copied:borrowed=no"], sources=SOURCES)
    assert found.segments["copied"].tolist() == VALUES
    assert found.segments["copied:borrowed=no"].tolist() == [1, 0.2, 0, 1]
    rows = [[ref] for ref in REFS[0]]
    reward = TextReward("copied")
    assert reward(HYPS, rows, SOURCES).tolist() == [1 - value for value in VALUES]
    grpo = reward.grpo("refs", source="src")
    assert grpo(completions=HYPS, refs=rows, src=SOURCES) == [1 - value for value in VALUES]
    verl = reward.verl(source="src")
    assert verl("", HYPS[0], rows[0], {"src": SOURCES[0]}) == 0.25
    infos = [{"src": source} for source in SOURCES]
    many = verl(solution_strs=HYPS, ground_truths=rows, extra_infos=infos)
    assert many == [1 - value for value in VALUES]
    torched = TorchScore("copied")
    torched.update(HYPS[:2], rows[:2], SOURCES[:2])
    torched.update(HYPS[2:], rows[2:], SOURCES[2:])
    assert torched.compute().item() == found.corpus["copied"]
    table = {"h": HYPS, "r": rows, "s": SOURCES}
    assert tm.score("h", "r", ["copied"], sources="s", data=table).corpus["copied"] == 4 / 11
    other = tm.compare({"A": HYPS, "B": HYPS[::-1]}, REFS, metrics=["copied"], sources=SOURCES)
    assert other.scores["copied"]["A"] == found.corpus["copied"]


def test_as_a_penalty_in_a_mean():
    spec = "chrf+copied"
    found = tm.score(HYPS[:2], [REFS[0][:2]], [spec, "chrf", "copied"], sources=SOURCES[:2])
    expected = found.segments["chrf"] / 200 + (1 - found.segments["copied"]) / 2
    assert torch.allclose(found.segments[spec], expected)


@pytest.mark.filterwarnings("ignore:. of . outputs are empty")
def test_files_rows_and_shards(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in (("hyp.txt", HYPS), ("ref.txt", REFS[0]), ("src.txt", SOURCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["-m", "copied", "-f", "json", "-q"]
    assert main(["score", "ref.txt", "-i", "hyp.txt", "--src", "src.txt", *options]) == 0
    values = json.loads(capsys.readouterr().out)["systems"]["hyp.txt"]["copied"]
    assert values["score"] == 4 / 11
    for column, named in (("src", []), ("text", ["--src", "text"])):
        rows = zip(HYPS, REFS[0], SOURCES, strict=True)
        lines = [json.dumps({"hypothesis": h, "reference": r, column: s}) for h, r, s in rows]
        (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        assert main(["score", "-i", "rows.jsonl", *named, *options]) == 0
        found = json.loads(capsys.readouterr().out)["systems"]["rows.jsonl"]["copied"]
        assert found["score"] == values["score"]
    summary = score_files(["rows.jsonl"], "scores", ["copied"], src="text", workers=1)
    assert summary.corpus["copied"] == values["score"]
    for named in (None, "quelle"):
        with pytest.raises(TensorMTError, match=f"no column '{named or 'src'}': it has hypothesis"):
            score_files(["rows.jsonl"], "other", ["copied"], workers=1, src=named)
    assert not (tmp_path / "other").exists()
    rows = [{"hypothesis": "a b", "reference": "c d", "src": text} for text in ("a b", "", None)]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "default.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="2 of 3 segments have no source text"):
        summary = score_files(["default.jsonl"], "default", ["copied"], workers=1)
    assert summary.corpus["copied"] == pytest.approx(1 / 3)
    with pytest.warns(UserWarning, match="2 of 3 segments have no source text"):  # of a done run
        score_files(["default.jsonl"], "default", ["copied"], workers=1)
    assert main(["score", "ref.txt", "-i", "hyp.txt", *options]) == 2
    assert "source text, which is not given: pass sources (--src)" in capsys.readouterr().err
    (tmp_path / "src.txt").write_text("one\n", encoding="utf-8")
    assert main(["score", "ref.txt", "-i", "hyp.txt", "--src", "src.txt", *options]) == 2
    assert "src.txt has 1 lines, hyp.txt has 4" in capsys.readouterr().err


def test_what_is_missing_is_said():
    with pytest.raises(TensorMTError, match="copied compares with the source text, which is not"):
        tm.score(["a"], [["a"]], ["copied"])
    with pytest.raises(TensorMTError, match="the list of sources has 2 segments"):
        tm.score(["a"], [["a"]], ["copied"], sources=["a", "b"])
    with pytest.warns(UserWarning, match="1 of 2 segments have no source text"):
        tm.score(["a", "b"], [["a", "b"]], ["copied"], sources=["a", None])
    batch = tm.TokenBatch.from_text(["a"])
    with pytest.raises(TensorMTError, match=r"pass SourceBatch\(hyp, source\)"):
        tm.Copied()(batch, [batch])
    with pytest.raises(TensorMTError, match="1 hypotheses, 2 sources"):
        SourceBatch(batch, tm.TokenBatch.from_text(["a", "b"]))
    reward = TextReward("copied").grpo(source="src")
    with pytest.warns(UserWarning, match="1 of 2 texts of this batch have no source text"):
        assert reward(completions=["a", "a"], references=["b", "b"], src=[None, "a"]) == [1, 0]
    with pytest.raises(TensorMTError, match="2 completions but source texts for 1: pass one row"):
        reward(completions=["a", "a"], references=["b", "b"], src=["a"])
    with pytest.raises(TensorMTError, match="extra_info has no 'src'"):
        TextReward("copied").verl(source="src")("", "a", ["a"], {})
    with pytest.raises(TensorMTError, match="no column 'src' with source texts, it has refs"):
        TextReward("copied").grpo("refs", source="src")(completions=["a"], refs=[["a"]])
    with pytest.raises(TensorMTError, match=r"holds '.ud800'"):
        tm.score(["a"], [["a"]], ["copied"], sources=["\ud800"])
