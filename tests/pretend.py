"""A pretended CUDA device on a machine without one.

Inside `pretended()` a tensor that is sent to "cuda" says that it lives there, though its data stays
in main memory. Three things are watched: an operation that mixes it with a tensor of the host (an
error, as on the real device), a factory call without a device (an error too), and everything that
would wait for the device, which is counted by name.
"""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

FACTORIES = {
    getattr(torch, name)
    for name in "arange zeros ones full empty tensor as_tensor eye linspace rand randn".split()
}
SYNCS = {
    "item",
    "tolist",
    "numpy",
    "cpu",
    "nonzero",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "unique",
    "unique_consecutive",
    "masked_select",
    "repeat_interleave",
}


class Away(torch.Tensor):
    """A tensor that says it is on the device."""

    @property
    def device(self):
        return torch.device("cuda", 0)

    def numpy(self):
        raise AssertionError("numpy() of a tensor on the device")


class Watch(TorchFunctionMode):
    """Counts syncs and refuses mixed devices and factories without a device."""

    def __init__(self):
        super().__init__()
        self.syncs = Counter()

    def __enter__(self):
        self._present = patch("torch.cuda.is_available", return_value=True)
        self._present.start()
        return super().__enter__()

    def __exit__(self, *rest):
        self._present.stop()
        return super().__exit__(*rest)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        leaves = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        away = any(isinstance(leaf, Away) for leaf in leaves)
        target = kwargs.get("device")
        if name == "to" and len(args) > 1 and isinstance(args[1], (str, torch.device)):
            target, args = args[1], args[:1]
            moved = torch.device(target).type == "cuda"
            return args[0].as_subclass(Away if moved else torch.Tensor)
        if func in FACTORIES and not away:
            assert target is not None, f"{name} without a device"
        if target is not None and torch.device(target).type == "cuda":
            kwargs["device"] = "cpu"
            away = True
        elif away:
            plain = [leaf for leaf in leaves if not isinstance(leaf, Away) and leaf.dim()]
            assert not plain, f"{name} mixes a tensor of the host with one of the device"
            masks = name in ("__getitem__", "__setitem__") and any(
                isinstance(leaf, torch.Tensor) and leaf.dtype == torch.bool
                for leaf in tree_leaves(args[1])
            )
            sized = name == "repeat_interleave" and kwargs.get("output_size") is not None
            if (name in SYNCS and not sized) or masks:
                self.syncs[name] += 1
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        return mark(result) if away else result


def mark(result):
    """Tensors among the results say that they are on the device."""
    if isinstance(result, torch.Tensor):
        return result.as_subclass(Away)
    if isinstance(result, (tuple, list)) and any(isinstance(r, torch.Tensor) for r in result):
        kind = type(result)
        parts = [mark(part) for part in result]
        return kind(parts) if kind in (tuple, list) else type(result)(parts)
    return result


def home(tensor):
    """The data of a pretended tensor."""
    return tensor.as_subclass(torch.Tensor)
