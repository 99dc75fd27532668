"""model and store: supar checkpoints of both kinds, trust, and parsers on disk."""

import pickle

import pytest
import torch
from supar import CRFConstituencyParser
from supar_oracle import supar_predict

from tensormt.errors import TensorMTError
from tensormt.parser import Parser

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


def test_a_checkpoint_of_supars_trainer(tmp_path, monkeypatch):
    """supar's trainer ends in the error that torch ≥ 2.6 gives; its checkpoint opens here."""
    path, parser = supar_parser(tmp_path, encoder="lstm", feat=["char"], **SIZES)
    train = str(tmp_path / "train.ptb")
    options = {"buckets": 1, "update_steps": 1, "workers": 0, "cache": False, "amp": False}
    options |= {"lr": 2e-2, "mu": 0.9, "nu": 0.9, "eps": 1e-12, "weight_decay": 0, "decay": 0.75}
    options |= {"decay_steps": 5000, "clip": 5.0, "mbr": True, "checkpoint": False}
    options |= {"delete": {"TOP", "S1", ""}, "equal": {}, "path": str(path), "encoder": "lstm"}
    path.unlink()
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        parser.train(train, train, train, epochs=15, patience=15, batch_size=50, **options)
    ours = Parser.load(path, trusted=True, split=False).parse(WORDS).to_brackets()
    load = torch.load
    monkeypatch.setattr(torch, "load", lambda *a, **k: load(*a, **{**k, "weights_only": False}))
    theirs = CRFConstituencyParser.load(str(path))
    assert ours == [bracketing(t) for t in supar_predict(theirs, [list(w) for w in WORDS])]
