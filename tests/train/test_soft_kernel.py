"""The soft kernel: the exact one for the identity, a slow oracle otherwise, right gradients."""

import math

import oracles
import pytest
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.train.soft_kernel import SoftKernel, soft_log_kernel


def soft_oracle(a, b, alike, decay):
    """K by recursion over trees (label, [children]) with a function of two labels."""

    def common(x, y):
        if not x[1] or len(x[1]) != len(y[1]):
            return 0.0
        value = decay * alike(x[0], y[0])
        for left, right in zip(x[1], y[1], strict=True):
            value *= alike(left[0], right[0]) * (1 + common(left, right))
        return value

    return sum(common(x, y) for x in oracles.nodes(a) for y in oracles.nodes(b))


def pairs(seed, most=12):
    """Aligned batches of trees, one of them empty, and the trees themselves without words."""
    hyps, refs = oracles.random_case(seed, most=most, segments=5)
    others = [row[0] for row in refs]
    batches = [
        tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])
        for trees in (hyps, others)
    ]
    bare = [[tree and oracles.skeleton(tree) for tree in trees] for trees in (hyps, others)]
    return *batches, list(zip(*bare, strict=True))


def identity(left, right):
    """Which labels are equal, float64 [L,L']."""
    rows = [[float(a == b) for b in right.labels.strings] for a in left.labels.strings]
    return torch.tensor(rows, dtype=torch.float64).view(len(left.labels), len(right.labels))


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.sampled_from([1.0, 0.4]))
def test_the_identity_gives_the_exact_kernel(seed, decay):
    left, right, _ = pairs(seed, most=30)
    for metric in (tm.TKM(decay), tm.DTKM(decay), tm.TKM(decay, lexical=True)):
        a, b = metric.trees(left), metric.trees(right)
        found = soft_log_kernel(a, b, identity(a, b), decay)
        expected = metric.log_kernel(left, right)
        assert torch.equal(found.isinf(), expected.isinf())
        real = ~found.isinf()
        assert torch.allclose(found[real], expected[real], rtol=1e-12, atol=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10**9))
def test_any_similarity_against_the_oracle(seed):
    left, right, trees = pairs(seed, most=9)
    a, b = left.skeleton(), right.skeleton()
    generator = torch.Generator().manual_seed(seed)
    shape = (len(a.labels), len(b.labels))
    table = torch.rand(shape, dtype=torch.float64, generator=generator)
    place = [{name: k for k, name in enumerate(batch.labels.strings)} for batch in (a, b)]

    def alike(x, y):
        return table[place[0][x], place[1][y]].item()

    found = soft_log_kernel(a, b, table, 0.7)
    for value, (x, y) in zip(found.tolist(), trees, strict=True):
        expected = soft_oracle(x, y, alike, 0.7) if x and y else 0.0
        assert value == (pytest.approx(math.log(expected)) if expected else -math.inf)


def test_gradcheck():
    left, right, _ = pairs(12, most=6)
    a, b = left.skeleton(), right.skeleton()
    torch.manual_seed(0)
    tables = [
        (a, b, torch.rand(len(a.labels), len(b.labels), dtype=torch.float64) + 0.1),
        (a, a, identity(a, a)),  # zeros have gradients too
    ]
    for x, y, table in tables:
        decay = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
        real = ~soft_log_kernel(x, y, table, 0.6).isinf()
        assert real.any()

        def kernel(similarity, decay, x=x, y=y, real=real):
            return soft_log_kernel(x, y, similarity, decay)[real]

        assert torch.autograd.gradcheck(kernel, (table.requires_grad_(), decay))


def test_the_module_starts_as_the_exact_cosine():
    left, right, _ = pairs(35)
    module = SoftKernel([*left.labels.strings, *right.labels.strings], decay=0.5)
    found = module(left, right)
    expected = tm.TKM(0.5).log_kernel(left, right)
    own = [tm.TKM(0.5).log_kernel(tree, tree) for tree in (left, right)]
    cosine = torch.where(expected.isinf(), 0.0, (expected - (own[0] + own[1]) / 2).exp())
    assert torch.allclose(found, cosine, rtol=0, atol=1e-12)
    found.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in module.parameters())


def test_likeness_is_learned():
    """Trees that differ by NNS for NN: the module learns that the two are alike, and VB is not."""
    hyp = tm.TreeBatch.from_brackets(["(S (NP (NN a)) (VP (V b)))", "(S (NP (NN a)) (VP (V b)))"])
    ref = tm.TreeBatch.from_brackets(["(S (NP (NNS a)) (VP (V b)))", "(S (NP (VB a)) (VP (V b)))"])
    module = SoftKernel(["S", "NP", "VP", "NN", "NNS", "V", "VB"])
    target = torch.stack([torch.ones((), dtype=torch.float64), module(hyp, ref)[1].detach()])
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    first = None
    for _ in range(60):
        optimizer.zero_grad()
        loss = (module(hyp, ref) - target).square().sum()
        first = first or loss.item()
        loss.backward()
        optimizer.step()
    assert loss.item() < first / 20
    names = module.labels.strings
    table = module.similarity().detach()
    assert table[names.index("NN"), names.index("NNS")] > 0.6
    assert table[names.index("NN"), names.index("VB")] < 0.3
    assert (table >= 0).all()
    assert torch.allclose(table.diagonal(), torch.ones(7, dtype=torch.float64))


def test_everything_stays_on_the_device():
    left, right, _ = pairs(35)
    expected = soft_log_kernel(left, right, identity(left, right), 0.5)
    table = identity(left, right)
    with FakeCuda():
        there = [part.to("cuda") for part in (left, right, table)]
        found = soft_log_kernel(*there, 0.5)
    assert torch.equal(to_host(found), expected)


def test_errors_say_what_is_wrong():
    left, right, _ = pairs(35)
    with pytest.raises(tm.TensorMTError, match="similarity of shape"):
        soft_log_kernel(left, right, torch.eye(1), 0.5)
    with pytest.raises(tm.TensorMTError, match="not among the 1 labels"):
        SoftKernel(["S"])(left, right)
    with pytest.raises(tm.TensorMTError, match="decay"):
        SoftKernel(["S"], decay=1.0)


def test_labels_are_saved_with_the_state(tmp_path):
    left, right, _ = pairs(35)
    names = [*dict.fromkeys([*left.labels.strings, *right.labels.strings])]
    kernel = SoftKernel(names)
    with torch.no_grad():
        kernel.vectors.add_(torch.rand_like(kernel.vectors))
    expected = kernel(left, right)
    torch.save(kernel.state_dict(), tmp_path / "kernel.pt")
    state = torch.load(tmp_path / "kernel.pt", weights_only=True)
    assert torch.equal(SoftKernel.from_state(state)(left, right), expected)
    # a kernel whose labels stand in another order takes those of the state
    other = SoftKernel(names[::-1])
    other.load_state_dict(state)
    assert other.labels.strings == names
    assert torch.equal(other(left, right), expected)
    with pytest.raises(tm.TensorMTError, match="from_state"):
        SoftKernel(names[:-1]).load_state_dict(state)
