"""Word vectors for the parser from the vocabulary of a transformer.

A treebank of nine thousand sentences has few words; the input embeddings of a pretrained
transformer have thirty thousand. The rows E [V, D] of whole words, projected to their first `size`
principal components, are used as static word vectors:

    X = (E − mean E) V_size,   E − mean E = U S Vᵀ

They are written as text, `word x₁ … x_size` per line, the format of supar's external embeddings.
Subwords (`##ing`), special symbols and other scripts are left out.

    python -m tensormt.parser.vectors FOLDER OUT.txt     # FOLDER: model.safetensors, vocab.txt
"""

import re
import sys
from pathlib import Path

import torch
from torch import Tensor

from tensormt.data import files
from tensormt.errors import TensorMTError

WHOLE_WORD = re.compile(r"[a-z0-9.,'-]+|[\x21-\x7e–—’“”‘…]")
EMBEDDINGS = "embeddings.word_embeddings.weight"


def principal_components(rows: Tensor, size: int) -> Tensor:
    """Project rows to their first `size` principal components: float [V,D] -> float [V,size].

    >>> principal_components(torch.tensor([[1.0, 1.0], [3.0, 3.0]]), 1).abs().round(decimals=3)
    tensor([[1.4140],
            [1.4140]])
    """
    centered = rows - rows.mean(0)
    _, axes = torch.linalg.eigh(centered.T @ centered)
    projected: Tensor = centered @ axes[:, -size:].flip(-1)
    return projected


def write_vectors(model: Path, out: Path, size: int = 100) -> int:
    """Write the word vectors of a transformer as text.

    Args:
        model: Folder with model.safetensors and vocab.txt.
        out: Output file.
        size: Dimension of the vectors.

    Returns:
        The number of vectors.

    Raises:
        TensorMTError: If the model has no word embeddings.
    """
    from safetensors.torch import load_file

    words = list(files.lines(str(model / "vocab.txt")))
    tensors = load_file(model / "model.safetensors")
    name = next((key for key in tensors if key.endswith(EMBEDDINGS)), None)
    if name is None:
        raise TensorMTError(
            f"{model / 'model.safetensors'}: expected a tensor named …{EMBEDDINGS}, found none: "
            "use the folder of a BERT-like model"
        )
    kept = [i for i, word in enumerate(words) if WHOLE_WORD.fullmatch(word)]
    vectors = principal_components(tensors[name].float()[kept], size)
    rows = zip(kept, vectors.tolist(), strict=True)
    lines = (" ".join([words[i], *(f"{x:.4f}" for x in row)]) + "\n" for i, row in rows)
    out.write_text("".join(lines), encoding="utf-8")
    return len(kept)


if __name__ == "__main__":
    count = write_vectors(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{count} vectors written to {sys.argv[2]}", file=sys.stderr)
