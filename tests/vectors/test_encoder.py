"""Encoder: a tiny transformer made on the spot."""

import subprocess
import sys

import pytest
import torch
from vector_samples import make_encoder

from tensormt.errors import TensorMTError
from tensormt.vectors.encoder import Encoder, load_encoder

transformers = pytest.importorskip("transformers", reason="the extra encoder is not installed")
TEXTS = ["the cat sat on the mat .", "", "cats ran", " \u00a0 ", "unable, the new dogs   sat ."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize("layer", [1, 2, 3, None])
def test_vectors_are_those_of_the_layer(folder, layer):
    found = Encoder(folder, layer).encode(TEXTS)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert found.lengths.tolist()[1::2] == [0, 0]
    parts = found.vectors.split(found.lengths.tolist())
    for text, own, ids in zip(TEXTS, parts, found.ids.split(found.lengths.tolist()), strict=True):
        if text.strip():
            coded = tokenizer(text, return_tensors="pt")
            assert ids.tolist() == coded["input_ids"][0].tolist()
            with torch.no_grad():
                states = model(**coded, output_hidden_states=True).hidden_states
            assert torch.allclose(own, states[layer or 3][0], atol=1e-5)


def test_words_and_places_in_the_text(folder):
    found = Encoder(folder).encode([" unable cats ,"])
    assert found.words.tolist() == [-1, 0, 0, 1, 2, -1]
    assert found.spans[1:-1].tolist() == [[0, 2], [2, 6], [7, 11], [12, 13]]


def test_parts_of_any_size_give_the_same(folder):
    encoder = Encoder(folder, 2)
    whole, single = encoder.encode(TEXTS), encoder.encode(TEXTS, cells=1)
    assert torch.allclose(whole.vectors, single.vectors, atol=1e-5)
    none = encoder.encode(["", " "])
    assert none.vectors.shape == (0, 16)


def test_long_texts_are_cut_with_a_warning(folder):
    with pytest.warns(UserWarning, match="1 of 2 texts have as many pieces as the encoder reads"):
        found = Encoder(folder).encode(["the " * 50, "cat"])
    assert found.lengths.tolist() == [32, 3]


def test_what_cannot_be_an_encoder(folder, tmp_path):
    with pytest.raises(TensorMTError, match=r"layer is 4, but .* has 3 layers"):
        Encoder(folder, 4)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(TensorMTError, match="cannot be read as an encoder"):
        load_encoder(str(tmp_path))


def test_a_pickle_needs_trust(tmp_path):
    folder = make_encoder(tmp_path, safe=False)
    with pytest.raises(TensorMTError, match=r"pytorch_model\.bin are a pickle"):
        Encoder(folder)
    assert Encoder(folder, trusted=True).encode(["the cat"]).lengths.tolist() == [4]


def test_nothing_is_printed_or_fetched(folder):
    code = (
        "import socket\n"
        "def no(*a, **k): raise SystemExit('network')\n"
        "socket.socket.connect = no\n"
        f"from tensormt.vectors.encoder import load_encoder\nload_encoder({str(folder)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
