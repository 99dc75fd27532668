"""Loading without what is thrown away: supar fills new layers with orthogonal weights (a QR
decomposition each), and stored ones would replace them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


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
