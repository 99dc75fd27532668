"""decode: the tensor path against supar's own decoder and against brute force."""

from itertools import pairwise

import nltk
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_trees
from supar.structs import ConstituencyCRF
from supar.utils.transform import Tree

from tensormt.kernels.charts import marginals
from tensormt.parser.decode import LabelTable, best_slots, to_forest

WIDE = ["S", "NP", "S::VP", "S|<>", "NP|<>", "VP", "S::VP::X"]
TAGS = ["DT", "NP::NN", "VB", "S::VP::VB", "NN"]
CPU = torch.device("cpu")


def nested(forest, names):
    """Trees of a Forest as nested tuples, built node by node."""
    trees, place = [], 0
    for count in forest.counts.tolist():
        rows = slice(place, place + count)
        label, parent = forest.label[rows].tolist(), forest.parent[rows].tolist()
        word = forest.word[rows].tolist()
        children = [[] for _ in range(count)]
        tops = []
        for i in range(count):
            (children[parent[i]] if parent[i] >= 0 else tops).append(i)

        def build(i, label=label, word=word, children=children):
            if word[i] >= 0:
                assert not children[i]
                return (names[label[i]], word[i])
            return (names[label[i]], *[build(k) for k in children[i]])

        trees.append([build(i) for i in tops])
        place += count
    return trees


def from_nltk(tree, wrapped):
    """An nltk tree as nested tuples; `wrapped` takes the `_` between tag and word away."""
    if not isinstance(tree[0], nltk.Tree):
        return (tree.label(), int(tree[0]))
    if wrapped and tree[0].label() == "_":
        return (tree.label(), int(tree[0][0]))
    return (tree.label(), *[from_nltk(child, wrapped) for child in tree])


def supar_trees(scores, lengths, labels, label_ids, wrapped):
    """supar's decoding and tree building on the same scores and labels."""
    charts = ConstituencyCRF(scores.clone(), lengths).argmax
    trees = []
    for spans, length, ids in zip(charts, lengths.tolist(), label_ids, strict=True):
        base = Tree.totree([str(i) for i in range(length)], "TOP")
        sequence = [(i, j, labels[ids[i, j]]) for i, j in spans]
        trees.append([from_nltk(t, wrapped) for t in Tree.build(base, sequence)])
    return trees


@st.composite
def charts(draw):
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    seed = draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    posts = max(lengths) + 1
    shape = (len(lengths), posts, posts)
    if draw(st.booleans()):  # whole numbers: ties everywhere
        scores = torch.randint(-2, 3, shape, generator=generator).float()
    else:
        scores = torch.randn(shape, generator=generator) * 3
    tagged = draw(st.booleans())
    labels = WIDE + TAGS if tagged else WIDE
    wide = torch.randint(0, len(WIDE), shape, generator=generator)
    narrow = torch.randint(0, len(TAGS), shape, generator=generator) + len(WIDE)
    index = torch.arange(posts)
    one = (index[None, :] - index[:, None] == 1).expand(shape)
    ids = torch.where(one, narrow, wide) if tagged else wide
    return scores, torch.tensor(lengths), labels, ids, tagged


@settings(max_examples=150, deadline=None)
@given(charts())
def test_trees_are_exactly_supars(chart):
    scores, lengths, labels, ids, tagged = chart
    slots = best_slots(scores, lengths)
    rows = torch.arange(len(lengths))[:, None]
    chosen = ids[rows, slots.start, slots.start + slots.width]
    table = LabelTable(labels, "TOP", tagged, CPU)
    forest = to_forest(slots, chosen, table)
    assert nested(forest, table.names) == supar_trees(scores, lengths, labels, ids, tagged)


@settings(max_examples=100, deadline=None)
@given(charts(), st.integers(0, 2**31))
def test_marginals_are_supars(chart, seed):
    """Probabilities, and exactly supar's trees of least risk where no two are as probable."""
    shape, lengths = chart[0].shape, chart[1]
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3
    ours = marginals(scores, lengths)
    theirs = ConstituencyCRF(scores.clone(), lengths).marginals.detach()
    torch.testing.assert_close(ours.float(), theirs, rtol=1e-4, atol=1e-6)
    slots = best_slots(ours, lengths)
    charts = ConstituencyCRF(theirs.clone(), lengths).argmax
    for b, spans in enumerate(charts):
        pairs = zip(slots.start[b].tolist(), slots.width[b].tolist(), strict=True)
        assert [[i, i + w] for i, w in pairs if w] == spans


def test_marginals_do_not_see_padding():
    generator = torch.Generator().manual_seed(11)
    scores = torch.randn(6, 13, 13, generator=generator) * 4
    lengths = torch.tensor([12, 1, 5, 2, 9, 7])
    together = marginals(scores, lengths)
    for b, n in enumerate(lengths.tolist()):
        alone = marginals(scores[b : b + 1, : n + 1, : n + 1], lengths[b : b + 1])[0]
        torch.testing.assert_close(together[b, : n + 1, : n + 1], alone, rtol=1e-12, atol=0)
        assert together[b].sum().item() == pytest.approx(2 * n - 1)  # a tree has 2n−1 spans
        assert not together[b, :, n + 1 :].any()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7])
def test_best_of_all_trees(length):
    scores = torch.randn(1, length + 1, length + 1, dtype=torch.float64)
    slots = best_slots(scores, torch.tensor([length]))
    spans = {
        (i, i + w) for i, w in zip(slots.start[0].tolist(), slots.width[0].tolist(), strict=True)
    }
    table = scores[0].tolist()
    best = max(all_trees(0, length), key=lambda tree: sum(table[i][j] for i, j in tree))
    assert spans == set(best)


def test_padding_and_neighbours_change_nothing():
    generator = torch.Generator().manual_seed(7)
    scores = torch.randn(6, 13, 13, generator=generator)
    lengths = torch.tensor([12, 1, 5, 2, 9, 7])
    together = best_slots(scores, lengths)
    for b, length in enumerate(lengths.tolist()):
        alone = best_slots(scores[b : b + 1, : length + 1, : length + 1], lengths[b : b + 1])
        size = 2 * length - 1
        assert torch.equal(together.start[b, :size], alone.start[0])
        assert torch.equal(together.width[b, :size], alone.width[0])
        assert torch.equal(together.above[b, :size], alone.above[0])
        assert not together.width[b, size:].any()


def test_slots_are_preorder():
    slots = best_slots(torch.randn(4, 11, 11), torch.tensor([10, 4, 7, 1]))
    for start, width in zip(slots.start.tolist(), slots.width.tolist(), strict=True):
        spans = [(i, i + w) for i, w in zip(start, width, strict=True) if w]
        assert spans == sorted(spans, key=lambda span: (span[0], -span[1]))
        assert all(a != b for a, b in pairwise(spans))


def test_a_model_without_tags_puts_a_mark_above_every_word():
    table = LabelTable(["NP", "S|<>"], "TOP", False, CPU)
    slots = best_slots(torch.randn(1, 3, 3), torch.tensor([2]))
    forest = to_forest(slots, torch.tensor([[1, 0, 1]]), table)
    assert nested(forest, table.names) == [[("NP", ("_", 0)), ("_", 1)]]
