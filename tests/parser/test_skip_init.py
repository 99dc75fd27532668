"""Models without initialization."""

import torch

from tensormt.parser import Parser, checkpoint
from tensormt.parser.model import build_constituency, read_tree

TREES = """\
(TOP (S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (NP (NN cat)) (PP (IN in) (NP (NN town))))) (. .)))
(TOP (S (NP (PRP I)) (VP (VBP like) (S (VP (VBG eating) (NP (JJ red) (NNS apples))))) (. .)))
(TOP (NP (NNP John)))
(TOP (S (VP (VB Run) (ADVP (RB away) (CC and) (RB home))) (. !)))
"""


SIZES = {"n_embed": 8, "n_pretrained": 8, "n_feat_embed": 6, "n_char_embed": 5, "n_char_hidden": 10,
         "n_lstm_hidden": 7, "n_lstm_layers": 2, "n_span_mlp": 9, "n_label_mlp": 4}  # fmt: skip


def plain_settings(vectors=0):
    labels = sorted({label for line in TREES.splitlines() for *_, label in read_tree(line)[2]})
    tags = {x for line in TREES.splitlines() for i, j, x in read_tree(line)[2] if j == i + 1}
    return {
        "args": {**SIZES, "embed_dropout": 0.3, "encoder_dropout": 0.3, "mlp_dropout": 0.3},
        "words": ["<pad>", "<unk>", "<bos>", "<eos>", "a", "cat", "dog", "the", "apples", "town"],
        "known": 8 if vectors else 10,
        "vectors": vectors,
        "chars": ["<pad>", "<unk>", "<bos>", "<eos>", *"abcdefghijT"],
        "labels": labels,
        "narrow": sorted(tags),
        "fix_len": 6,
        "root": "TOP",
        "hyphens": True,
    }


def test_loading_leaves_the_random_numbers_alone(tmp_path):
    settings = plain_settings()
    checkpoint.save_model(tmp_path, build_constituency(settings).model, settings)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Parser.load(tmp_path).parse(["A cat ."])
    assert torch.equal(torch.rand(3), expected)
