"""The kernels in Triton against the torch code, by Triton's interpreter; compiled without a GPU.

The interpreter has to be chosen before Triton is imported, so that each test starts a process.
"""

import sys
import types
import warnings

import pytest
import torch
from fake_cuda import run_python

from tensormt.kernels import charts

INTERPRETED = """
import torch
from tensormt.kernels import charts, triton_charts

torch.manual_seed(1)
# one word, tiles of 16 splits and 32 spans that are full, and that are not; whole numbers: ties
cases = ((4, 1, False), (6, 9, True), (3, 17, False), (2, 34, True), (2, 36, False))
for rows, width, ties in cases:
    shape = (rows, width + 1, width + 1)
    scores = torch.randint(-2, 3, shape).float() if ties else torch.randn(shape)
    lengths = torch.randint(0, width + 1, (rows,))
    lengths[0] = width
    for kind in (scores, scores.double(), scores.transpose(1, 2)):
        found = triton_charts.best_trees(kind, lengths)
        assert torch.equal(found, charts.best_trees(kind, lengths)), (shape, ties)
    found, wanted = triton_charts.marginals(scores, lengths), charts.marginals(scores, lengths)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    assert torch.equal(found == 0, wanted == 0)
none = torch.zeros(0, 4, 4), torch.zeros(0, dtype=torch.int64)
assert triton_charts.best_trees(*none).shape == (3, 0, 5)
assert triton_charts.marginals(*none).shape == (0, 4, 4)
"""

COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from tensormt.kernels import triton_charts

integers = {"lengths": "*i64", "start_of": "*i64", "width_of": "*i64", "above_of": "*i64"}
integers |= {"split": "*i32", "slot": "*i32", "posts": "i32", "slots": "i32"}
sizes = {"SPANS": triton_charts._SPANS, "PARTS": triton_charts._PARTS}
for kernel, kinds in ((triton_charts._best_trees, "fp32 fp64"), (triton_charts._marginals, "fp64")):
    for kind in kinds.split():
        types = {**dict.fromkeys(sizes, "constexpr"), **integers}
        signature = {name: types.get(name, f"*{kind}") for name in kernel.arg_names}
        source = ASTSource(kernel, signature, sizes)
        for capability in (80, 89, 90):
            target = GPUTarget("cuda", capability, 32)
            made = triton.compile(source, target=target, options=triton_charts.OPTIONS)
            assert made.asm["cubin"].startswith(b"\\x7fELF")
            # what one lane writes, others read: the barriers between are still there
            barriers = made.asm["ttgir"].count("ttg.barrier"), kernel.src.count("debug_barrier")
            assert barriers[0] == barriers[1] > 2, barriers
"""

PARSED = """
import torch
from fake_cuda import FakeCuda, to_host
from tensormt.parser import Parser

texts = ["The dog ran home. It was red!", "", "A cat saw the very old man who left .", "Hi"]
for mbr in (False, True):
    here = Parser.load("default", mbr=mbr).parse(texts).nodes
    with FakeCuda(strict=False, triton=True) as cuda:
        there = Parser.load("default", device="cuda", mbr=mbr).parse(texts).nodes
    for field in ("label", "parent", "word", "offsets"):
        assert torch.equal(to_host(getattr(there, field)), getattr(here, field)), field
    kernels = sum(n for name, n in cuda.operations.items() if name.startswith("kernel "))
    assert kernels == 1 + mbr, cuda.operations
"""


@pytest.mark.heavy(needs="triton")
def test_trees_and_marginals_are_those_of_torch():
    run_python(INTERPRETED, TRITON_INTERPRET="1")


@pytest.mark.heavy(needs="triton")
def test_kernels_compile_for_every_card():
    """To cubins for A100, RTX 4090 and H100."""
    run_python(COMPILED)


@pytest.mark.heavy(needs="triton")
def test_the_parser_runs_the_kernels():
    """The whole way on the stand-in for a device, the kernels by the interpreter."""
    run_python(PARSED, TRITON_INTERPRET="1")


def test_torch_does_the_work_where_triton_fails(monkeypatch):
    """No C compiler, an old driver: one warning, the same trees, and no second attempt."""
    attempts = []

    def fail(scores, lengths):
        attempts.append(1)
        raise RuntimeError("Failed to find C compiler.\nPlease specify via CC")

    broken = types.ModuleType("tensormt.kernels.triton_charts")
    broken.best_trees = broken.marginals = fail
    scores, lengths = torch.randn(2, 6, 6), torch.tensor([5, 3])
    expected = [charts.best_trees(scores, lengths), charts.marginals(scores, lengths)]
    monkeypatch.setitem(sys.modules, broken.__name__, broken)
    monkeypatch.setattr("tensormt.kernels.triton_charts", broken, raising=False)
    monkeypatch.setattr(charts, "has_triton", lambda tensor: True)
    monkeypatch.setattr(charts, "_failed", set())
    with pytest.warns(UserWarning, match=r"RuntimeError: Failed to find C compiler\.\)") as told:
        found = [charts.best_trees(scores, lengths), charts.marginals(scores, lengths)]
    assert len(told) == len(attempts) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found += [charts.best_trees(scores, lengths), charts.marginals(scores, lengths)]
    assert len(attempts) == 2
    for one, other in zip(found, expected * 2, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(charts.best_trees(scores, lengths, kernel=False), expected[0])
