"""Drawings of trees."""

import pytest

import tensormt as tm
from tensormt.trees.drawing import DrawnTree, as_svg, as_text

BRACKETS = ["(S (NP (DT the) (NN <dog>)) (VP (VBD ran)))", "", "(NN a)", "(X (Y b) (Z c))"]


def test_constituents_and_dependencies_as_text():
    trees = tm.TreeBatch.from_brackets(BRACKETS)
    assert trees.draw().splitlines() == [
        "S",
        "├── NP",
        "│   ├── DT the",
        "│   └── NN <dog>",
        "└── VP",
        "    └── VBD ran",
    ]
    assert trees.draw(1) == ""
    assert trees.draw(2) == "NN a"
    assert trees.draw(-1) == "X\n├── Y b\n└── Z c"
    heads = tm.TreeBatch.from_heads([["the", "dog", "ran"]], [[2, 3, 0]])
    assert heads.draw() == "ran\n└── dog\n    └── the"
    with pytest.raises(tm.TensorMTError):
        trees.draw(4)


def test_every_node_is_drawn_and_nothing_is_run():
    trees = tm.TreeBatch.from_brackets(BRACKETS)
    page = trees._repr_html_()
    assert page.count("<svg") == 3
    assert "and 1 more trees" in page
    assert "&lt;dog&gt;" in page
    assert "<dog>" not in page
    first = as_svg(trees._drawn(0))
    assert first.count("<text") == 6 + 3  # labels and words
    assert first.count("<line") == 5


def test_deep_trees_need_no_recursion():
    deep = DrawnTree([*range(-1, 5000)], ["X"] * 5001, [""] * 5001)
    assert as_text(deep).count("\n") == 5000
    assert as_svg(deep).count("<line") == 5000


def test_a_node_stands_above_its_children():
    svg = as_svg(DrawnTree([-1, 0, 0], ["S", "A", "B"], ["", "a", "b"]))
    x = [float(part.split('"')[0]) for part in svg.split('<text x="')[1:]]
    s, a, b = x[0], x[1], x[3]
    assert a < s < b
