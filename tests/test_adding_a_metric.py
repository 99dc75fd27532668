"""The README's «Adding a metric», followed to the letter: a class and an entry point, no more.

A package with a metric of tokens and one of trees that nothing in tensormt knows, installed into a
folder of its own: what the README says is done, and nothing else.
"""

import json
import sys
from typing import Annotated

import pytest
import torch

import tensormt as tm
from tensormt import registry
from tensormt.command.main import main
from tensormt.formulas import as_float64, namespace
from tensormt.inputs import Tokens, Trees
from tensormt.metric import Metric
from tensormt.options import Integer
from tensormt.registry import make
from tensormt.train.text_reward import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore


class Length(Metric):
    """How near the lengths are: min(h, r) / max(h, r) with the first reference."""

    name = "Length"
    summary = "how near lengths are"

    def __init__(self, power: Annotated[int, Integer("How much it hurts", 1, 9)] = 1) -> None:
        self._configure(locals())

    @property
    def reads(self):
        return Tokens("none")

    def settings(self):
        return {"power": self.power}

    def _statistics(self, hyp, refs):
        return torch.stack([torch.ones_like(hyp.lengths), hyp.lengths, refs[0].lengths], 1)

    def _score(self, rows, segment):
        xp, hyp, ref = namespace(rows), as_float64(rows[..., 1]), as_float64(rows[..., 2])
        return (xp.minimum(hyp, ref) / xp.clip(xp.maximum(hyp, ref), 1, None)) ** self.power


class Depth(Metric):
    """The same of the depths of trees."""

    name = "Depth"
    summary = "how near depths are"

    @property
    def reads(self):
        return Trees("constituency")

    def settings(self):
        return {}

    def _statistics(self, hyp, refs):
        depth = [self._depth(batch) for batch in (hyp, refs[0])]
        return torch.stack([torch.ones_like(depth[0]), *depth], 1)

    def _depth(self, batch):
        zeros = torch.zeros(len(batch), dtype=torch.int64)
        return zeros.scatter_reduce(0, batch.nodes.segment, batch.nodes.depth, "amax")

    def _score(self, rows, segment):
        xp, hyp, ref = namespace(rows), as_float64(rows[..., 1]), as_float64(rows[..., 2])
        return xp.minimum(hyp, ref) / xp.clip(xp.maximum(hyp, ref), 1, None)


NO_METRIC = 3


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """What the README asks for: a distribution whose entry points name the classes."""
    folder = tmp_path / "site" / "others-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    points = {
        "length": f"{__name__}:Length",
        "depth": f"{__name__}:Depth",
        "gone": "no_such_package:Metric",
        "number": f"{__name__}:NO_METRIC",
        "bleu": f"{__name__}:Length",
    }
    lines = [f"{name} = {place}" for name, place in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(["[tensormt.metrics]", *lines]))
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    registry._installed.cache_clear()
    yield
    registry._installed.cache_clear()


def test_entry_points_that_cannot_be_used():
    with pytest.raises(tm.TensorMTError, match="'gone' of no_such_package:Metric cannot"):
        make("gone")
    with pytest.raises(tm.TensorMTError, match=r"metric 'number': .* is no Metric class"):
        make("number")
    assert make("bleu").name == "BLEU"  # names of this package cannot be taken
    with pytest.raises(tm.TensorMTError, match=r"choose from .*context, chrf\+\+, length, depth"):
        make("nothing")
    with pytest.raises(tm.TensorMTError, match=r"did you mean length\?"):
        make("lenght")


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
    shown = capsys.readouterr()
    assert "how near lengths are" in shown.out
    assert "metric 'gone' of no_such_package:Metric cannot be loaded" in shown.err
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
