"""Constituency treebanks: spans of binarized trees, and files that cannot be used."""

import nltk
import pytest
from supar.utils.transform import Tree

from tensormt.parser.model import read_tree


def test_spans_are_supars_with_tags_as_labels():
    line = "(TOP (S (NP (PRP I)) (VP (VBP am) (ADVP (RB here))) (. .)))"
    root, words, spans = read_tree(line)
    assert (root, words) == ("TOP", ["I", "am", "here", "."])
    assert sorted(spans) == sorted(
        [(0, 4, "S"), (0, 3, "S|<>"), (0, 1, "NP::PRP"), (1, 3, "VP"), (1, 2, "VBP"),
         (2, 3, "ADVP::RB"), (3, 4, ".")]
    )  # fmt: skip
    assert len(spans) == 2 * len(words) - 1


@pytest.mark.parametrize(
    "line",
    [
        "(TOP (UH Hi))",
        "(TOP (S (VP (VB Go))) (S (VP (VB Run))) (. !))",
        "(S (NP (DT a) (JJ b) (NN c) (NN d)) (VP (VB e)))",
        "( (X (Y (Z (NN a) (NN b)))))",
    ],
)
def test_spans_give_the_tree_back(line):
    root, words, spans = read_tree(line)
    base = Tree.totree(words, root)
    spans = sorted(spans, key=lambda span: (span[0], -span[1]))
    tree = Tree.build(base, spans)
    flat = " ".join(str(tree).split())
    for word in words:
        flat = flat.replace(f"(_ {word})", word)
    source = nltk.Tree.fromstring(line)
    if root == "S":  # a root with several children stays a root
        assert flat == " ".join(str(source).split())
    assert " ".join(flat.split()) == " ".join(str(source).split())
