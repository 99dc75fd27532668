"""Loading without what is thrown away: weights that are overwritten, modules that nobody uses.

supar fills new layers with orthogonal weights (a QR decomposition each), and stored ones replace
them at once; it imports nltk, which imports all of scipy.stats for one test of collocations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Unfilled", "import_nltk"]


class Unfilled(TorchFunctionMode):
    """Within it new layers are not filled: their weights are whatever memory held.

    Random numbers are not drawn, and the generator stays as it was.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in (Tensor.normal_, Tensor.uniform_):
            return args[0]
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else (kwargs or {})["tensor"]
        if func is torch.linalg.qr:
            size = args[0].shape[1]
            return args[0], args[0][:size]
        return func(*args, **(kwargs or {}))


def import_nltk() -> None:
    """Import nltk without scipy.stats; its one test of collocations imports it when called."""
    if "nltk" in sys.modules or "scipy.stats" in sys.modules:
        return
    sys.modules["scipy.stats"] = None  # type: ignore[assignment]
    try:
        from nltk.metrics import association
    finally:
        del sys.modules["scipy.stats"]
    association.fisher_exact = _fisher_exact


def _fisher_exact(*args: Any, **kwargs: Any) -> Any:
    from scipy.stats import fisher_exact

    return fisher_exact(*args, **kwargs)
