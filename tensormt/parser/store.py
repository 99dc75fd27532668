"""A parser on disk: `model.safetensors` and `settings.json`, nothing that can run code.

Weights are kept as float16; the two tables of word vectors, most of the size, as int8 with one
float16 scale a row,

    q = round(x / scale),   scale = max |x| / 127

which loses at most 0.4 % of a row's largest value. The external vectors are put on this grid
before training, so nothing is lost there.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.parser import model as supar_model
from tensormt.parser.model import Settings

WEIGHTS = "model.safetensors"
SETTINGS = "settings.json"
TABLES = ("word_embed.weight", "pretrained.weight")
FORMAT = 1


def quantise(table: Tensor) -> tuple[Tensor, Tensor]:
    """A table as int8 rows and their scales: float [V,D] -> int8 [V,D], float16 [V,1]."""
    scale = (table.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-4).half()
    return (table / scale.float()).round().clamp(-127, 127).to(torch.int8), scale


def dequantise(rows: Tensor, scale: Tensor) -> Tensor:
    """The table of int8 rows and scales: int8 [V,D], float16 [V,1] -> float32 [V,D]."""
    return rows.float() * scale.float()


def save(folder: Path, model: Any, settings: Settings) -> None:
    """Write a supar model and its settings into a folder."""
    from safetensors.torch import save_file

    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if name in TABLES:
            tensors[name], tensors[f"{name}.scale"] = quantise(tensor.float().cpu())
        else:
            tensors[name] = tensor.half().cpu().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, **settings}, ensure_ascii=False, indent=None)
    (folder / SETTINGS).write_text(text + "\n", encoding="utf-8")
    save_file(tensors, folder / WEIGHTS)
    (folder / WEIGHTS).chmod((folder / SETTINGS).stat().st_mode)  # safetensors gives 0600


def load(folder: Path) -> tuple[Any, Settings]:
    """The supar parser and settings of a folder."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        settings: Settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        tensors = load_file(folder / WEIGHTS)
    except (OSError, json.JSONDecodeError, SafetensorError) as error:
        raise TensorMTError(
            f"{folder}: expected a parser ({WEIGHTS} and {SETTINGS}), but {error}"
        ) from error
    if settings.get("format") != FORMAT:
        raise TensorMTError(
            f"{folder / SETTINGS}: expected format {FORMAT}, got {settings.get('format')!r}: "
            "train the parser again with this version"
        )
    for name in TABLES:
        if name in tensors:
            tensors[name] = dequantise(tensors[name], tensors.pop(f"{name}.scale"))
    parser = supar_model.build(settings)
    parser.model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return parser, settings


def digest(*files: Path) -> str:
    """A short hash of the contents of files."""
    total = hashlib.blake2b(digest_size=5)
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()
