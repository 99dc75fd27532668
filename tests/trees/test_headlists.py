"""Dependency trees from head lists and CoNLL-U."""

import random

import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm


@given(st.integers(0, 2**32))
def test_round_trip(seed):
    rng = random.Random(seed)
    heads = [oracles.random_heads(rng, rng.randint(0, 12)) for _ in range(rng.randint(0, 5))]
    words = [[rng.choice(oracles.WORDS) for _ in row] for row in heads]
    assert tm.TreeBatch.from_heads(words, heads).to_heads() == (words, heads)


@given(st.integers(0, 2**32))
def test_metrics_on_head_lists_equal_the_oracle(seed):
    """Trees that no bracketing gives: crossing arcs."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 15) for _ in range(3)]
    cases = []
    for _ in range(2):
        heads = [oracles.random_heads(rng, size) for size in sizes]
        cases.append(([[rng.choice("abc") for _ in row] for row in heads], heads))
    trees = [[oracles.from_heads(w, h) for w, h in zip(*case, strict=True)] for case in cases]
    refs = [[tree] for tree in trees[1]]
    hyp, ref = (tm.TreeBatch.from_heads(*case) for case in cases)
    for metric, keys, epsilon in (
        (tm.DSTM(3), oracles.subtrees, 0.0),
        (tm.HWCM(3), oracles.chains, 1e-3),
    ):
        expected, _ = oracles.fractions(trees[0], refs, keys, 3, "precision", epsilon, None)
        assert metric(hyp, [ref]).tolist() == pytest.approx(expected, abs=1e-12)
    expected = [oracles.cosine(a, b) for a, b in zip(*trees, strict=True)]
    assert tm.DTKM()(hyp, [ref]).tolist() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 5, 2], r"segment 2, word 2: head 5 is out of range, expected 0 \(root\) to 3"),
        ([-1, 0, 2], r"segment 2, word 1: head -1 is out of range"),
        ([0, 0, 1], r"segment 2: 2 words have head 0, expected exactly one root"),
        ([2, 3, 2], r"segment 2: 0 words have head 0"),
        ([0, 3, 2], r"segment 2: the heads form a cycle that word 2 leads into"),
        ([0, 2, 1], r"segment 2: the heads form a cycle that word 2 leads into"),
        ([0, 1], r"segment 2: 3 words but 2 heads"),
    ],
)
def test_bad_heads(heads, message):
    with pytest.raises(tm.TensorMTError, match=message):
        tm.TreeBatch.from_heads([["a"], ["x", "y", "z"]], [[0], heads])


def test_different_numbers_of_segments():
    with pytest.raises(tm.TensorMTError, match="1 segments of words but 2 of heads"):
        tm.TreeBatch.from_heads([["a"]], [[0], [0]])


CONLLU = """# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
4.1\tquien\t_\t_\t_\t_\t_\t_\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
"""


def test_conllu(tmp_path):
    """Multi-word tokens and empty nodes are passed over."""
    expected = ([["Vamos", "nos", "a", "el", "mar"], ["Yes"]], [[0, 1, 5, 5, 1], [0]])
    assert tm.TreeBatch.from_conllu(CONLLU).to_heads() == expected
    assert tm.TreeBatch.from_conllu("\ufeff" + CONLLU.replace("\n", "\r\n")).to_heads() == expected
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU)
    assert tm.TreeBatch.from_file(path).to_heads() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 a b", "line 1: expected 10 columns separated by tabs, found 1"),
        (CONLLU.replace("5\tmar", "6\tmar"), "line 10: word number '6', expected 5"),
        (CONLLU.replace("\t1\tobl", "\t_\tobl"), r"line 10: the head \(column 7\) is '_'"),
        (CONLLU.replace("\t1\tobl", "\t9\tobl"), "segment 1, word 5: head 9 is out of range"),
    ],
)
def test_bad_conllu(text, message):
    with pytest.raises(tm.TensorMTError, match=message):
        tm.TreeBatch.from_conllu(text)


def test_empty_conllu():
    assert len(tm.TreeBatch.from_conllu("\n\n# nothing\n")) == 0
