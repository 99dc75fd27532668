"""`--trees` of metaeval and qarla: the texts of a judged set are trees, in brackets or CoNLL-U."""

import json
import random

import pytest
import torch

import tensormt as tm
from tensormt.command.main import main

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    "(S (NP (PRP it)) (VP (VBD ran) (NP (NN home))))",
    "(S (VP (VB go) (NP (NN home))))",
    "(NP (DT a) (NN cat))",
    "(S (NP (DT a) (NN cat)) (VP (VBD ran)))",
]


def conllu(tree):
    return tm.TreeBatch.from_brackets([tree]).dependencies("collins").to_conllu()


@pytest.fixture
def judged(tmp_path):
    """The same set twice, in brackets and in CoNLL-U."""
    rng = random.Random(3)
    rows = [
        (rng.sample(TREES, 3), [rng.choice(TREES) for _ in "abc"], [rng.random() for _ in "abc"])
        for _ in range(12)
    ]
    paths = []
    for name, form in (("brackets", str), ("conllu", conllu)):
        lines = [
            {
                "refs": [form(tree) for tree in refs],
                "sys": {
                    system: {"hyp": form(tree), "scores": {"q": score}}
                    for system, tree, score in zip("abc", hyps, scores, strict=True)
                },
            }
            for refs, hyps, scores in rows
        ]
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    return paths, rows


def printed(capsys, *arguments):
    assert main([*map(str, arguments), "-q", "-f", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_metaeval(judged, capsys):
    (brackets, other), rows = judged
    options = ("--trees", "--level", "segment", "--statistic", "pearson", "--grouping", "none")
    found = printed(capsys, "metaeval", brackets, "-m", "hwcm", *options)
    hyp = tm.TreeBatch.from_brackets([tree for _, hyps, _ in rows for tree in hyps])
    refs = [
        tm.TreeBatch.from_brackets([own[k] for own, hyps, _ in rows for _ in hyps])
        for k in range(3)
    ]
    scores = tm.HWCM()(hyp, refs)
    human = [score for _, _, own in rows for score in own]
    expected = torch.corrcoef(torch.stack([scores, torch.tensor(human, dtype=torch.float64)]))[0, 1]
    assert f"{float(expected):.6f}"[:7] in json.dumps(found)
    again = printed(capsys, "metaeval", other, "-m", "hwcm", *options)
    assert str(found).replace("rules:collins|", "") == str(again).replace("rules:collins|", "")


def test_qarla(judged, capsys):
    (brackets, other), _ = judged
    found = printed(capsys, "qarla", brackets, "--trees", "-m", "hwcm", "dstm")
    again = printed(capsys, "qarla", other, "--trees", "-m", "hwcm", "dstm")
    assert found["kings"] == again["kings"]


def test_a_metric_that_does_not_fit(judged, capsys):
    (_, other), _ = judged
    assert main(["metaeval", str(other), "--trees", "-m", "stm", "-q"]) == 2
    assert "use HWCM, DSTM or DTKM" in capsys.readouterr().err


def test_text_is_no_tree(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"refs": ["(S (A a))"], "sys": {"x": {"hyp": "a b", "scores": {"q": 1}}}}\n')
    assert main(["metaeval", str(path), "--trees", "-m", "stm", "-q"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "rows.jsonl" in err
