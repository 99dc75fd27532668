"""Parsers on disk: `model.safetensors` and `settings.json`, which cannot execute code.

Weights are stored as float16; the two tables of word vectors, which are most of the size, as int8
with one float16 scale per row,

    q = round(x / scale),   scale = max |x| / 127

with an error of at most 0.4 % of the largest value of a row. External vectors are quantized before
training, so that nothing is lost there.
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
CONSTITUENCY_FORMAT = 1
DEPENDENCY_FORMAT = 2
SETTING_TYPES = {  # types of the required settings, by format
    CONSTITUENCY_FORMAT: {
        "args": dict,
        **dict.fromkeys(("words", "chars", "labels", "narrow"), list),
        **dict.fromkeys(("known", "vectors", "fix_len"), int),
        "root": str,
    },
    DEPENDENCY_FORMAT: {
        "args": dict,
        **dict.fromkeys(("words", "chars", "relations", "languages"), list),
        "spelling": int,
    },
}


def quantize(table: Tensor) -> tuple[Tensor, Tensor]:
    """Quantize a table: float [V,D] -> int8 rows [V,D] and their scales float16 [V,1].

    >>> rows, scale = quantize(torch.tensor([[0.5, -1.0]]))
    >>> rows.tolist(), [round(x, 2) for x in dequantize(rows, scale)[0].tolist()]
    ([[64, -127]], [0.5, -1.0])
    """
    scale = (table.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-4).half()
    return (table / scale.float()).round().clamp(-127, 127).to(torch.int8), scale


def dequantize(rows: Tensor, scale: Tensor) -> Tensor:
    """Restore a table: int8 rows [V,D] and scales float16 [V,1] -> float32 [V,D]."""
    return rows.float() * scale.float()


def save_model(folder: Path, model: Any, settings: Settings) -> None:
    """Write a supar model and its settings to a folder."""
    from safetensors.torch import save as serialize

    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if name in TABLES:
            tensors[name], tensors[f"{name}.scale"] = quantize(tensor.float().cpu())
        else:
            tensors[name] = tensor.half().cpu().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": CONSTITUENCY_FORMAT, **settings}, ensure_ascii=False, indent=None)
    for name, data in ((WEIGHTS, serialize(tensors)), (SETTINGS, f"{text}\n".encode())):
        with atomic_write.atomic_file(atomic_write.output_path(folder / name)) as file:
            file.write(data)


def load_settings(folder: Path) -> Settings:
    """Read and check the settings of the parser in a folder.

    Raises:
        TensorMTError: If a file is missing or the settings are invalid.
    """
    missing = [name for name in (WEIGHTS, SETTINGS) if not (folder / name).is_file()]
    if missing:
        raise TensorMTError(
            f"{folder}: expected a parser ({WEIGHTS} and {SETTINGS}), but {missing[0]} is missing"
            ": choose another folder"
        )
    found: Settings = files.json_object(str(folder / SETTINGS))
    form = found.get("format")
    if form not in SETTING_TYPES:
        raise TensorMTError(
            f"{folder / SETTINGS}: expected format {CONSTITUENCY_FORMAT} or {DEPENDENCY_FORMAT}, "
            f"got {form!r}: train the parser again with this version"
        )
    for name, kind in SETTING_TYPES[form].items():
        if not isinstance(found.get(name), kind) or isinstance(found.get(name), bool):
            raise TensorMTError(
                f"{folder / SETTINGS}: {name!r} is missing or invalid: copy or train the parser "
                "again"
            )
    return found


def load_model(folder: Path, settings: Settings) -> Any:
    """Load the supar parser of a folder; for a dependency parser, only its model.

    Raises:
        TensorMTError: If the files are damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(folder / WEIGHTS)
        for name in TABLES:
            if name in tensors:
                tensors[name] = dequantize(tensors[name], tensors.pop(f"{name}.scale"))
        if settings["format"] == DEPENDENCY_FORMAT:
            parser = model = supar_model.build_dependency(settings)
        else:
            parser = supar_model.build_constituency(settings)
            model = parser.model
        model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    except (*_WRONG, SafetensorError) as error:
        raise damaged_error(folder, error) from error
    return parser


_WRONG = (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError)


def damaged_error(folder: Path, error: Exception) -> TensorMTError:
    """Return the error that the parser in a folder is damaged."""
    cause = str(error).partition("\n")[0][:200]
    return TensorMTError(
        f"{folder}: expected a parser ({WEIGHTS} and {SETTINGS}), but it is damaged "
        f"({cause}): copy or train it again"
    )


def digest(*paths: Path) -> str:
    """Return a short hash of the contents of files."""
    total = hashlib.blake2b(digest_size=5)
    for path in paths:
        with files.open_bytes(str(path)) as file:
            while block := file.read(1 << 20):
                total.update(block)
    return total.hexdigest()
