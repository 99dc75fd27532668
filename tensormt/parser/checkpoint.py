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

from tensormt.data import atomic_write, files
from tensormt.errors import TensorMTError
from tensormt.parser import model as supar_model
from tensormt.parser.model import Settings

WEIGHTS = "model.safetensors"
SETTINGS = "settings.json"
TABLES = ("word_embed.weight", "pretrained.weight")
FORMAT = 1
UNIVERSAL = 2  # the format of dependency models
KINDS = {  # of the settings, by format
    FORMAT: {
        "args": dict,
        **dict.fromkeys(("words", "chars", "labels", "narrow"), list),
        **dict.fromkeys(("known", "vectors", "fix_len"), int),
        "root": str,
    },
    UNIVERSAL: {
        "args": dict,
        **dict.fromkeys(("words", "chars", "relations", "languages"), list),
        "spelling": int,
    },
}


def quantise(table: Tensor) -> tuple[Tensor, Tensor]:
    """A table as int8 rows and their scales: float [V,D] -> int8 [V,D], float16 [V,1]."""
    scale = (table.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-4).half()
    return (table / scale.float()).round().clamp(-127, 127).to(torch.int8), scale


def dequantise(rows: Tensor, scale: Tensor) -> Tensor:
    """The table of int8 rows and scales: int8 [V,D], float16 [V,1] -> float32 [V,D]."""
    return rows.float() * scale.float()


def save(folder: Path, model: Any, settings: Settings) -> None:
    """Write a supar model and its settings into a folder."""
    from safetensors.torch import save as packed

    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if name in TABLES:
            tensors[name], tensors[f"{name}.scale"] = quantise(tensor.float().cpu())
        else:
            tensors[name] = tensor.half().cpu().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, **settings}, ensure_ascii=False, indent=None)
    for name, data in ((WEIGHTS, packed(tensors)), (SETTINGS, f"{text}\n".encode())):
        with atomic_write.whole_file(atomic_write.output_path(folder / name)) as file:
            file.write(data)


def settings(folder: Path) -> Settings:
    """The settings of the parser in a folder."""
    missing = [name for name in (WEIGHTS, SETTINGS) if not (folder / name).is_file()]
    if missing:
        raise TensorMTError(
            f"{folder}: expected a parser ({WEIGHTS} and {SETTINGS}), but {missing[0]} is missing"
        )
    found: Settings = files.json_object(str(folder / SETTINGS))
    form = found.get("format")
    if form not in KINDS:
        raise TensorMTError(
            f"{folder / SETTINGS}: expected format {FORMAT} or {UNIVERSAL}, got {form!r}: "
            "train the parser again with this version"
        )
    for name, kind in KINDS[form].items():
        if not isinstance(found.get(name), kind) or isinstance(found.get(name), bool):
            raise TensorMTError(
                f"{folder / SETTINGS}: {name!r} is missing or wrong: copy or train the parser again"
            )
    return found


def load(folder: Path, settings: Settings) -> Any:
    """The supar parser of a folder; of a dependency parser the model alone."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(folder / WEIGHTS)
        for name in TABLES:
            if name in tensors:
                tensors[name] = dequantise(tensors[name], tensors.pop(f"{name}.scale"))
        if settings["format"] == UNIVERSAL:
            parser = model = supar_model.build_dependency(settings)
        else:
            parser = supar_model.build(settings)
            model = parser.model
        model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    except (*_WRONG, SafetensorError) as error:
        raise damaged(folder, error) from error
    return parser


_WRONG = (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError)


def damaged(folder: Path, error: Exception) -> TensorMTError:
    """That the parser in a folder is damaged, in one sentence."""
    cause = str(error).partition("\n")[0][:200]
    return TensorMTError(
        f"{folder}: expected a parser ({WEIGHTS} and {SETTINGS}), but it is damaged "
        f"({cause}): copy or train it again"
    )


def digest(*paths: Path) -> str:
    """A short hash of the contents of files."""
    total = hashlib.blake2b(digest_size=5)
    for path in paths:
        with files.open_bytes(str(path)) as file:
            while block := file.read(1 << 20):
                total.update(block)
    return total.hexdigest()
