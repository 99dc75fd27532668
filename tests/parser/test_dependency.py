"""dependency: supar biaffine checkpoints to dependency TreeBatches."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from supar import BiaffineDependencyParser

from tensormt.parser import Parser
from tensormt.parser.dependency import are_trees

CONLL = """\
1\tThe\t_\tDT\t_\t_\t2\tdet\t_\t_
2\tdog\t_\tNN\t_\t_\t3\tnsubj\t_\t_
3\tran\t_\tVBD\t_\t_\t0\troot\t_\t_
4\thome\t_\tRB\t_\t_\t3\tadvmod\t_\t_

1\tStop\t_\tVB\t_\t_\t0\troot\t_\t_
2\t!\t_\t.\t_\t_\t1\tpunct\t_\t_

"""
SIZES = {"n_embed": 8, "n_pretrained": 8, "n_feat_embed": 6, "n_char_embed": 5, "n_char_hidden": 10,
         "n_lstm_hidden": 7, "n_lstm_layers": 2, "n_arc_mlp": 9, "n_rel_mlp": 4}  # fmt: skip
WORDS = [
    "The dog ran home".split(),
    ["Stop"],
    "The unknown dragons ran home and the dog barked at the old man near town today".split(),
    "dog dog dog dog dog dog".split(),
]


def plain_tree(heads):
    """Whether heads are a tree with one root, word by word."""
    if heads.count(0) != 1:
        return False
    for start in range(1, len(heads) + 1):
        seen, here = set(), start
        while here:
            if here in seen:
                return False
            seen.add(here)
            here = heads[here - 1]
    return True


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_are_trees(data):
    sizes = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=5))
    lists = [[data.draw(st.integers(0, n)) for _ in range(n)] for n in sizes]
    heads = torch.tensor([row + [0] * (max(sizes) - len(row)) for row in lists])
    assert are_trees(heads, torch.tensor(sizes)).tolist() == [plain_tree(row) for row in lists]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dep")
    (folder / "train.conllx").write_text(CONLL)
    path = folder / "dep.pt"
    parser = BiaffineDependencyParser.build(
        str(path), min_freq=1, train=str(folder / "train.conllx"), build=True, embed=None,
        unk="unk", encoder="lstm", feat=["char"], **SIZES,
    )  # fmt: skip
    torch.manual_seed(2)
    for weight in parser.model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    parser.save(str(path))
    return path, parser


def test_heads_are_supars(checkpoint):
    path, theirs = checkpoint
    ours = Parser.load(path, trusted=True, split=False).parse(WORDS)
    words, heads = ours.to_heads()
    data = theirs.predict([list(w) for w in WORDS], verbose=False, tree=True, proj=False)
    assert words == WORDS
    assert heads == [[int(head) for head in sentence] for sentence in data.arcs]


def test_later_sentences_hang_on_the_first(checkpoint):
    parser = Parser.load(checkpoint[0], trusted=True)
    joined, first, second = (
        parser.parse([t]) for t in ("Dogs ran. We left!", "Dogs ran.", "We left!")
    )
    (a,), (b,), (c,) = joined.to_heads()[1], first.to_heads()[1], second.to_heads()[1]
    root = b.index(0) + 1
    assert a == b + [head + len(b) if head else root for head in c]
    assert joined.kind == "dependency"
    trees = parser.parse(["", "Dogs ran. We left!", None])
    assert trees.lengths.tolist() == [0, 6, 0]
    assert len(parser.parse([])) == 0
