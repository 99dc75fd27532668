"""evaluation: against a plain count of brackets and supar's own evalb-like metric."""

from collections import Counter

import nltk
import pytest
from supar.utils.metric import SpanMetric
from supar.utils.transform import Tree

from tensormt.errors import TensorMTError
from tensormt.parser.evaluation import PUNCTUATION, bracket_scores
from tensormt.trees.batch import TreeBatch

GOLD = [
    "(TOP (S (NP (DT The) (NN dog)) (VP (VBD ran) (PRT (RP off))) (. .)))",
    "(TOP (S (NP (PRP I)) (VP (VBP am) (NP (NP (DT a) (NN man)) (, ,) (ADVP (RB here)))) (. .)))",
    "(TOP (NP (NN x)))",
    "(TOP (UH Hi))",
    "(TOP (S (VP (VB Go))) (S (VP (VB Run))))",
]
GUESS = [
    "(TOP (S (NP (DT The) (NN dog)) (VP (VBD ran) (ADVP (RB off)) (. .))))",
    "(TOP (S (NP (PRP I)) (VP (VBP am) (NP (DT a) (NN man))) (, ,) (ADVP (RB here)) (. .)))",
    "(TOP (X (NP (NNP x))))",
    "(TOP (UH Hi))",
    "(TOP (S (VP (VB Go) (VP (VB Run)))))",
]


def plain(guess, gold):
    """F1 over all brackets but the outer root, and tag accuracy, by hand."""
    matched = total = right = words = 0
    for ours, theirs in zip(guess, gold, strict=True):
        sides = []
        for line in (ours, theirs):
            tree = nltk.Tree.fromstring(line)
            spans = [span for child_spans in [Tree.factorize(tree)] for span in child_spans]
            assert spans[0][2] == "TOP" or not spans
            sides.append(Counter(spans[1:]))
        matched += (sides[0] & sides[1]).total()
        total += sides[0].total() + sides[1].total()
        tags = [nltk.Tree.fromstring(line).pos() for line in (ours, theirs)]
        right += sum(a == b for a, b in zip(*tags, strict=True))
        words += len(tags[1])
    return 200 * matched / total, 100 * right / words


def test_f1_and_tags():
    got = bracket_scores(TreeBatch.from_brackets(GUESS), TreeBatch.from_brackets(GOLD))
    f1, tags = plain(GUESS, GOLD)
    assert got["f1"] == pytest.approx(f1)
    assert got["tags"] == pytest.approx(tags)


def test_evalb_is_supars_metric():
    """supar takes punctuation out by each tree's own tags: the same where those agree."""
    delete = {"TOP", *PUNCTUATION}
    metric = SpanMetric()
    sides = [
        [Tree.factorize(nltk.Tree.fromstring(x), delete, {"PRT": "ADVP"}) for x in lines]
        for lines in (GUESS, GOLD)
    ]
    metric(*sides)
    got = bracket_scores(TreeBatch.from_brackets(GUESS), TreeBatch.from_brackets(GOLD))
    assert got["evalb"] == pytest.approx(100 * metric.lf)


def test_perfect_and_nothing():
    gold = TreeBatch.from_brackets(GOLD)
    assert bracket_scores(gold, gold) == {"f1": 100.0, "evalb": 100.0, "tags": 100.0}
    bare = TreeBatch.from_brackets(["(UH Hi)"])
    assert bracket_scores(bare, bare) == {"f1": 0.0, "evalb": 0.0, "tags": 100.0}


def test_words_must_agree():
    with pytest.raises(TensorMTError, match="same words"):
        bracket_scores(TreeBatch.from_brackets(GUESS[:1]), TreeBatch.from_brackets(GOLD[1:2]))
