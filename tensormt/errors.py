"""The one exception family: one sentence with where, what was expected, what came, what to do."""

from __future__ import annotations

__all__ = ["TensorMTError"]


class TensorMTError(ValueError):
    """Input that cannot be used as it is; the message is one sentence for whoever gave it."""
