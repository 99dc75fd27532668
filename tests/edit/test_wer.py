"""WER and CER against jiwer, PER against its definition; references, case, characters."""

import json
import random

import jiwer
import pytest
import torch
from edit_oracles import bag_distance, best, distance
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.command.main import main
from tensormt.errors import TensorMTError
from tensormt.registry import make
from tensormt.train.text_reward import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore

WORDS = ["a", "b", "A", "the", "cat.", "漢字", "Σ", "é", "don't", "😀"]
LINE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
FILLED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
SPACED = st.text(alphabet="ab  é漢Σ.\u2003\t\u00a0\n", max_size=20)


@given(st.lists(st.tuples(st.one_of(LINE, SPACED), FILLED), min_size=1, max_size=8))
def test_equal_to_jiwer(rows):
    hyps, refs = (list(column) for column in zip(*rows, strict=True))
    found = tm.score(hyps, [refs], metrics=["wer", "cer"])
    for name, peer in (("wer", jiwer.wer), ("cer", jiwer.cer)):
        assert found.corpus[name] == pytest.approx(peer(refs, hyps), abs=1e-12)
        each = [peer(ref, hyp) for hyp, ref in rows]
        assert found.segments[name].tolist() == pytest.approx(each, abs=1e-12)


@given(st.lists(st.tuples(SPACED, SPACED.filter(str.strip)), min_size=1, max_size=6))
def test_white_space_of_characters_as_in_jiwer(rows):
    """White space inside counts, at the ends it does not."""
    hyps, refs = (list(column) for column in zip(*rows, strict=True))
    assert tm.score(hyps, [refs], ["cer"]).corpus["cer"] == pytest.approx(jiwer.cer(refs, hyps))


def test_chinese():
    hyp, ref = "我们 在 北京 见面", "我们 明天 在 北京 见"
    found = tm.score([hyp], [[ref]], metrics=["wer", "cer", "cer:whitespace=no"])
    assert found.corpus["wer"] == jiwer.wer(ref, hyp)
    assert found.corpus["cer"] == jiwer.cer(ref, hyp)
    assert found.corpus["cer:whitespace=no"] == pytest.approx(
        jiwer.cer(ref.replace(" ", ""), hyp.replace(" ", ""))
    )


@pytest.mark.parametrize(("name", "edits"), [("wer", distance), ("per", bag_distance)])
@given(rows=st.lists(st.tuples(LINE, FILLED, LINE, LINE), min_size=1, max_size=5))
def test_best_reference(name, edits, rows):
    """The smallest rate, of equal ones the shortest, in any order; empty references are absent."""
    hyps, *refs = (list(column) for column in zip(*rows, strict=True))
    expected = []
    for hyp, *others in rows:
        words = hyp.split()
        own = [(edits(words, ref.split()), len(ref.split())) for ref in others if ref]
        expected.append(best(own))
    metric = make(name)
    hyp, *streams = tm.TokenBatch.from_texts([hyps, *refs], "none")
    for order in (streams, streams[::-1]):
        rows_found = metric.statistics(hyp, order)
        assert rows_found.dtype == torch.int64
        assert rows_found.tolist() == [[1, count, size] for _, size, count in expected]


def test_batch_equals_segments_one_at_a_time():
    rng = random.Random(5)
    lines = [[" ".join(rng.choices(WORDS, k=rng.randint(1, 90))) for _ in range(40)] for _ in "hrs"]
    for name in ("wer", "cer", "per"):
        whole = tm.score(lines[0], lines[1:], metrics=[name])
        for k in range(40):
            own = tm.score([lines[0][k]], [[lines[1][k]], [lines[2][k]]], metrics=[name])
            assert own.segments[name][0] == whole.segments[name][k]


def test_options():
    hyp, refs = ["The cat ."], [["the cat."]]
    assert tm.score(hyp, refs, ["wer"]).corpus["wer"] == 1.5
    assert tm.score(hyp, refs, ["wer:lowercase=yes"]).corpus["wer:lowercase=yes"] == 1
    spec = "wer:lowercase=yes,tokenize=13a"
    assert tm.score(hyp, refs, [spec]).corpus[spec] == 0
    assert "tok:13a" in tm.WER("13a").signature
    assert "case:lc" in tm.CER(lowercase=True).signature
    with pytest.raises(TensorMTError, match="unknown tokeniser"):
        tm.WER(tokenize="nonsense")


def test_empty_output_and_no_reference():
    found = tm.score(["", "x"], [["a b", "x"]], metrics=["wer", "cer", "per"])
    for name in ("wer", "cer", "per"):
        assert found.segments[name].tolist() == [1, 0]
    with pytest.raises(TensorMTError, match="segment 2 has no reference"):
        tm.score(["a", "b"], [["a", " "]], metrics=["cer"])


def test_token_ids():
    hyp = tm.TokenBatch.from_ids(torch.tensor([[5, 6, 7]]), torch.tensor([3]))
    ref = tm.TokenBatch.from_ids(torch.tensor([[5, 7, 8, 9]]), torch.tensor([3]))
    assert tm.WER()(hyp, [ref]).tolist() == [2 / 3]
    below = [tm.TokenBatch.from_ids(b.ids - 8, b.lengths) for b in (hyp, ref)]
    for metric in (tm.WER(), tm.TER()):
        assert metric(below[0], below[1:]).tolist() == metric(hyp, [ref]).tolist()


def test_lower_is_better_everywhere():
    metric = tm.WER()
    assert metric.higher_is_better is False
    assert metric.on_unit_scale(torch.tensor([0.0, 0.25, 1.0, 3.0])).tolist() == [1, 0.75, 0, 0]
    assert metric.on_unit_scale(0.5) == 0.5
    assert TorchScore(tm.WER()).higher_is_better is False
    reward = TextReward(tm.WER()).grpo(scale=2.0)
    assert reward(completions=["a b", "a c d e f"], references=[["a b"], ["a b"]]) == [2.0, 0.0]


def test_explain():
    [found] = tm.explain("wer", ["a dog ran home"], [["z"], ["the dog home"]])
    assert [str(edit) for edit in found.edits] == [
        "substitution at 1: a → the",
        "insertion at 3: ran",
    ]
    assert [match.text for match in found.matches if match.counted] == ["dog", "home"]
    assert {match.reference for match in found.matches if match.counted} == {1}
    [other] = tm.explain("wer", ["the dog"], [["so the dog ran home"]])
    assert [str(edit) for edit in other.edits] == [
        "deletion at 1: so",
        "deletion at 3: ran",
        "deletion at 3: home",
    ]
    [found] = tm.explain("per", ["home ran dog"], [["the dog home today"]])
    assert [match.text for match in found.matches if match.counted] == ["home", "dog"]


@given(LINE, FILLED)
def test_as_many_edits_explained_as_counted(hyp, ref):
    for name, tokens in (("wer", "none"), ("cer", "stripped")):
        own, other = tm.TokenBatch.from_texts([[hyp], [ref]], tokens)
        metric = make(name)
        [found] = tm.explain(metric, own, [other])
        assert len(found.edits) == metric.statistics(own, [other])[0, 1]


def test_command(tmp_path, capsys):
    (tmp_path / "hyp").write_text("a dog ran home\n\n")
    (tmp_path / "ref").write_text("the dog ran\nx\n")
    files = [str(tmp_path / "ref"), "-i", str(tmp_path / "hyp")]
    assert main(["score", *files, "-m", "wer", "-f", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert next(iter(printed["systems"].values()))["wer"]["score"] == 0.75
    assert main(["explain", *files, "-m", "wer", "cer"]) == 0
    printed = capsys.readouterr().out
    assert "insertion at 4: home" in printed
    assert "2 edits" in printed
