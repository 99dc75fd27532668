"""model and store: supar checkpoints of both kinds, trust, and parsers on disk."""

import pickle

import pytest
import torch
from supar import CRFConstituencyParser
from supar_oracle import supar_predict

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


def supar_parser(folder, **options):
    """A parser of supar's own making, saved by supar as a pickle."""
    train = folder / "train.ptb"
    train.write_text(TREES)
    path = folder / "supar.pt"
    parser = CRFConstituencyParser.build(
        str(path), min_freq=1, train=str(train), build=True, embed=None, unk="unk", **options
    )
    shake(parser).save(str(path))
    return path, parser


SIZES = {"n_embed": 8, "n_pretrained": 8, "n_feat_embed": 6, "n_char_embed": 5, "n_char_hidden": 10,
         "n_lstm_hidden": 7, "n_lstm_layers": 2, "n_span_mlp": 9, "n_label_mlp": 4}  # fmt: skip


def bracketing(tree):
    """supar's nltk tree as one line, without the outer root if it has one child."""
    line = tree[0] if len(tree) == 1 else tree
    return " ".join(str(line).split())


def test_stock_checkpoint_gives_supars_trees(tmp_path):
    path, parser = supar_parser(tmp_path, encoder="lstm", feat=["char"], **SIZES)
    ours = Parser.load(path, trusted=True, split=False)
    expected = [bracketing(t) for t in supar_predict(parser, [list(w) for w in WORDS])]
    assert ours.parse(WORDS).to_brackets() == expected
    assert not ours.hyphens


def test_transformer_checkpoint_gives_supars_trees(tmp_path):
    transformers = pytest.importorskip("transformers")
    bert = tmp_path / "bert"
    bert.mkdir()
    letters = sorted(set("".join(w for s in WORDS for w in s)))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    (bert / "vocab.txt").write_text("\n".join(pieces) + "\n")
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=12, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=128,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(bert)
    transformers.BertTokenizer(str(bert / "vocab.txt"), do_lower_case=False).save_pretrained(bert)
    path, parser = supar_parser(
        tmp_path, encoder="bert", feat=[], bert=str(bert), n_bert_layers=2, n_span_mlp=9,
        n_label_mlp=4, mix_dropout=0.0, bert_pooling="mean",
    )  # fmt: skip
    ours = Parser.load(path, trusted=True, split=False)
    expected = [bracketing(t) for t in supar_predict(parser, [list(w) for w in WORDS])]
    assert ours.parse(WORDS).to_brackets() == expected


def test_a_pickle_is_not_opened_without_trust(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle ran",))

    path = tmp_path / "bomb.pt"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(TensorMTError, match=r"can execute arbitrary code.*trusted=True"):
        Parser.load(path)


def test_what_cannot_be_loaded_is_said(tmp_path):
    with pytest.raises(TensorMTError, match="no parser at"):
        Parser.load(tmp_path / "nothing")
    with pytest.raises(TensorMTError, match=r"expected a parser \(model.safetensors"):
        Parser.load(tmp_path)
    path = tmp_path / "other.pt"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(TensorMTError, match="cannot be read as a checkpoint"):
        Parser.load(path, trusted=True)
    torch.save({"name": "vi-constituency", "args": {}}, path)
    with pytest.raises(TensorMTError, match="contains a supar 'vi-constituency' parser"):
        Parser.load(path, trusted=True)


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


def test_loading_leaves_the_random_numbers_alone(tmp_path):
    settings = plain_settings()
    checkpoint.save_model(tmp_path, build_constituency(settings).model, settings)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Parser.load(tmp_path).parse(["A cat ."])
    assert torch.equal(torch.rand(3), expected)
