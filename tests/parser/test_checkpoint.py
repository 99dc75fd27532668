"""Parsers on disk: quantized weights, settings, damage."""

import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.parser import Parser, checkpoint
from tensormt.parser.model import build_constituency, read_tree

TREES = """\
(TOP (S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (NP (NN cat)) (PP (IN in) (NP (NN town))))) (. .)))
(TOP (S (NP (PRP I)) (VP (VBP like) (S (VP (VBG eating) (NP (JJ red) (NNS apples))))) (. .)))
(TOP (NP (NNP John)))
(TOP (S (VP (VB Run) (ADVP (RB away) (CC and) (RB home))) (. !)))
"""


WORDS = [
    "The dog likes eating a red cat in town .".split(),
    "Run home !".split(),
    ["John"],
    "I saw John and the unknown dragons away in -LRB- red -RRB- town with apples .".split(),
]


def shake(parser, seed=3):
    """Random weights: supar starts its biaffine layers at zero."""
    torch.manual_seed(seed)
    for name, weight in parser.model.named_parameters():
        if not name.startswith("encoder.bert"):
            torch.nn.init.normal_(weight, std=0.3)
    return parser


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


@pytest.mark.parametrize("vectors", [0, 8])
def test_a_parser_on_disk(tmp_path, vectors):
    """Saved and loaded: weights up to float16 or int8, and only tags above words."""
    settings = plain_settings(vectors)
    parser = shake(build_constituency(settings))
    checkpoint.save_model(tmp_path / "mine", parser.model, settings)
    loaded = checkpoint.load_settings(tmp_path / "mine")
    again = checkpoint.load_model(tmp_path / "mine", loaded)
    assert {**settings, "format": checkpoint.CONSTITUENCY_FORMAT} == loaded
    for name, weight in parser.model.state_dict().items():
        torch.testing.assert_close(again.model.state_dict()[name], weight, rtol=1e-3, atol=6e-3)
    ours = Parser.load(tmp_path / "mine", split=False)
    assert ours.hyphens
    trees = ours.parse(WORDS)
    leaf = trees.nodes.word >= 0
    names = {trees.labels[i] for i in trees.nodes.label[leaf].tolist()}
    assert names <= {label.split("::")[-1] for label in settings["narrow"]}


def test_damaged_settings(tmp_path):
    settings = plain_settings()
    checkpoint.save_model(tmp_path, build_constituency(settings).model, settings)
    text = (tmp_path / checkpoint.SETTINGS).read_text()
    (tmp_path / checkpoint.SETTINGS).write_text(text.replace('"format": 1', '"format": 9'))
    with pytest.raises(TensorMTError, match="expected format 1 or 2, got 9"):
        Parser.load(tmp_path)


def test_quantised_rows():
    table = torch.randn(50, 20) * torch.logspace(-3, 2, 50)[:, None]
    rows, scale = checkpoint.quantize(table)
    error = (checkpoint.dequantize(rows, scale) - table).abs().amax(-1)
    assert (error <= table.abs().amax(-1) * 0.005 + 1e-4).all()
    once = checkpoint.dequantize(*checkpoint.quantize(table))
    assert torch.equal(checkpoint.dequantize(*checkpoint.quantize(once)), once)
