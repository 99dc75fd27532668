"""Vectors in a folder: a text is encoded once for all runs."""

import pytest
import torch
from vector_samples import make_encoder

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.vectors.cache import encode_cached
from tensormt.vectors.encoder import Encoder

TEXTS = ["the cat sat .", "", "a new house", "the cat sat .", " cats ran "]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("transformers", reason="the extra encoder is not installed")
    return make_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def encoded(monkeypatch):
    """The texts that were encoded."""
    seen, encode = [], Encoder.encode

    def counting(self, texts, *more):
        seen.extend(texts)
        return encode(self, texts, *more)

    monkeypatch.setattr(Encoder, "encode", counting)
    return seen


def test_kept_vectors_are_those_of_the_encoder(folder, tmp_path, encoded):
    encoder = Encoder(folder)
    plain = encoder.encode(TEXTS)
    encoded.clear()
    for more in (TEXTS[:1], TEXTS, TEXTS):  # the first time one of them, then the others, then none
        found = encode_cached(encoder, more, tmp_path, "tiny")
    assert encoded == ["the cat sat .", "a new house", "cats ran"]
    assert list(found.texts) == list(plain.texts)
    for name in ("vectors", "lengths", "ids", "words", "spans"):
        own, expected = getattr(found, name), getattr(plain, name)
        assert own.dtype == expected.dtype
        assert torch.allclose(own.double(), expected.double(), atol=1e-5), name
    assert len(encode_cached(encoder, [""], tmp_path, "tiny").vectors) == 0
    encode_cached(encoder, TEXTS[:1], tmp_path, "another layer")
    assert len(encoded) == 4


def test_the_option(folder, tmp_path, encoded):
    kept = tmp_path / "vectors"
    spec = f"bertscore:encoder={folder},units=words,layer=2"
    plain = tm.score(["the cat sat ."], [["a cat ran ."]], [spec])
    found = [tm.score(["the cat sat ."], [["a cat ran ."]], [f"{spec},cache={kept}"]) for _ in "ab"]
    assert encoded.count("the cat sat .") == 2  # without the folder, and the first time with it
    for own in found:
        assert list(own.corpus.values()) == pytest.approx(list(plain.corpus.values()), abs=1e-6)
        assert list(own.signatures.values()) == list(plain.signatures.values())


def test_a_folder_that_cannot_be_used(folder, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(TensorMTError, match="cannot be used"):
        encode_cached(Encoder(folder), ["the cat"], tmp_path / "file", "tiny")
