"""The README's «Adding a metric», followed to the letter: a class, an entry, no more.

A metric of tokens and one of trees that nothing in the package knows; the test touches the places
that the README names and no others.
"""

import json

import pytest
import torch

import tensormt
import tensormt as tm
from tensormt.command.main import main
from tensormt.inputs import Tokens, Trees
from tensormt.metric import Metric, check_aligned
from tensormt.options import Integer
from tensormt.registry import ENTRIES, Entry, make
from tensormt.train.text_reward import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore


class Length(Metric):
    """How near the lengths are: min(h, r) / max(h, r) with the first reference."""

    name = "Length"

    def __init__(self, power: int = 1) -> None:
        self.power = power

    @property
    def reads(self):
        return Tokens("none")

    def options(self):
        return {"power": self.power}

    def statistics(self, hyp, refs):
        check_aligned(hyp, refs)
        return torch.stack([torch.ones_like(hyp.lengths), hyp.lengths, refs[0].lengths], 1)

    def score(self, statistics, *, segment=None):
        low, high = statistics[..., 1:].double().aminmax(dim=-1)
        return (low / high.clamp(min=1)) ** self.power


class Depth(Metric):
    """The same of the depths of trees."""

    name = "Depth"

    @property
    def reads(self):
        return Trees("constituency")

    def options(self):
        return {}

    def statistics(self, hyp, refs):
        check_aligned(hyp, refs)
        depth = [self._depth(batch) for batch in (hyp, refs[0])]
        return torch.stack([torch.ones_like(depth[0]), *depth], 1)

    def _depth(self, batch):
        zeros = torch.zeros(len(batch), dtype=torch.int64)
        return zeros.scatter_reduce(0, batch.nodes.segment, batch.nodes.depth, "amax")

    def score(self, statistics, *, segment=None):
        low, high = statistics[..., 1:].double().aminmax(dim=-1)
        return low / high.clamp(min=1)


@pytest.fixture(autouse=True)
def entries(monkeypatch):
    """What the README asks for: the classes in a room, an entry each."""
    monkeypatch.setattr(tensormt.ngram, "Length", Length, raising=False)
    monkeypatch.setattr(tensormt.syntax, "Depth", Depth, raising=False)
    option = Integer("power", 1, "how much it hurts", 1, 9)
    monkeypatch.setitem(ENTRIES, "length", Entry("ngram.Length", "how near lengths are", (option,)))
    monkeypatch.setitem(ENTRIES, "depth", Entry("syntax.Depth", "how near depths are", ()))


HYPS, REFS = ["a b", "c"], [["a b c d", "c"]]


def flat(lines):
    trees = [" ".join(f"(X {w})" for w in (line or "").split()) for line in lines]
    return tm.TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in trees])


def test_score_reward_torchmetrics_mean():
    found = tm.score(HYPS, REFS, ["length:power=2", "depth", "length+depth"], parser=flat)
    assert found.segments["length:power=2"].tolist() == [0.25, 1.0]
    assert found.segments["depth"].tolist() == [1.0, 1.0]
    assert found.segments["length+depth"].tolist() == [0.75, 1.0]
    assert "|power:2|" in found.signatures["length:power=2"]
    assert "parser:" in found.signatures["depth"]
    refs = [["a b c d"], ["c"]]
    assert TextReward(make("length"))(HYPS, refs).tolist() == [0.5, 1.0]
    for name, value in (("length", 3 / 5), ("depth", 1.0)):
        score = TorchScore(name, flat)
        score.update(HYPS, refs)
        assert float(score.compute()) == pytest.approx(value)


def test_the_command_line_finds_it(tmp_path, capsys):
    (tmp_path / "h").write_text("a b\nc\n")
    (tmp_path / "r").write_text("a b c d\nc\n")
    files = [str(tmp_path / "r"), "-i", str(tmp_path / "h")]
    assert main(["score", *files, "-m", "length:power=2", "-f", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["systems"]["h"]["length:power=2"]["score"] == pytest.approx((3 / 5) ** 2)
    assert main(["list"]) == 0
    assert "how near lengths are" in capsys.readouterr().out
    assert main(["score", *files, "-m", "length:power=99"]) == 2
    assert "power" in capsys.readouterr().err


def test_meta_evaluation_and_qarla(tmp_path, capsys):
    rows = [
        {
            "refs": ["a b c", "a b", "a c d"],
            "sys": {s: {"hyp": h, "scores": {"q": k}} for k, (s, h) in enumerate(pairs)},
        }
        for pairs in ([("x", "a b"), ("y", "a")], [("x", "a b c d"), ("y", "b c")])
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["metaeval", str(path), "-m", "length", "-q"]) == 0
    assert "length" in capsys.readouterr().out
    assert main(["qarla", str(path), "-m", "length", "bleu", "-q"]) == 0
    assert "length" in capsys.readouterr().out
