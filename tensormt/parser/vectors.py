"""Word vectors for the parser out of a transformer's own vocabulary.

A treebank of nine thousand sentences knows few words; the input embeddings of a pretrained
transformer know thirty thousand. Its whole-word rows E [V, D], centred and turned onto their
first `size` principal axes, are ordinary static word vectors:

    X = (E − mean E) V_size,   E − mean E = U S Vᵀ

written one word a line, `word x₁ … x_size`, the text format that supar reads as its external
embedding. Pieces inside a word (`##ing`), special symbols and other scripts are left out.

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


def principal(rows: Tensor, size: int) -> Tensor:
    """Centred rows on their first `size` principal axes: float [V,D] -> float [V,size]."""
    centred = rows - rows.mean(0)
    _, axes = torch.linalg.eigh(centred.T @ centred)
    turned: Tensor = centred @ axes[:, -size:].flip(-1)
    return turned


def write_vectors(model: Path, out: Path, size: int = 100) -> int:
    """Write the word vectors of a transformer folder as text and return how many there are."""
    from safetensors.torch import load_file

    words = list(files.lines(str(model / "vocab.txt")))
    tensors = load_file(model / "model.safetensors")
    name = next((key for key in tensors if key.endswith(EMBEDDINGS)), None)
    if name is None:
        raise TensorMTError(
            f"{model / 'model.safetensors'}: expected a tensor named …{EMBEDDINGS}, found none: "
            "give the folder of a BERT-like model"
        )
    kept = [i for i, word in enumerate(words) if WHOLE_WORD.fullmatch(word)]
    vectors = principal(tensors[name].float()[kept], size)
    rows = zip(kept, vectors.tolist(), strict=True)
    lines = (" ".join([words[i], *(f"{x:.4f}" for x in row)]) + "\n" for i, row in rows)
    out.write_text("".join(lines), encoding="utf-8")
    return len(kept)


if __name__ == "__main__":
    count = write_vectors(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{count} vectors written to {sys.argv[2]}", file=sys.stderr)
