"""Construction of models without initialization, if weights are loaded afterwards.

supar initializes layers with orthogonal weights, which needs a QR decomposition of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class SkipInit(TorchFunctionMode):
    """Context manager in which weights of new layers are not initialized.

    No random numbers are drawn, so the state of the generator does not change.
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
