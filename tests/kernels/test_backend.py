"""arrays, sorting, hashing, dictionary, nodes, lengths: the small rooms below everything."""

import pickle
import random

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pretend import Away, Watch, home

from tensormt.formulas import brevity_penalty
from tensormt.kernels import backend, hashing
from tensormt.kernels.lengths import closest
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary

values = st.lists(st.integers(-5, 5), max_size=40)


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.int64)


@given(values, values)
def test_numpy_and_torch_paths_agree(first, second):
    """The CPU path (numpy) and the device path (torch) give equal results, both the plain ones."""
    a, b = tensor(first), tensor(second)
    ordered = tensor(sorted(first))
    results = []
    for away in (False, True):
        with Watch():
            x, y, z = (t.to("cuda") if away else t for t in (a, b, ordered))
            found = [
                backend.sort(x),
                backend.argsort(x),
                backend.search(z, y),
                backend.search(z, y, right=True),
                backend.nonzero(x > 0),
                *backend.runs(z),
                *backend.repeat(y.clamp(min=0)),
                backend.copies(y, y.clamp(min=0)),
            ]
            assert all(isinstance(t, Away) == away for t in found)
            results.append([home(t).tolist() for t in found])
    assert results[0] == results[1]
    sizes = [max(n, 0) for n in second]
    starts = [i for i, n in enumerate(sorted(first)) if not i or sorted(first)[i - 1] != n]
    expected = [
        sorted(first),
        sorted(range(len(first)), key=first.__getitem__),
        [sum(o < n for o in first) for n in second],
        [sum(o <= n for o in first) for n in second],
        [i for i, n in enumerate(first) if n > 0],
        starts,
        [first.count(sorted(first)[i]) for i in starts],
        [owner for owner, size in enumerate(sizes) for _ in range(size)],
        [number for size in sizes for number in range(size)],
        [size for size in sizes for _ in range(size)],
    ]
    assert results[0] == expected


def test_mix_is_splitmix64():
    """The finaliser with Python integers, and no collision on a million neighbours."""

    def reference(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    rng = random.Random(1)
    numbers = [rng.getrandbits(64) for _ in range(100)]
    signed = [n - 2**64 if n >= 2**63 else n for n in numbers]
    keys = tensor(signed)
    for device in ("cpu", "cuda"):
        with Watch():
            mixed = home(hashing.mix(keys.to(device))).tolist()
        assert [n % 2**64 for n in mixed] == [reference(n) for n in numbers]
    assert len(np.unique(hashing.mix(torch.arange(1_000_000)).numpy())) == 1_000_000


def test_pairs_are_ordered():
    a, b = torch.arange(300)[:, None], torch.arange(300)[None]
    assert len(np.unique(hashing.pair(a, b).numpy())) == 300 * 300


@given(st.lists(st.text(max_size=6)), st.lists(st.text(max_size=6)))
def test_dictionaries(first, second):
    texts = [text.encode("utf-8", "ignore").decode() for text in (*first, *second)]
    first, second = texts[: len(first)], texts[len(first) :]
    ids, names = Dictionary.encode(first)
    assert [names[i] for i in ids] == first
    assert len(names) == len(set(first))
    other_ids, others = Dictionary.encode(second)
    assert [others[i] for i in other_ids] == second
    hashes = dict(zip(names.strings, names.hashes.tolist(), strict=True))
    for string, value in zip(others.strings, others.hashes.tolist(), strict=True):
        assert hashes.setdefault(string, value) == value
    assert len(set(hashes.values())) == len(hashes)
    merged, maps = Dictionary.merge([names, others])
    assert [merged[i] for i in maps[0]] == names.strings
    assert [merged[i] for i in maps[1]] == others.strings


def test_dictionary_of_a_sliced_array():
    array = pa.array(["a", "bb", "ccc", "dd"])[1:3]
    assert torch.equal(Dictionary(array).hashes, Dictionary(["bb", "ccc"]).hashes)
    assert pickle.loads(pickle.dumps(Dictionary(["x", "y"]))).strings == ["x", "y"]


def test_nodes_without_given_depth_or_position():
    """Pointer jumping gives the depths that a recursion gives, siblings count in node order."""
    rng = random.Random(4)
    parent = [-1] + [rng.randrange(i) for i in range(1, 60)] + [-1, 60, 61, 60]
    depth = [0] * len(parent)
    for node, above in enumerate(parent):
        depth[node] = 1 + (depth[above] if above >= 0 else 0)
    nodes = Nodes(tensor(parent), tensor(parent), tensor(parent), tensor([0, 60, 60, 64]), 60)
    assert nodes.depth.tolist() == depth
    position = [
        sum(other == above for other in parent[:node]) if above >= 0 else 0
        for node, above in enumerate(parent)
    ]
    assert nodes.position.tolist() == position
    assert nodes.segment.tolist() == [0] * 60 + [2] * 4
    height = [1] * len(parent)
    for node in reversed(range(len(parent))):
        if parent[node] >= 0:
            height[parent[node]] = max(height[parent[node]], height[node] + 1)
    assert nodes.height.tolist() == height


@given(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_closest_length(hyp, refs):
    present = [ref for ref in refs if ref]
    expected = min((abs(ref - hyp), ref) for ref in present)[1] if present else 0
    assert closest(tensor([hyp]), tensor([refs])).tolist() == [expected]


def test_brevity_penalty():
    """Papineni et al. 2002: 1 at equal length, exp(1 - r/c) below it."""
    penalty = brevity_penalty(tensor([5, 4, 10, 0]), tensor([5, 5, 5, 5]))
    assert penalty.tolist() == pytest.approx([1, 0.7788007830714049, 1, 0])


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=12))
def test_ranges(items):
    first, sizes = (torch.tensor([i[k] for i in items], dtype=torch.int64) for k in (0, 1))
    expected = [start + k for start, size in items for k in range(size)]
    assert backend.ranges(first, sizes).tolist() == expected
    with Watch():
        found = backend.ranges(first.to("cuda"), sizes.to("cuda"))
    assert home(found).tolist() == expected
