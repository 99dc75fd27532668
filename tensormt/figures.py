"""Figures to files: the only module that imports matplotlib."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tensormt.errors import TensorMTError


def check_matplotlib() -> None:
    """Raise a TensorMTError if matplotlib is not installed, before any long work."""
    new_figure(1, 1)


def new_figure(width: float, height: float) -> Any:
    """An empty figure of that size in inches, apart from any window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TensorMTError("plots need matplotlib: pip install 'tensormt[report]'") from error
    return Figure(figsize=(width, height))


def save_figure(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure as NAME.png, signs that file names dislike replaced; the file."""
    path = folder / (re.sub(r"[^\w.+=-]+", "_", name) + ".png")
    figure.tight_layout()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None
    return path
