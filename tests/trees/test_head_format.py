"""Dependency trees from head lists and CoNLL-U."""

import random

import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.trees import conllu


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
    ("old", "new", "message"),
    [
        ("\t_\t_\n5\tmar", "\n5\tmar", "line 9: expected 10 columns separated by tabs, found 8"),
        ("5\tmar", "6\tmar", "line 10: word number '6', expected 5"),
        ("5\tmar", "x\tmar", "line 10: word number 'x', expected 5"),
        ("3-4", "4-3", "line 6: word number '4-3', expected 3"),
        ("4.1", "4.", "line 9: word number '4.', expected 5"),
        ("5\tmar\t", "5\t\t", r"line 10: the word \(column 2\) is empty"),
        ("\t1\tobl", "\t_\tobl", r"line 10: the head \(column 7\) is '_', expected a number"),
        ("\t1\tobl", "\t-1\tobl", r"line 10: the head \(column 7\) is '-1'"),
        ("\t1\tobl", "\t9\tobl", r"line 10: head 9 is out of range, expected 0 \(root\) to 5"),
        ("\t1\tobl", "\t0\tobl", r"line 10: a second root \(head 0\), the first is on line 4"),
        ("\t0\troot", "\t2\troot", r"line 4: the sentence that starts here has no root"),
        ("\t1\tobl", "\t3\tobl", "line 7: word 3 is in a cycle of heads"),
        ("\t1\tobl", "\t5\tobl", "line 10: word 5 is in a cycle of heads"),
        ("_\n2\tnos", "_\r\n2\tnos", "line 4: mixed line ends"),
        ("mar\tmar", "mar\rmar", "line 10: mixed line ends"),
    ],
)
def test_bad_conllu(tmp_path, old, new, message):
    """Every fault is named with its file and line."""
    assert CONLLU.count(old) in (1, 2)
    path = tmp_path / "a.conllu"
    path.write_bytes(CONLLU.replace(old, new, 1).encode())
    with pytest.raises(tm.TensorMTError, match=f"a.conllu, {message}"):
        tm.TreeBatch.from_file(path)


def test_bad_conllu_in_one_line():
    with pytest.raises(tm.TensorMTError, match=r"^line 1: expected 10 columns separated by tabs"):
        tm.TreeBatch.from_conllu("1 a b")


def test_relations():
    found = conllu.read(CONLLU)
    assert found.relations == [["root", "obj", "case", "det", "obl"], ["root"]]
    written = conllu.write(*found[:3])
    assert conllu.read(written)[:3] == found[:3]
    assert tm.TreeBatch.from_conllu(CONLLU).to_conllu(found.relations) == written
    assert tm.TreeBatch.from_conllu(CONLLU).to_conllu() == written


@given(st.integers(0, 2**32))
def test_conllu_round_trip(seed):
    """Words of any characters, spaces too; lines with CRLF and without a last end."""
    rng = random.Random(seed)
    letters = "ab #_-.\u00a0\u2028\u0085\x0b\x1c日🙂"
    heads = [oracles.random_heads(rng, rng.randint(1, 12)) for _ in range(rng.randint(0, 5))]
    words = [["".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in row] for row in heads]
    text = tm.TreeBatch.from_heads(words, heads).to_conllu()
    for form in (text, text.replace("\n", "\r\n"), text.removesuffix("\n\n")):
        assert tm.TreeBatch.from_conllu(form).to_heads() == (words, heads)


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\rb", ""])
def test_what_conllu_cannot_hold(word):
    batch = tm.TreeBatch.from_heads([["x"], ["y", word]], [[0], [0, 1]])
    with pytest.raises(tm.TensorMTError, match=r"segment 2: .* cannot be written as CoNLL-U"):
        batch.to_conllu()


def test_conllu_has_no_empty_sentences_and_no_constituents():
    with pytest.raises(tm.TensorMTError, match="segment 1 has no word"):
        tm.TreeBatch.from_heads([[]], [[]]).to_conllu()
    with pytest.raises(tm.TensorMTError, match="segment 1: 1 words but 2 relations"):
        tm.TreeBatch.from_heads([["a"]], [[0]]).to_conllu([["root", "dep"]])
    with pytest.raises(tm.TensorMTError, match="dependencies"):
        tm.TreeBatch.from_brackets(["(A b)"]).to_conllu()


def test_empty_conllu():
    assert len(tm.TreeBatch.from_conllu("\n\n# nothing\n")) == 0
    assert tm.TreeBatch.from_conllu("").to_conllu() == ""
