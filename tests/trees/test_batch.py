"""TreeBatch: the padded surface, slices, concatenation, pickling, both kinds of trees."""

import pickle
import random

import oracles
import pytest
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.text.dictionary import Dictionary

FIELDS = ("label", "parent", "word", "position", "height", "production")


def random_batch(seed, dependency=False):
    rng = random.Random(seed)
    trees = [
        oracles.random_tree(rng, rng.randint(1, 25)) if rng.random() > 0.2 else None
        for _ in range(rng.randint(1, 6))
    ]
    batch = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])
    return batch.dependencies() if dependency else batch


def same(one, two):
    assert one.kind == two.kind
    if one.kind == "dependency":
        assert one.to_heads() == two.to_heads()
    else:
        assert one.to_brackets() == two.to_brackets()


@given(st.integers(0, 2**32), st.booleans())
def test_padded_tensors_and_back(seed, dependency):
    """The padded tensors hold the whole tree: a batch made of them is the same batch."""
    batch = random_batch(seed, dependency)
    shape = (len(batch), batch.nodes.width)
    for name in FIELDS:
        tensor = getattr(batch, name)
        assert tensor.shape == shape
        assert tensor.dtype == torch.int64
        assert (tensor[~batch.mask] == -1).all()
    again = tm.TreeBatch(
        batch.label, batch.parent, batch.word, batch.lengths, batch.labels, batch.words, batch.kind
    )
    same(batch, again)
    for name in FIELDS:
        assert torch.equal(getattr(batch, name), getattr(again, name)), name


@given(st.integers(0, 2**32), st.booleans())
def test_slices_and_concatenation(seed, dependency):
    batch = random_batch(seed, dependency)
    singles = [batch[place] for place in range(len(batch))]
    same(tm.TreeBatch.concat(singles), batch)
    order = [*range(2, len(batch)), *range(min(2, len(batch)))]
    same(tm.TreeBatch.concat([batch[2:], batch[:2]]), batch[order])
    same(batch[::-1], batch[torch.arange(len(batch) - 1, -1, -1)])
    keep = torch.rand(len(batch)) > 0.5
    same(batch[keep], batch[keep.nonzero().squeeze(1)])
    same(batch[-1], batch[len(batch) - 1])
    assert len(batch[5:2]) == 0
    other = random_batch(seed + 1, dependency)
    joined = tm.TreeBatch.concat([batch, other])
    same(joined[len(batch) :], other)


@given(st.integers(0, 2**32))
def test_what_is_known_is_what_follows_from_the_parents(seed):
    """Depth and position that a reader knows go along to joined, grown and cut trees."""
    batch = random_batch(seed)
    bare = tm.TreeBatch.from_brackets(["(S a (NP b c (NN d)) (VP e))", "", "(NP (NN a) b)"])
    joined = tm.TreeBatch.concat([batch, bare])
    for trees in (joined, joined.lexicalized(), joined.skeleton(), joined[::-1].lexicalized()):
        nodes = trees.nodes
        assert nodes.known_depth is not None
        plain = type(nodes)(nodes.parent, nodes.label, nodes.word, nodes.offsets, nodes.width)
        assert torch.equal(nodes.depth, plain.depth)
        assert torch.equal(nodes.position, plain.position)


def test_any_negative_id_is_none():
    """Padded tensors with another padding than -1, as losses of torch have it."""
    read = tm.TreeBatch.from_brackets(["(S (NP (NN a)) (VP (VB b)))", "(NN c)"])
    word = torch.where(read.word < 0, -100, read.word)
    made = tm.TreeBatch(read.label, read.parent, word, read.lengths, read.labels, read.words)
    other = tm.TreeBatch.from_brackets(["(NN d)"])
    joined = tm.TreeBatch.concat([other, made])
    assert joined.to_brackets() == ["(NN d)", *read.to_brackets()]
    assert tm.TKM(lexical=True)(made, [read]).tolist() == [1, 1]


def test_leaves_without_words_have_no_part_in_dependencies():
    """They take no word of the next tree, nor give it a head."""
    label = torch.tensor([[0, 1, 2, -1], [1, -1, -1, -1], [0, 2, 1, 1]])
    parent = torch.tensor([[-1, 0, 0, -1], [-1, -1, -1, -1], [-1, 0, 0, 0]])
    word = torch.tensor([[-1, 0, -1, -1], [-1, -1, -1, -1], [-1, -1, 1, 0]])
    labels, words = Dictionary(["S", "NN", "NP"]), Dictionary(["a", "b"])
    batch = tm.TreeBatch(label, parent, word, torch.tensor([3, 1, 4]), labels, words)
    found, heads = batch.dependencies().to_heads()
    assert found == [["a"], [], ["b", "a"]]
    assert heads == [[0], [], [0, 0]]
    assert batch.dependencies().nodes.parent.tolist() == [-1, -1, -1]


def test_dependencies_of_many_trees():
    """More trees than one chunk: chunks join in order."""
    rng = random.Random(9)
    lines = [oracles.brackets(oracles.random_tree(rng, rng.randint(1, 4))) for _ in range(4100)]
    batch = tm.TreeBatch.from_brackets(lines)
    words, heads = batch.dependencies().to_heads()
    for place in (0, 2047, 2048, 4099):
        assert batch[place].dependencies().to_heads() == ([words[place]], [heads[place]])


def test_pickle_keeps_the_trees():
    batch = random_batch(3)
    batch.dependencies()
    same(pickle.loads(pickle.dumps(batch)), batch)


def test_index_errors():
    three = tm.TreeBatch.from_brackets(["(A a)", "(B b)", "(C c)"])
    assert three[[-2, 0]].to_brackets() == ["(B b)", "(A a)"]
    for wrong in ([3], [-4], torch.tensor([True])):
        with pytest.raises(IndexError):
            three[wrong]
    batch = tm.TreeBatch.from_brackets(["(A b)"])
    with pytest.raises(IndexError):
        batch[1]
    with pytest.raises(
        tm.TensorMTError, match="constituency and dependency trees cannot be joined"
    ):
        tm.TreeBatch.concat([batch, batch.dependencies()])
    with pytest.raises(tm.TensorMTError, match="to_heads"):
        batch.dependencies().to_brackets()
    with pytest.raises(tm.TensorMTError, match="dependencies"):
        batch.to_heads()


def test_productions_agree_between_batches():
    one = tm.TreeBatch.from_brackets(["(S (NP (NN a)) (VP (VB b)))"])
    two = tm.TreeBatch.from_brackets(["(X (VP (VB q)))", "(S (NP (JJ a)) (VP (NN c)))"])
    assert one.production[0, 0] == two.production[1, 0]
    assert one.production[0, 1] != two.production[1, 1]
    assert one.production[0, 2] == 0


def test_dependencies_are_made_once():
    batch = random_batch(8)
    assert batch.dependencies() is batch.dependencies()
    assert batch.dependencies("yamada") is not batch.dependencies()
    deps = batch.dependencies()
    assert deps.dependencies() is deps


def test_repr_says_what_it_is():
    assert repr(tm.TreeBatch.from_brackets(["(A b)"])) == (
        "TreeBatch(1 constituency trees, 1 nodes, cpu)"
    )


@pytest.mark.parametrize("rules", ["collins", "yamada"])
def test_batches_that_are_sent_together(rules):
    """One copy; parts of one batch, and each what it was when it is looked at alone."""
    lines = [["(S (NP (DT a) (NN dog)) (VP (VBZ is) here))", "(X x)"], ["(S (A b) (C d))", ""]]
    batches = [tm.TreeBatch.from_brackets(some) for some in lines]
    with FakeCuda(strict=False) as cuda:
        there = tm.TreeBatch.send(batches, "cuda")
        assert len(cuda.copies) == 1
        assert not cuda.copies[0].blocks
        for derive in (
            lambda batch: batch,
            lambda batch: batch.skeleton(),
            lambda batch: batch.lexicalized(),
            lambda batch: batch.dependencies(rules),
        ):
            parts = [derive(batch) for batch in there]
            assert len(tm.TreeBatch.whole(parts)) == 4
            assert tm.TreeBatch.whole(parts[:1]) is None
            assert tm.TreeBatch.whole(parts[::-1]) is None
            for part, batch in zip(parts, batches, strict=True):
                here = derive(batch)
                assert len(part) == len(here) == 2
                assert part.width >= here.width
                assert to_host(part.lengths).tolist() == here.lengths.tolist()
                assert to_host(part.tokens).tolist() == here.tokens.tolist()
                back = part.to("cpu")
                assert tm.TreeBatch.whole([back]) is None
                assert back.nodes.parent.tolist() == here.nodes.parent.tolist()
                ids = [side.nodes.label.tolist() for side in (back, here)]
                names = [["", *side.labels.strings] for side in (back, here)]
                assert [names[0][k + 1] for k in ids[0]] == [names[1][k + 1] for k in ids[1]]
        mixed = tm.TreeBatch.send([batches[0], batches[0].dependencies()], "cuda")
        assert tm.TreeBatch.whole(mixed) is None
        assert tm.TreeBatch.send(there, "cuda:0")[0] is there[0]
    assert tm.TreeBatch.send(batches, "cpu")[0] is batches[0]
