"""Figures as files; this is the only module that imports matplotlib."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tensormt.errors import TensorMTError


def check_matplotlib() -> None:
    """Raise a TensorMTError if matplotlib is not installed, before any long computation."""
    new_figure(1, 1)


def new_figure(width: float, height: float) -> Any:
    """Make an empty figure that is not shown in a window.

    Args:
        width: Width in inches.
        height: Height in inches.

    Returns:
        A matplotlib figure.

    Raises:
        TensorMTError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TensorMTError("plots need matplotlib: pip install 'tensormt[report]'") from error
    return Figure(figsize=(width, height))


def save_figure(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure as a PNG file.

    Args:
        figure: A matplotlib figure.
        folder: The folder, which is created if necessary.
        name: Name of the file without ".png"; characters that are not valid become "_".

    Returns:
        The file.

    Raises:
        TensorMTError: If the file cannot be written.
    """
    path = folder / (re.sub(r"[^\w.+=-]+", "_", name) + ".png")
    figure.tight_layout()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None
    return path
