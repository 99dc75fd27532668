"""Look-up against Python's `in`: keys that lie evenly or not, what is absent, both ends."""

import random

import torch
from hypothesis import given
from hypothesis import strategies as st
from pretend import Away, Watch, home

from tensormt.kernels import lookup
from tensormt.kernels.lookup import Lookup

LEAST, MOST = -(1 << 63), (1 << 63) - 1
whole = st.one_of(
    st.integers(LEAST, MOST), st.integers(-60, 60), st.sampled_from([LEAST, LEAST + 1, MOST - 1])
)


def agrees(keys, asked, there=None):
    keys = sorted(set(keys))
    ready, wanted = torch.tensor(keys), torch.tensor(asked)
    place, known = (there or Lookup(ready)).find(wanted)
    assert known.tolist() == [key in keys for key in asked]
    assert all(keys[p] == key for p, k, key in zip(place.tolist(), known, asked, strict=True) if k)
    assert all(0 <= p < len(keys) for p in place.tolist())


@given(st.sets(whole, min_size=1, max_size=80), st.lists(whole, max_size=30))
def test_any_keys(keys, asked):
    agrees(keys, [*asked, *list(keys)[:20], MOST, LEAST])


def test_even_keys_are_stepped_to_and_uneven_ones_searched(monkeypatch):
    rng = random.Random(3)
    even = [rng.randint(LEAST, MOST) for _ in range(3000)]
    uneven = [*range(1000), MOST]
    asked = [*rng.sample(even, 500), *(rng.randint(LEAST, MOST) for _ in range(500)), LEAST, MOST]
    for keys, steps in ((even, True), (uneven, False)):
        ready = Lookup(torch.tensor(sorted(set(keys))))
        with monkeypatch.context() as patch:
            if steps:
                patch.setattr(lookup, "search", None)
            agrees(keys, [*asked, *uneven[::7]], ready)


def test_on_another_device():
    keys, asked = torch.tensor([-9, -2, 3, 1 << 60]), torch.tensor([3, 4, 1 << 60])
    with Watch():
        place, known = Lookup(keys.to("cuda")).find(asked.to("cuda"))
    assert isinstance(place, Away)
    assert home(known).tolist() == [True, False, True]
    assert home(place)[[0, 2]].tolist() == [2, 3]
