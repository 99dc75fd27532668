"""A stand-in for a CUDA device, on a machine without one.

    with FakeCuda() as cuda:
        there = metric.statistics(hyp.to("cuda"), [ref.to("cuda")])
    assert not cuda.syncs
    to_host(there)

A tensor that is sent to "cuda" becomes a wrapper whose device is cuda:0, also for torch's C++ code;
its values stay in main memory. At the dispatcher, below all Python and C++ functions, the stand-in
refuses what a device refuses (an operation on tensors of both devices, `numpy()`, cuDNN's backward
pass of a call without training), and records operations, host synchronisations, copies and memory.
Tensors that are made without a device are refused too, because they would be on the host (or on a
default device that the user has set).

torch needs a device guard for CUDA, which its CPU build does not contain: device_guard.cpp is
compiled once with g++ (two seconds). Without a compiler the tests that use it are skipped, and the
reason says so. A backward pass needs the guard before torch is loaded: `run_with_autograd` starts a
process for it. What cannot be seen here: speed, races, and the order of sums of atomic additions.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda", 0)
FACTORIES = {
    getattr(torch, name)
    for name in "arange zeros ones full empty tensor as_tensor eye linspace rand randn".split()
}
# operations whose result has a size that depends on the values: the host waits for it
SIZED = {"nonzero", "masked_select", "_unique2", "unique_consecutive", "unique_dim", "equal"}
INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_"}
# views, and memory that is only allocated
NO_KERNEL = {"detach", "alias", "lift_fresh", "_unsafe_view", "_reshape_alias", "set_", "empty"}
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm"}
# operations that read a part of their first argument
PICKED = {*INDEXED, "gather", "index_select", "embedding", "scatter_", "index_add_"}
SOURCES = Path(__file__).resolve().parents[1] / "tensormt"


class Unavailable(Exception):
    """There can be no stand-in; the message says why."""


@functools.cache
def guard() -> Path:
    """Compile the device guard."""
    if torch.cuda.is_available():
        raise Unavailable("the stand-in for a CUDA device is not used where there is a real one")
    compiler = shutil.which("g++")
    if compiler is None:
        raise Unavailable("g++ is missing: tests/fake_cuda.py needs it for the stand-in for CUDA")
    source = Path(__file__).with_name("device_guard.cpp")
    torch_folder = Path(torch.__file__).parent
    # the library loads those of the torch for which it was made
    made_of = f"{torch.__version__} {torch_folder}".encode()
    known = hashlib.sha256(source.read_bytes() + made_of).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"tensormt-device-guard-{known}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "guard.so"
            command = [compiler, "-shared", "-fPIC", "-std=c++20", f"-I{torch_folder}/include"]
            command += [str(source), f"-L{torch_folder}/lib", f"-Wl,-rpath,{torch_folder}/lib"]
            command += ["-lc10", "-ltorch_cpu", "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Unavailable(f"the device guard does not compile: {done.stderr[-500:]}")
            temporary = library.with_suffix(f".{os.getpid()}")  # another process may do the same
            shutil.copy(made, temporary)
            temporary.replace(library)
    return library


def run_with_autograd(code: str, timeout: float = 300) -> None:
    """Run Python code in a process in which tensors of the stand-in have a backward pass."""
    try:
        library = guard()
    except Unavailable as reason:
        pytest.skip(str(reason))
    # the thread of the backward pass may ask for the GIL while the interpreter ends, which aborts
    run_python(f"{code}\nimport os\nos._exit(0)\n", timeout, LD_PRELOAD=str(library))


def run_python(code: str, timeout: float = 300, **environment: str) -> str:
    """Run Python code in a process with these environment variables; returns what it prints."""
    path = os.pathsep.join([str(SOURCES.parent), str(SOURCES.parent / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


class Copy(NamedTuple):
    """A copy from the host to the device or back."""

    to_device: bool
    size: int  # bytes
    where: str
    blocks: bool = True  # whether the host waits: memory is not pinned, or nobody asked not to wait


class _Properties(NamedTuple):
    """What torch says about the device."""

    total_memory: int = 16 << 30
    major: int = 8
    minor: int = 0


class _Memory:
    """One tensor's share of a storage; the storage is freed with its last share."""

    def __init__(self, cuda: FakeCuda, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self.cuda, self.key = cuda, storage._cdata
        users = cuda._users
        if not users[self.key]:
            cuda._sizes[self.key] = storage.nbytes()
            cuda.memory += storage.nbytes()
            cuda.peak = max(cuda.peak, cuda.memory)
        users[self.key] += 1

    def __del__(self) -> None:
        self.cuda._users[self.key] -= 1
        if not self.cuda._users[self.key]:
            self.cuda.memory -= self.cuda._sizes.pop(self.key)


class DeviceTensor(torch.Tensor):
    """A tensor on the stand-in; `host` has its values."""

    host: torch.Tensor
    share: _Memory | None

    @staticmethod
    def __new__(cls, host: torch.Tensor) -> DeviceTensor:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            layout=host.layout,
            device=CUDA,
            requires_grad=False,
        )
        made.host = host.detach()
        made.share = None if FakeCuda.active is None else _Memory(FakeCuda.active, host)
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"DeviceTensor({self.host!r})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["host"], None

    @staticmethod
    def __tensor_unflatten__(inner: Any, meta: Any, size: Any, stride: Any) -> DeviceTensor:
        return DeviceTensor(inner["host"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # the thread of a backward pass has no modes
        return _dispatch(func, args, kwargs or {})


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """The values of a tensor of either device."""
    return tensor.host if isinstance(tensor, DeviceTensor) else tensor


def _host(value: Any) -> Any:
    return value.host if isinstance(value, DeviceTensor) else value


def _place() -> str:
    """The line of the package that is running."""
    frame = sys._getframe(1)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCES):
            return f"{path.relative_to(SOURCES)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


def _dispatch(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operation of the dispatcher on the host values, as the device would."""
    name = func._schema.name.removeprefix("aten::")
    target = kwargs.get("device")
    kind = None if target is None else torch.device(target).type
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    there = [tensor for tensor in tensors if isinstance(tensor, DeviceTensor)]
    if not there and kind != "cuda":
        return func(*args, **kwargs)
    if kind == "cuda":
        kwargs = {**kwargs, "device": torch.device("cpu")}
    cuda = FakeCuda.active
    if name in ("_to_copy", "copy_"):
        # what is read: the tensor itself, or the source of a copy into another one
        source, result = (args[0], None) if name == "_to_copy" else (args[1], args[0])
        arrives = kind == "cuda" if name == "_to_copy" else isinstance(result, DeviceTensor)
        if name == "_to_copy" and kind is None:
            arrives = isinstance(source, DeviceTensor)
        found = func(*tree_map(_host, args), **kwargs)
        if cuda is not None:
            if arrives == isinstance(source, DeviceTensor):
                cuda.operations[f"{name} {_place()}"] += 1
            else:
                free = kwargs.get("non_blocking", False) and name == "_to_copy" and arrives
                free = free and source.untyped_storage().data_ptr() in cuda._pinned
                cuda._copied(arrives, source.numel() * source.element_size(), not free)
        if result is not None:
            return result
        return DeviceTensor(found) if arrives else found
    if torch.are_deterministic_algorithms_enabled() and _is_nondeterministic(func, name, args):
        raise RuntimeError(f"{name} does not have a deterministic implementation")
    plain = [t for t in tensors if not isinstance(t, DeviceTensor) and t.dim()]
    if there and plain:
        indices = args[1] if name in INDEXED else []
        movable = isinstance(args[0], DeviceTensor) and all(
            any(t is index for index in indices) for t in plain
        )
        if not movable:
            shapes = ", ".join(f"{t.dtype} {list(t.shape)}" for t in plain)
            raise RuntimeError(f"{name}: tensors of the host ({shapes}) and of the device")
        for index in plain:
            cuda is None or cuda._copied(True, index.numel() * index.element_size())
    found = func(*tree_map(_host, args), **tree_map(_host, kwargs))
    if cuda is not None:
        cuda._ran(func, name, args, kwargs, found)
    own = {id(tensor.host): tensor for tensor in there}

    def wrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        known = own.get(id(value))
        if known is None:
            return DeviceTensor(value)
        assert known.shape == value.shape, f"{name} changes the shape of a tensor in place"
        return known

    return tree_map(wrap, found)


def _is_nondeterministic(func: Any, name: str, args: Any) -> bool:
    """Whether CUDA refuses it under `torch.use_deterministic_algorithms`, by torch's own list."""
    if name in ("cumsum", "cumsum_"):
        return bool(args[0].is_floating_point())
    if name in ("scatter_reduce", "scatter_reduce_"):
        return bool(args[4] == "prod")
    if name == "bincount":
        return len(args) > 1 and args[1] is not None
    return name in ("put_", "histc") or str(func) == "aten.median.dim"


class _CudnnLstm(torch.autograd.Function):
    """The LSTM of cuDNN, which is one operation forwards and one backwards."""

    @staticmethod
    def forward(ctx: Any, options: Any, *tensors: Any) -> Any:
        hosts = [_host(tensor) for tensor in tensors]
        ctx.options, ctx.hosts = options, hosts
        with torch.no_grad():
            found = _run_lstm(options, hosts)
        return tuple(DeviceTensor(part) for part in found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not ctx.options[3]:
            raise RuntimeError("cudnn RNN backward can only be called in training mode")
        with torch.enable_grad():
            hosts = [host.clone().requires_grad_() for host in ctx.hosts]
            found = _run_lstm(ctx.options, hosts)
            slopes = torch.autograd.grad(found, hosts, [_host(grad) for grad in grads])
        return None, *(DeviceTensor(slope) for slope in slopes)


def _run_lstm(options: Any, tensors: list[torch.Tensor]) -> Any:
    return torch.lstm(tensors[0], tuple(tensors[1:3]), tensors[3:], *options)


class _Functions(TorchFunctionMode):
    """What the dispatcher does not see: factories, reading values, cuDNN."""

    def __init__(self, cuda: FakeCuda) -> None:
        super().__init__()
        self.cuda = cuda

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        there = bool(args) and isinstance(args[0], DeviceTensor)
        if func in FACTORIES and not there:
            target = kwargs.get("device")
            assert target is not None or not self.cuda.strict, f"{name} without a device"
            moved = target is not None and torch.device(target).type == "cuda"
            if kwargs.pop("pin_memory", False):
                made = func(*args, **kwargs)
                self.cuda._pinned.add(made.untyped_storage().data_ptr())
                return made
            if func in (torch.tensor, torch.as_tensor) and moved:
                made = func(*args, **{**kwargs, "device": "cpu"})
                self.cuda._copied(True, made.numel() * made.element_size())
                return DeviceTensor(made)
        if there and name in ("__getitem__", "__setitem__"):
            args = (args[0], _listed(args[1]), *args[2:])
        if there and name == "new_tensor":
            made = args[0].host.new_tensor(*args[1:], **kwargs)
            self.cuda._copied(True, made.numel() * made.element_size())
            return DeviceTensor(made)
        if there and name in ("numpy", "__array__"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        if there and name == "tolist":
            self.cuda.syncs[f"tolist {_place()}"] += 1
            return args[0].host.tolist()
        if there and func is torch.lstm:
            return self._lstm(*args)
        if func is torch._cudnn_rnn_flatten_weight:
            return _flatten(args[0])
        return func(*args, **kwargs)

    def _lstm(self, x: Any, state: Any, weights: Any, *options: Any) -> Any:
        self.cuda.operations[f"lstm {_place()}"] += 1
        width, hidden = (weight.shape[1] for weight in weights[:2])
        rows = x.numel() // width
        self.cuda.flops += 8 * rows * hidden * (width + hidden)
        self.cuda.traffic += _size((x, weights)) + 4 * rows * hidden
        if torch.backends.cudnn.rnn.fp32_precision == "tf32":
            self.cuda.imprecise[f"lstm {_place()}"] += 1
        places = [weight.host.data_ptr() for weight in weights]
        sizes = [weight.numel() * weight.element_size() for weight in weights]
        if any(b != a + n for a, b, n in zip(places, places[1:], sizes, strict=False)):
            self.cuda.scattered[f"lstm {_place()}"] += 1
        tensors = (x, *state, *weights)
        if torch.is_autocast_enabled("cuda"):
            tensors = tuple(t.to(torch.get_autocast_dtype("cuda")) for t in tensors)
        return _CudnnLstm.apply(options, *tensors)


def _size(values: Any) -> int:
    """Bytes of all tensors, of the host or the device; what is stored once is read once."""
    tensors = [_host(leaf) for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    return sum(min(t.numel() * t.element_size(), t.untyped_storage().nbytes()) for t in tensors)


def _listed(index: Any) -> Any:
    """An index whose lists are tensors of the host, as C++ would make them."""
    if isinstance(index, tuple):
        return tuple(_listed(part) for part in index)
    return torch.tensor(list(index)) if isinstance(index, list | range) else index


def _flatten(weights: list[DeviceTensor]) -> DeviceTensor:
    """Move weights into one block of memory, as cuDNN lays out one layer of one direction."""
    flat = torch.cat([weight.host.flatten() for weight in weights])
    parts = flat.split([weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.host = part.view(weight.shape)
    return DeviceTensor(flat)


class _Operations(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatch(func, args, kwargs or {})


class FakeCuda:
    """The stand-in; inside the context there is a CUDA device.

    operations, syncs: how often each operation, and each kind of waiting, happened, with the line
    of the package; views are no operations. copies: host to device and back; those back are syncs
    too. scattered: LSTM calls whose weights cuDNN would have to copy; imprecise: products that may
    use TF32. memory, peak: bytes on the device, now and at the most. traffic: bytes that operations
    read and write; flops: floating-point operations of products and LSTMs. With `strict`, tensors
    that are made without a device are refused. With `triton`, kernels in Triton are started (Triton
    must be installed): by Triton's interpreter if TRITON_INTERPRET is set, else torch does their
    work.
    """

    active: FakeCuda | None = None

    def __init__(self, strict: bool = True, triton: bool = False) -> None:
        self.strict, self.triton = strict, triton
        self._users: Counter[int] = Counter()
        self._sizes: dict[int, int] = {}
        self._pinned: set[int] = set()  # addresses of pinned memory
        self.memory = 0
        self.clear()

    def clear(self) -> None:
        """Forget what was recorded."""
        self.operations: Counter[str] = Counter()
        self.syncs: Counter[str] = Counter()
        self.scattered: Counter[str] = Counter()
        self.imprecise: Counter[str] = Counter()
        self.copies: list[Copy] = []
        self.peak = self.memory
        self.traffic = self.flops = 0

    def __enter__(self) -> FakeCuda:
        try:
            ctypes.CDLL(str(guard()))
        except Unavailable as reason:
            pytest.skip(str(reason))
        assert FakeCuda.active is None
        FakeCuda.active = self
        self._stack = ExitStack()
        enter = self._stack.enter_context
        for function, value in (
            ("torch.cuda.is_available", lambda: True),
            ("torch.cuda._lazy_init", lambda: None),
            ("torch.cuda.device_count", lambda: 1),
            ("torch.cuda.current_device", lambda: 0),
            ("torch.cuda.is_bf16_supported", lambda *_: True),
            ("torch.cuda.get_device_properties", lambda device: _Properties()),
            ("torch.cuda.synchronize", lambda device=None: None),
            (
                "tensormt.kernels.backend._runs_triton",
                lambda device: self.triton and device == CUDA,
            ),
            ("torch.backends.cudnn.m.is_acceptable", lambda tensor: tensor.device == CUDA),
            # wrappers cannot be made in inference mode
            ("torch.inference_mode.__enter__", _enter_no_grad),
            ("torch.inference_mode.__exit__", _leave_no_grad),
        ):
            enter(patch(function, value))
        if self.triton:
            enter(patch("tensormt.kernels.triton_charts._launch", self._launched))
        enter(_Functions(self))
        enter(_Operations())
        return self

    def __exit__(self, *error: object) -> None:
        FakeCuda.active = None
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def _copied(self, to_device: bool, size: int, blocks: bool = True) -> None:
        place = _place()
        self.copies.append(Copy(to_device, size, place, blocks))
        if not to_device:
            self.syncs[f"copy {place}"] += 1

    def _launched(self, kernel: Any, programs: int, *arguments: Any) -> None:
        """Start a kernel of kernels/triton_charts.py."""
        from tensormt.kernels import charts, triton_charts

        self.operations[f"kernel {_place()}"] += bool(programs)
        self.traffic += _size(arguments)
        hosts = [_host(argument) for argument in arguments]
        if os.environ.get("TRITON_INTERPRET") == "1":
            kernel[(programs,)](*hosts, SPANS=triton_charts._SPANS, PARTS=triton_charts._PARTS)
        elif kernel is triton_charts._best_trees:
            for table, made in zip(
                hosts[5:8], charts.best_trees(*hosts[:2], kernel=False), strict=True
            ):
                table.copy_(made)
        else:
            hosts[5].copy_(charts.marginals(*hosts[:2], kernel=False))

    def _ran(self, func: Any, name: str, args: Any, kwargs: dict[str, Any], found: Any) -> None:
        """Record an operation, and whether the host waits for it."""
        place = _place()
        if name == "_local_scalar_dense":
            self.syncs[f"item {place}"] += 1
            return
        waits = name in SIZED
        waits |= name == "repeat_interleave" and kwargs.get("output_size") is None
        waits |= name in INDEXED and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        # x[mask] = number is masked_fill
        waits &= not (name in INDEXED and len(args) > 2 and args[2].numel() == 1)
        if waits:
            self.syncs[f"{name} {place}"] += 1
        if name == "bincount":  # it reads the smallest and the largest value
            self.syncs[f"{name} {place}"] += 2
        aliases = any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns)
        if not aliases and name not in NO_KERNEL:
            self.operations[f"{name} {place}"] += 1
            self.traffic += _size((args[1:] if name in PICKED else args, kwargs, found))
        if name in PRODUCTS:
            self.flops += 2 * args[-2].numel() * args[-1].shape[-1]
        if name in PRODUCTS and torch.backends.cuda.matmul.fp32_precision == "tf32":
            self.imprecise[f"{name} {place}"] += 1


def _enter_no_grad(self: Any) -> None:
    self._tensormt_before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)


def _leave_no_grad(self: Any, *error: object) -> None:
    torch._C._set_grad_enabled(self._tensormt_before)
