"""Word vectors from the vocabulary of a transformer."""

import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.parser.treebank import read_vectors
from tensormt.parser.vectors import principal_components, write_vectors


def test_principal_axes_keep_the_distances():
    rows = torch.randn(40, 6, dtype=torch.float64)
    turned = principal_components(rows, 6)
    torch.testing.assert_close(torch.cdist(turned, turned), torch.cdist(rows, rows))
    spread = turned.var(0)
    assert torch.equal(spread, spread.sort(descending=True).values)


def test_write_vectors(tmp_path):
    from safetensors.torch import save_file

    words = ["[PAD]", "the", "##ing", "dog", "don't", "犬", "!"]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    save_file(
        {"embeddings.word_embeddings.weight": torch.randn(7, 5)}, tmp_path / "model.safetensors"
    )
    assert write_vectors(tmp_path, tmp_path / "out.txt", 3) == 4
    assert list(read_vectors(tmp_path / "out.txt")) == ["the", "dog", "don't", "!"]
    save_file({"other": torch.randn(7, 5)}, tmp_path / "model.safetensors")
    with pytest.raises(TensorMTError, match="word_embeddings"):
        write_vectors(tmp_path, tmp_path / "out.txt")
