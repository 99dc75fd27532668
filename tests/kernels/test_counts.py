"""Clipped counts, occurrences and spread against Counter."""

import random
from collections import Counter

import pytest
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels import hashing
from tensormt.kernels.counts import (
    Keys,
    Labels,
    Sides,
    clipped,
    occurrences,
    orders,
    spread,
    totals,
)

seeds = st.integers(0, 2**32)


def keys_of(pairs):
    groups, keys = zip(*sorted(pairs, key=lambda p: p[0]), strict=True) if pairs else ((), ())
    return Keys(
        torch.tensor(groups, dtype=torch.int64), hashing.mix(torch.tensor(keys, dtype=torch.int64))
    )


def random_pairs(rng, groups):
    """(group, key) of up to 60 occurrences."""
    return [(rng.randrange(groups), rng.randrange(8)) for _ in range(rng.randrange(60))]


@given(seeds, st.integers(1, 12), st.integers(1, 9))
def test_clipped_counts_equal_counters(seed, groups, references):
    rng = random.Random(seed)
    hyp, refs = random_pairs(rng, groups), [random_pairs(rng, groups) for _ in range(references)]
    counters = [Counter(ref) for ref in refs]
    expected = [0] * groups
    for (group, key), count in Counter(hyp).items():
        expected[group] += min(count, max(ref[group, key] for ref in counters))
    assert clipped(keys_of(hyp), [keys_of(ref) for ref in refs], groups).tolist() == expected
    sizes = Counter(group for group, _ in hyp)
    assert totals(keys_of(hyp), groups).tolist() == [sizes[group] for group in range(groups)]


@given(seeds, st.integers(1, 12), st.integers(1, 5))
def test_occurrences_and_spread_equal_counters(seed, groups, references):
    rng = random.Random(seed)
    hyp, refs = random_pairs(rng, groups), [random_pairs(rng, groups) for _ in range(references)]
    hyp.sort(key=lambda pair: pair[0])
    rank, counts = occurrences(keys_of(hyp), [keys_of(ref) for ref in refs], groups)
    assert rank.tolist() == [hyp[:k].count(pair) for k, pair in enumerate(hyp)]
    assert counts.tolist() == [[ref.count(pair) for pair in hyp] for ref in refs]
    holders = Counter(pair for ref in refs for pair in set(ref))
    table = [[0] * references for _ in range(groups)]
    for (group, _), number in holders.items():
        table[group][number - 1] += 1
    assert spread([keys_of(ref) for ref in refs], groups).tolist() == table


def test_occurrences_of_nothing():
    none = Keys(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    some = Keys(torch.tensor([0, 0]), torch.tensor([5, 5]))
    assert [part.tolist() for part in occurrences(some, [none], 1)] == [[0, 1], [[0, 0]]]
    assert [part.tolist() for part in occurrences(none, [some], 1)] == [[], [[]]]
    assert spread([some, none, some], 2).tolist() == [[0, 1, 0], [0, 0, 0]]
    assert clipped(none, [none], 3).tolist() == [0, 0, 0]


@given(seeds, st.integers(1, 12), st.integers(1, 4), st.integers(1, 40))
def test_labels_are_counted_as_keys_are(seed, segments, references, kinds):
    """The first order by a table of labels, the rest by sorting: as if labels were unknown."""
    rng = random.Random(seed)
    names = hashing.mix(torch.arange(60))

    def side():
        known = names[rng.sample(range(60), kinds)]
        first = sorted(rng.randrange(segments) for _ in range(rng.randrange(80)))
        label = torch.tensor([rng.randrange(kinds) for _ in first], dtype=torch.int64)
        later = keys_of([(segments + rng.randrange(segments), rng.randrange(9)) for _ in range(50)])
        return Keys(
            torch.cat([torch.tensor(first, dtype=torch.int64), later.group]),
            torch.cat([known[label], later.key]),
            Labels(label, known, segments),
        )

    hyp, refs = side(), [side() for _ in range(references)]
    bare = [Keys(keys.group, keys.key) for keys in (hyp, *refs)]
    found = clipped(hyp, refs, 2 * segments).tolist()
    assert found == clipped(bare[0], bare[1:], 2 * segments).tolist()


@given(seeds, st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 40))
def test_sides_of_one_batch_are_counted_as_each_alone(seed, segments, references, depth, kinds):
    """On a device all sides are one batch: the counts of each are the same."""
    rng = random.Random(seed)
    sides, groups = 1 + references, segments * depth
    names = hashing.mix(torch.arange(kinds))
    size = 80
    segment = torch.tensor(sorted(rng.randrange(sides * segments) for _ in range(size)))
    label = torch.tensor([rng.randrange(kinds) for _ in range(size)])
    keys = [
        names[label],
        *(torch.tensor([rng.randrange(9) for _ in range(size)]) for _ in range(depth - 1)),
    ]
    present = torch.tensor(
        [rng.random() < 0.7 for _ in range(size * (depth - 1))], dtype=torch.bool
    )

    def made(side):
        own = slice(None) if side is None else segment // segments == side
        rows = None if depth == 1 else present.view(depth - 1, size)[:, own].reshape(-1)
        number = sides * segments if side is None else segments
        first = segment[own] - (0 if side is None else side * segments)
        return orders(first, [key[own] for key in keys], rows, Labels(label[own], names, number))

    apart = Sides.of([made(side) for side in range(sides)], groups)
    with FakeCuda():
        joint = made(None)
        labels = joint.labels._replace(label=joint.labels.label.to("cuda"))
        there = Keys(joint.group.to("cuda"), joint.key.to("cuda"), labels)
        together = Sides.of_joint(there, sides, groups)
        found = [together.clipped(), together.clipped_each(), together.totals(sides)]
    expected = [apart.clipped(), apart.clipped_each(), apart.totals(sides)]
    for here, away in zip(expected, found, strict=True):
        assert torch.equal(here, to_host(away))
    assert torch.equal(expected[0], clipped(made(0), [made(k) for k in range(1, sides)], groups))


def test_orders_are_numbered():
    """Two segments of 2 and 1 nodes: the second order exists for the first node only."""
    labels = Labels(torch.tensor([0, 1, 0]), torch.tensor([7, 8]), 2)
    first, second = torch.tensor([7, 8, 7]), torch.tensor([70, 80, 90])
    present = torch.tensor([True, False, False])
    keys = orders(torch.tensor([0, 0, 1]), [first, second], present, labels)
    assert keys.group.tolist() == [0, 0, 1, 2]
    assert keys.key.tolist() == [7, 8, 7, 70]


@pytest.mark.heavy(needs="minutes")
def test_counts_pass_2_to_the_24():
    """One more than float32 can count."""
    size = 2**24 + 1
    many = Keys(torch.zeros(size, dtype=torch.int64), torch.full((size,), 7))
    assert clipped(many, [many], 1).tolist() == [size]
    assert totals(many, 1).tolist() == [size]
