"""Reading and writing bracketings: round trips, clean-up, whole files, errors with their place."""

import random
import re

import nltk
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.trees import bracketing

seeds = st.integers(0, 2**32)


def read(*lines):
    return tm.TreeBatch.from_brackets(list(lines))


def cleaned(line):
    return read(line).to_brackets()[0]


@given(seeds)
def test_round_trip(seed):
    rng = random.Random(seed)
    trees = [oracles.random_tree(rng, rng.randint(1, 60)) for _ in range(rng.randint(0, 5))]
    lines = [oracles.brackets(tree) for tree in trees]
    lines.insert(rng.randint(0, len(lines)), "")
    batch = tm.TreeBatch.from_brackets(lines)
    assert batch.to_brackets() == lines
    again = tm.TreeBatch.from_brackets(batch.to_brackets())
    for name in ("label", "parent", "word", "position", "height", "production"):
        assert getattr(again, name).equal(getattr(batch, name))


@given(seeds)
def test_white_space_is_free(seed):
    rng = random.Random(seed)
    line = oracles.brackets(oracles.random_tree(rng, rng.randint(1, 20)))
    spaced = "".join(
        rng.choice(["", " ", "\t", "\n  "]) + c + rng.choice(["", " ", "\n"]) if c in "()" else c
        for c in line
    )
    assert cleaned(spaced) == line


@given(seeds)
def test_nodes_equal_nltk(seed):
    """Labels, parents, words and heights as nltk's reader gives them."""
    rng = random.Random(seed)
    line = oracles.brackets(oracles.random_tree(rng, rng.randint(1, 40)))
    batch = read(line)
    tree = nltk.Tree.fromstring(line)
    places = [place for place in tree.treepositions() if isinstance(tree[place], nltk.Tree)]
    assert [batch.labels[i] for i in batch.label[0]] == [tree[p].label() for p in places]
    parents = [places.index(p[:-1]) if p else -1 for p in places]
    assert batch.parent[0].tolist() == parents
    assert batch.height[0].tolist() == [tree[p].height() - 1 for p in places]
    assert batch.position[0].tolist() == [p[-1] if p else 0 for p in places]
    words = [tree[p][0] if isinstance(tree[p][0], str) else None for p in places]
    assert [batch.words[i] if i >= 0 else None for i in batch.word[0]] == words


def test_clean_up():
    """SPEC section 1: function tags, indices, empty elements, outer nodes."""
    assert cleaned("(NP-SBJ-1 (NN-HL dog))") == "(NP (NN dog))"
    assert cleaned("(NP=2 (NN dog))") == "(NP (NN dog))"
    assert cleaned("(S (-LRB- -LRB-) (-RRB- -RRB-))") == "(S (-LRB- -LRB-) (-RRB- -RRB-))"
    assert cleaned("( (S (NP-SBJ (-NONE- *)) (VP (VB go))) )") == "(S (VP (VB go)))"
    assert cleaned("(TOP (S (NN a)))") == cleaned("(ROOT (S (NN a)))") == "(S (NN a))"
    assert cleaned("(TOP (NN a))") == "(NN a)"
    assert cleaned("(TOP (S (NN a)) (S (NN b)))") == "(TOP (S (NN a)) (S (NN b)))"
    assert cleaned("((S (NN a)) (S (NN b)))") == "( (S (NN a)) (S (NN b)))"
    assert cleaned("(TOP dog)") == "(TOP dog)"
    assert cleaned("(S (SBAR (S (NP (-NONE- *)) (VP (-NONE- *)))) (VB go))") == "(S (VB go))"
    assert cleaned("(S (NP (-NONE- *)))") == ""
    assert cleaned("(= =)") == "(= =)"


def test_words_beside_other_children():
    line = "(S (NP I) (VP had (NP a red dog) .))"
    assert cleaned(line) == line
    skeleton = read(line).skeleton()
    assert [skeleton.labels[i] for i in skeleton.nodes.label] == ["S", "NP", "VP", "NP"]
    lexical = read(line).lexicalized()
    names = [lexical.labels[i] for i in lexical.nodes.label]
    assert names == ["S", "NP", "I", "VP", "had", "NP", "a", "red", "dog", "."]
    assert read(line).tokens.tolist() == [6]
    assert read(line).dependencies().to_heads()[0] == [["I", "had", "a", "red", "dog", "."]]


@given(seeds)
def test_bare_words_anywhere(seed):
    """Words beside other children, glued or spaced, as nltk reads them; other trees stay as is."""
    rng = random.Random(seed)

    def tree(depth):
        if not depth or rng.random() < 0.3:
            return rng.choice(["a", "bc", ".", "(NN dog)"])
        below = [tree(depth - 1) for _ in range(rng.randint(1, 4))]
        return f"({rng.choice(['S', 'NP', 'VP'])} {' '.join(below)})"

    line = f"(S {tree(4)} {tree(4)})"
    glued = re.sub(r" ?([()]) ?", r"\1", line)
    plain = "(S (NP (PRP I)) (VP (VBP run)))"
    expected = " ".join(str(nltk.Tree.fromstring(line)).split())
    assert read(plain, line, plain).to_brackets() == [plain, expected, plain]
    assert cleaned(glued) == expected
    tokens = read(plain, line).tokens.tolist()
    assert tokens == [2, len(nltk.Tree.fromstring(line).leaves())]


def test_outer_node_over_words_without_tags():
    assert cleaned("(ROOT (S hi (NN a)))") == "(S hi (NN a))"
    assert cleaned("(ROOT hi (NN a))") == "(ROOT hi (NN a))"


def test_only_ascii_white_space_separates():
    line = "(NP 1\u00a0000 euros)"
    assert cleaned(line) == line
    assert read(line).words.strings == ["1\u00a0000", "euros"]
    assert cleaned("(NP (DT a)\x1f(NN b))") == "(NP (DT a) \x1f (NN b))"
    with pytest.raises(tm.TensorMTError, match="line 1, column 1: expected an opening bracket"):
        read("\u00a0")


def test_deep_and_wide_trees():
    depth = 5000
    deep = "(X " * depth + "(Y y)" + ")" * depth
    wide = "(S " + " ".join(f"(N w{i})" for i in range(5000)) + ")"
    batch = read(deep, wide, "(A b)")
    assert batch.to_brackets() == [deep, wide, "(A b)"]
    assert batch.nodes.height.max() == depth + 1
    assert batch.nodes.position.max() == 4999
    for metric in (tm.STM(), tm.HWCM(), tm.DSTM(), tm.DTKM()):
        assert metric(batch[1:], [batch[1:]]).tolist()[0] == pytest.approx(1)
    assert tm.STM()(batch, [batch]).tolist() == pytest.approx([1, 1, 1])


def test_very_deep_trees_pass_16_bits():
    depth = 40000
    deep = "(X " * depth + "(Y y)" + ")" * depth
    assert read(deep).nodes.parent.tolist() == list(range(-1, depth))


def test_unicode_words():
    line = "(S (NN日 日本) (NN 🙂) (NN e\u0301) (NN a\u00a0b))"
    assert cleaned(line) == line


FILE = """
( (S (NP (PRP I))
     (VP (VBD had)
         (NP (DT a) (NN dog)))) )

( (S (NP (PRP You))
     (VP (VBD ran))) )
"""


def test_trees_over_several_lines(tmp_path):
    path = tmp_path / "wsj.mrg"
    path.write_text(FILE)
    assert tm.TreeBatch.from_file(path).to_brackets() == [
        "(S (NP (PRP I)) (VP (VBD had) (NP (DT a) (NN dog))))",
        "(S (NP (PRP You)) (VP (VBD ran)))",
    ]


def test_files_keep_their_empty_lines(tmp_path):
    path = tmp_path / "a.ptb"
    path.write_text("(A b)\n\n(C d)\n")
    assert tm.TreeBatch.from_file(path).to_brackets() == ["(A b)", "", "(C d)"]


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("(S (NP a)", 1, "never closed"),
        ("(S (NP a)))", 11, "closing bracket without"),
        (")", 1, "closing bracket without"),
        ("(S a) b", 7, "text after the tree, 'b'"),
        ("(S a) (S b)", 7, "text after the tree"),
        ("a (S b)", 1, "expected an opening bracket, found 'a'"),
        ("dog", 1, "expected an opening bracket, found 'dog'"),
        ("(S (NP) (NP a))", 4, "a node without a child"),
        ("(dog)", 1, "a node without a child"),
        ("(S ( (NN a)))", 4, "a node without a label"),
        ("()", 1, "an empty pair of brackets"),
        ("(S () (NN a))", 4, "an empty pair of brackets"),
        ("(S () a)", 4, "an empty pair of brackets"),
        ("(S a b (NP) c)", 8, "a node without a child"),
        ("(S a b ( (NN c)))", 8, "a node without a label"),
        ("(S a b) c", 9, "text after the tree, 'c'"),
    ],
)
def test_errors_name_their_place(line, place, message):
    with pytest.raises(tm.TensorMTError, match=rf"^line 3, column {place}: .*{message}"):
        read("(A b)", "", line, "(A b)")


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "bad.ptb"
    path.write_text("(A b)\n(A b))\n")
    with pytest.raises(tm.TensorMTError, match=r"bad.ptb, line 2, column 6: a closing"):
        tm.TreeBatch.from_file(path)
    path.write_bytes(b"(A b)\n(A \xff)\n")
    with pytest.raises(tm.TensorMTError, match=r"bad.ptb, line 2: not UTF-8"):
        tm.TreeBatch.from_file(path)
    with pytest.raises(tm.TensorMTError, match=r"gone.ptb cannot be read: No such file"):
        tm.TreeBatch.from_file(tmp_path / "gone.ptb")


@given(st.lists(st.sampled_from(["(", ")", " ", "NP", "a", "(NN dog)", "\n"]), max_size=14))
def test_any_text_is_a_tree_or_an_error(parts):
    """Random bracket soup never crashes, and what is read is read the same way again."""
    line = "".join(parts)
    try:
        trees = read(line).to_brackets()
    except tm.TensorMTError as error:
        trees = [""] if "line 1, column" in str(error) else None
    assert read(*trees).to_brackets() == trees


def test_half_a_character_is_no_tree():
    with pytest.raises(tm.TensorMTError, match=r"line 2: character .* has no UTF-8 form"):
        tm.TreeBatch.from_brackets(["(S s)", "(S \ud800)"])


def test_empty_input():
    assert len(tm.TreeBatch.from_brackets([])) == 0
    assert tm.TreeBatch.from_brackets([]).to_brackets() == []
    assert tm.TreeBatch.from_brackets("").to_brackets() == []
    assert read("", None, "  ").to_brackets() == ["", "", ""]
    assert bracketing.split("") == []


def test_a_node_named_none_with_nodes_below_is_an_ordinary_one():
    odd = "(S (-NONE- (NP (NN a)) (VP (VB b))) (-NONE- *) (X (-NONE- *)))"
    for copies in (1, 2000):  # a few trees are read in plain Python
        batch = tm.TreeBatch.from_brackets([odd] * copies)
        assert batch[:1].to_brackets() == ["(S (-NONE- (NP (NN a)) (VP (VB b))))"]
        assert batch[:1].dependencies("collins").tokens.tolist() == [2]
