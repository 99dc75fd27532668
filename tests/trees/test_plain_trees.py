"""Trees as plain lists: the readers, head rules and views against those of tensors."""

import pickle
import random

import bracket_samples
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.plain import MAX_NODES, MAX_SEGMENTS, MAX_TEXT
from tensormt.trees import head_format, penn
from tensormt.trees.conversion import flatten, unflatten
from tensormt.trees.head_rules import RULES, HeadRules
from tensormt.trees.plain_heads import to_dependencies
from tensormt.trees.plain_trees import read_brackets, read_heads

seeds = st.integers(0, 2**32)
PARTS = ["(", ")", " ", "NP-SBJ", "a", "(NN dog)", "\n", "(-NONE- *)", "(TOP ", "é", "\x1f"]


def full(lines):
    """The trees as the full reader gives them."""
    flat = penn.read(lines)
    return tm.TreeBatch.from_nodes(flat.nodes, flat.labels, flat.words, bare=flat.bare)


def content(batch):
    """Everything that a batch of constituency trees holds, ids as strings."""
    nodes = batch.nodes
    labels = [batch.labels[k] if k >= 0 else None for k in nodes.label.tolist()]
    words = [batch.words[k] if k >= 0 else None for k in nodes.word.tolist()]
    rows = (nodes.parent, nodes.position, nodes.depth, nodes.offsets)
    return labels, words, nodes.width, batch._made().bare, *(row.tolist() for row in rows)


def outcome(read, lines):
    try:
        return content(read(lines))
    except tm.TensorMTError as error:
        return str(error)


def listed(tree):
    return list(tree.labels), list(tree.words), list(tree.parents)


@settings(max_examples=300)
@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=14).map("".join), min_size=1, max_size=3))
def test_any_text_is_read_as_by_the_full_reader(lines):
    found, expected = (outcome(read, lines) for read in (tm.TreeBatch.from_brackets, full))
    if isinstance(expected, tuple):  # one bare word in the batch, or in a tree that was dropped
        found, expected = ((*c[:3], *c[4:]) for c in (found, expected))
    assert found == expected


@settings(max_examples=200)
@given(seeds)
def test_trees_are_read_as_by_the_full_reader(seed):
    rng = random.Random(seed)
    lines = bracket_samples.bracketings(rng, rng.randint(1, 4))
    batch = tm.TreeBatch.from_brackets(lines)
    if "-NONE-" not in "".join(lines):
        assert batch._flat is None, "a few trees make no tensors"
    assert content(batch) == content(full(lines))
    plain, other = batch.plain_trees(), full(lines).plain_trees()
    assert list(map(listed, plain)) == list(map(listed, other))


WRONG = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "é", "\ud800", None, 5]), max_size=4),
        st.lists(st.one_of(st.integers(-1, 5), st.booleans(), st.none()), max_size=4),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=300)
@given(WRONG)
def test_any_heads_are_read_as_by_the_full_reader(rows):
    words, heads = [row[0] for row in rows], [row[1] for row in rows]

    def tried(read):
        try:
            return read()
        except (tm.TensorMTError, UnicodeError) as error:
            return type(error), str(error)

    expected = tried(lambda: head_format.write(*head_format.read(words, heads)))
    found = tried(lambda: tm.TreeBatch.from_heads(words, heads).to_heads())
    assert found == expected


@pytest.mark.parametrize("heads", [[0, 3, 2], [2, 1, 0], [3, 0, 1], [0, 2, 1], [2, 3, 4, 2, 0]])
def test_cycles_are_errors(heads):
    words = [["a"] * len(heads)]
    assert read_heads(words, [heads]) is None
    with pytest.raises(tm.TensorMTError, match=r"cycle that word \d leads into"):
        tm.TreeBatch.from_heads(words, [heads])


@given(seeds, st.booleans())
def test_heads_are_read_as_by_the_full_reader(seed, named):
    rng = random.Random(seed)
    words, heads, relations = bracket_samples.heads(rng, rng.randint(1, 4))
    batch = tm.TreeBatch.from_heads(words, heads, relations if named else None)
    assert batch._flat is None, "a few trees make no tensors"
    words[0].append("changed behind its back")
    words[0].pop()
    nodes, names = head_format.read(words, heads)
    assert batch.to_heads() == head_format.write(nodes, names) == (words, heads)
    assert batch.words.strings == names.strings
    assert batch.labels is batch.words
    assert torch.equal(batch.nodes.parent, nodes.parent)
    assert batch.to_relations() == (relations if named else None)
    given_again = tm.TreeBatch.from_heads(*batch.to_heads(), batch.to_relations())
    assert [listed(tree) for tree in given_again.plain_trees()] == [
        (words[k], words[k], [head - 1 for head in heads[k]]) for k in range(len(words))
    ]


def test_a_batch_does_not_change_with_the_lists_it_was_made_of():
    words, heads, relations = [["a", "b"]], [[0, 1]], [["root", "obj"]]
    batch = tm.TreeBatch.from_heads(words, heads, relations)
    words[0][0], heads[0][1], relations[0][0] = "c", 7, "x"
    assert batch.to_heads() == ([["a", "b"]], [[0, 1]])
    assert batch.to_relations() == [["root", "obj"]]


ODD_RULES = HeadRules("for tests", "S l VP e\nNP e POS r NN|X\nX e\n* r", ", .", "CC")


@settings(max_examples=200)
@given(seeds, st.sampled_from(["collins", "yamada", "odd"]))
def test_dependencies_equal_those_of_the_engine(seed, rules):
    rng = random.Random(seed)
    lines = bracket_samples.bracketings(rng, rng.randint(1, 4))
    if seed % 2:
        trees = [oracles.random_tree(rng, rng.randint(1, 30)) for _ in lines]
        lines = [oracles.brackets(tree) for tree in trees]
    batch = tm.TreeBatch.from_brackets(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RULES, "odd", ODD_RULES)
        expected = batch.dependencies(rules).to_heads()
        found = [to_dependencies(tree, rules) for tree in batch.plain_trees()]
    words = [list(tree.words) for tree in found]
    heads = [[parent + 1 for parent in tree.parents] for tree in found]
    assert (words, heads) == expected


def test_leaves_without_words():
    """Trees made of tensors may have them, and words at inner nodes."""
    from tensormt.text.dictionary import Dictionary

    label = torch.tensor([[0, 1, 2, -1], [1, -1, -1, -1], [0, 2, 1, 1]])
    parent = torch.tensor([[-1, 0, 0, -1], [-1, -1, -1, -1], [-1, 0, 0, 0]])
    word = torch.tensor([[-1, 0, -1, -1], [-1, -1, -1, -1], [1, -1, 1, 0]])
    labels, words = Dictionary(["S", "NN", "NP"]), Dictionary(["a", "b"])
    batch = tm.TreeBatch(label, parent, word, torch.tensor([3, 1, 4]), labels, words)
    found = [to_dependencies(tree, "collins") for tree in batch.plain_trees()]
    heads = [[parent + 1 for parent in tree.parents] for tree in found]
    assert ([list(tree.words) for tree in found], heads) == batch.dependencies().to_heads()
    grown = [tree.lexicalized() for tree in batch.plain_trees()]
    assert list(map(listed, grown)) == list(map(listed, batch.lexicalized().plain_trees()))


@given(seeds)
def test_views_equal_those_of_the_engine(seed):
    rng = random.Random(seed)
    batch = tm.TreeBatch.from_brackets(bracket_samples.bracketings(rng, rng.randint(1, 4)))
    for view in ("skeleton", "lexicalized"):
        found = [getattr(tree, view)() for tree in batch.plain_trees()]
        expected = unflatten(getattr(batch, view)()._made())
        assert list(map(listed, found)) == list(map(listed, expected))
    words, heads, relations = bracket_samples.heads(rng, 2)
    named = tm.TreeBatch.from_heads(words, heads, relations)
    found = [tree.with_relations() for tree in named.plain_trees()]
    assert list(map(listed, found)) == list(map(listed, named.with_relations().plain_trees()))


@given(seeds, st.booleans())
def test_both_forms_and_back(seed, dependency):
    rng = random.Random(seed)
    if dependency:
        trees = read_heads(*bracket_samples.heads(rng, 3))
    else:
        trees = read_brackets([oracles.brackets(oracles.random_tree(rng, 9)), "", "(S a (NN b))"])
    again = unflatten(flatten(trees, "dependency" if dependency else "constituency"))
    assert list(map(listed, again)) == list(map(listed, trees))
    assert [tree.relations for tree in again] == [tree.relations for tree in trees]


@given(seeds, st.booleans())
def test_batches_of_plain_trees_behave_like_others(seed, dependency):
    rng = random.Random(seed)

    def make():
        if dependency:
            return tm.TreeBatch.from_heads(*bracket_samples.heads(rng, rng.randint(1, 4)))
        return tm.TreeBatch.from_brackets(bracket_samples.bracketings(rng, rng.randint(1, 4)))

    def written(batch):
        return (batch.to_heads(), batch.to_relations()) if dependency else batch.to_brackets()

    few, other = make(), make()
    many = pickle.loads(pickle.dumps(few))
    many._made()
    many._plain = None
    assert len(few) == len(many)
    assert few.size == many.size
    assert repr(few) == repr(many)
    assert few.to("cpu") is few
    for index in (0, -1, slice(1, None), slice(None, None, -1), [0, 0], torch.tensor([0])):
        assert written(few[index]) == written(many[index])
        assert written(pickle.loads(pickle.dumps(few[index]))) == written(many[index])
    joined = tm.TreeBatch.concat([few, other])
    for first, second in ((many, other), (few, other)):
        first.nodes  # noqa: B018 one of them has tensors now
        assert written(tm.TreeBatch.concat([first, second])) == written(joined)
    assert few.tokens.tolist() == [tree.tokens for tree in few.plain_trees()]
    assert few.lengths.tolist() == [len(tree) for tree in few.plain_trees()]


def test_joining_trees_with_and_without_relations():
    named = tm.TreeBatch.from_heads([["a"]], [[0]], [["root"]])
    plain, empty = tm.TreeBatch.from_heads([["b"]], [[0]]), tm.TreeBatch.from_heads([[]], [[]])
    assert tm.TreeBatch.concat([named, plain]).to_relations() is None
    assert tm.TreeBatch.concat([named, empty]).to_relations() == [["root"], []]
    assert tm.TreeBatch.concat([named, named]).to_relations() == [["root"], ["root"]]


def test_many_trees_and_large_ones_are_not_held_as_lists():
    tree = "(S " + "(NN longer) " * max(MAX_NODES + 1, MAX_TEXT // 10) + ")"
    for lines in (["(NN a)"] * (MAX_SEGMENTS + 1), [tree]):
        batch = tm.TreeBatch.from_brackets(lines)
        assert batch._plain is None
        assert batch.plain_trees() is None
        assert batch.dependencies().plain_trees() is None
    long = ["a"] * (MAX_NODES + 1)
    assert tm.TreeBatch.from_heads([long], [list(range(len(long)))])._plain is None
    slice_of_many = tm.TreeBatch.from_brackets(["(NN a)"] * (MAX_SEGMENTS + 1))[:2]
    assert list(map(listed, slice_of_many.plain_trees())) == [(["NN"], ["a"], [-1])] * 2
