"""Head rules: Collins' against a recursive oracle and by example; another rule set as data."""

import random

import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.trees.head_rules import RULES, HeadRules


def heads(line, rules="collins"):
    """word → head word (None for the root)."""
    (words,), (numbers,) = tm.TreeBatch.from_brackets([line]).dependencies(rules).to_heads()
    return {
        word: words[number - 1] if number else None
        for word, number in zip(words, numbers, strict=True)
    }


@given(st.integers(0, 2**32))
def test_collins_equals_oracle(seed):
    rng = random.Random(seed)
    trees = [oracles.random_tree(rng, rng.randint(1, 30)) for _ in range(4)]
    batch = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])
    expected = [oracles.dependencies(tree) for tree in trees]
    words, numbers = batch.dependencies().to_heads()
    assert words == [row[0] for row in expected]
    assert numbers == [row[1] for row in expected]


def test_noun_phrases():
    """Collins 1999, appendix A: the NP rules one by one."""
    assert heads("(NP (NNP John) (POS 's))")["'s"] is None
    assert heads("(NP (NN steel) (NN plant) (JJ new))")["plant"] is None
    assert heads("(NP (NP (NN king)) (PP (IN of) (NP (NNP Spain))))")["king"] is None
    assert heads("(NP (ADJP (JJ rich)) (DT the) (PRN (NN i)))")["i"] is None
    assert heads("(NP (DT the) (CD two) (DT all))")["two"] is None
    assert heads("(NP (DT the) (JJ poor) (DT all))")["poor"] is None
    assert heads("(NP (DT this) (DT all))")["all"] is None


def test_coordination():
    """X CC Y: X is the head, also over a comma; CC first is no coordination."""
    assert heads("(NP (NP (NN cat)) (CC and) (NP (NN dog)))") == {
        "cat": None,
        "and": "cat",
        "dog": "cat",
    }
    assert heads("(NP (NN cat) (, ,) (CC and) (NN dog))")["cat"] is None
    assert heads("(NP (CC both) (NN dog))")["dog"] is None
    assert heads("(VP (VP (VB eat)) (CC and) (VP (VB run)))")["eat"] is None


def test_punctuation_is_never_a_head():
    assert heads("(S (`` ``) (NP (NN dog)) (. .))") == {"``": "dog", "dog": None, ".": "dog"}
    assert heads("(X (NN a) (. .))")["a"] is None
    assert heads("(X (. .) (. !))") == {".": "!", "!": None}
    assert heads("(NP (NNP John) (POS 's) (, ,))")["'s"] is None


def test_verb_phrases():
    found = heads("(S (NP (PRP I)) (VP (MD will) (VP (VB go) (PP (TO to) (NP (NN town))))))")
    assert found == {"I": "will", "will": None, "go": "will", "to": "go", "town": "to"}


def test_yamada_differs_where_its_table_does():
    """The Penn2Malt table: rightmost child of a coordination, no POS rule of its own."""
    assert heads("(NP (NP (NN cat)) (CC and) (NP (NN dog)))", "yamada")["dog"] is None
    assert heads("(PP (IN out) (IN of) (NP (NN town)))", "yamada")["out"] is None
    assert heads("(PP (IN out) (IN of) (NP (NN town)))", "collins")["of"] is None


def test_verb_phrases_of_yamada():
    """The row VP: `to` is a head only where there is nothing else; nouns before noun phrases."""
    row = [fits for _, fits in RULES["yamada"].rows()["VP"]]
    order = "VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP TO".split()
    assert row == [frozenset([label]) for label in order] + [frozenset()]
    assert heads("(VP (TO to) (VP (VB go)))", "yamada") == {"to": "go", "go": None}
    assert heads("(VP (TO to) (VP (VB go)))", "collins") == {"to": None, "go": "to"}
    assert heads("(VP (TO to) (ADVP (RB well)))", "yamada")["to"] is None
    assert heads("(VP (VP (VB eat)) (VBG doing))", "yamada")["doing"] is None
    assert heads("(VP (NP (PRP it)) (NN look))", "yamada")["look"] is None


def test_a_rule_set_is_data():
    RULES["test last"] = HeadRules("a test", "NP l DT\n* r", "", "")
    try:
        assert heads("(S (NP (DT the) (NN dog)) (VB ran) (. .))", "test last") == {
            "the": ".",
            "dog": "the",
            "ran": ".",
            ".": None,
        }
        RULES["test last"] = HeadRules("a test", "* l", "", "")  # changed: the new table counts
        assert heads("(S (NN a) (NN b))", "test last")["a"] is None
    finally:
        del RULES["test last"]


STARRED = [  # table, punctuation, coordination, tree, its head
    ("VP l VB *\n* l", ". ,", "CC", "(VP (VBD did) (RB so) (* not))", "not"),
    ("VP r VB\n* r", "*", "CC", "(VP (VBD did) (RB so) (* not))", "so"),
    ("NP r NN\n* r", ". ,", "* CC", "(NP (NN a) (* b) (VB c))", "a"),
    ("NP r NN\n* r", ". ,", "* CC", "(NP (VB a) (* b) (NN c))", "a"),
]


@pytest.mark.parametrize("case", STARRED)
def test_a_star_is_a_label_too(case):
    """The tag of «not» in the Brown corpus; as a row it stands for all labels without one."""
    RULES["test star"] = HeadRules("a test", *case[:3])
    try:
        assert heads(case[3], "test star")[case[4]] is None
    finally:
        del RULES["test star"]


def test_every_rule_set_gives_every_word_one_head():
    trees = [oracles.random_tree(random.Random(seed), 40) for seed in range(20)]
    batch = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])
    for rules in RULES:
        words, numbers = batch.dependencies(rules).to_heads()
        tm.TreeBatch.from_heads(words, numbers)  # one root, no cycle
        assert words == [oracles.words_of(tree) for tree in trees]


def test_unknown_rules():
    with pytest.raises(tm.TensorMTError, match="choose one of collins, yamada"):
        tm.TreeBatch.from_brackets(["(A b)"]).dependencies("nobody")
