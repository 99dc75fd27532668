"""JACK against a plain-Python reading of the paper, and the families of sets that it is made of."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qarla.similarity_samples import members, oracle_jack, random_similarities, real

from tensormt import qarla
from tensormt.qarla import jack_counts

TRIPLES = ["pairs", "distinct", "all"]


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("triples", TRIPLES)
def test_every_set_equals_the_oracle(triples, ragged):
    for seed in range(4):
        am, mm, aa, model_mask, peer_mask = random_similarities(seed, ragged)
        masks = {"model_mask": model_mask, "peer_mask": peer_mask} if ragged else {}
        jacks = qarla.jack_sets(am, mm, aa, triples, **masks)
        lists = [part.tolist() for part in (am, mm, aa)]
        assert jacks.dtype == torch.float64
        for index in range(8):
            expected = oracle_jack(
                *lists, real(model_mask), real(peer_mask), members(index, 3), triples
            )
            assert jacks[index].item() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("triples", TRIPLES)
def test_every_set_equals_the_single_set_call(triples):
    am, mm, aa, model_mask, peer_mask = random_similarities(11, ragged=True, metrics=7)
    masks = {"model_mask": model_mask, "peer_mask": peer_mask}
    jacks = qarla.jack_sets(am, mm, aa, triples, **masks)
    for index in range(1, 128):
        k = members(index, 7)
        jack = qarla.jack(am[..., k], mm[..., k], aa[..., k], triples, **masks)
        assert jacks[index] == jack
        assert jack.shape == ()


def test_more_than_64_sets_pack_into_words():
    am, mm, aa, *_ = random_similarities(8, metrics=8, cases=2, values=2)
    jacks = qarla.jack_sets(am, mm, aa)
    lists = [part.tolist() for part in (am, mm, aa)]
    everything = [list(range(5))] * 2, [list(range(4))] * 2
    for index in [1, 63, 64, 127, 128, 200, 255]:
        expected = oracle_jack(*lists, *everything, members(index, 8), "pairs")
        assert jacks[index].item() == expected


similarities = st.builds(
    random_similarities, st.integers(0, 10**9), values=st.integers(1, 6), lift=st.integers(0, 3)
)


@settings(max_examples=60, deadline=None)
@given(similarities)
def test_jack_never_falls_with_more_peers(tensors):
    am, mm, aa, *_ = tensors
    fewer = qarla.jack_sets(am[:, :3], mm, aa[:, :3, :3])
    assert (qarla.jack_sets(am, mm, aa) >= fewer).all()


# ---------------------------------------------------------------- families of sets, packed
def written(family, bins):
    """A family of sets, as the integers that `pack` writes: plain Python."""
    words = []
    for start in range(0, bins, 64):
        word = sum(1 << number - start for number in family if start <= number < start + 64)
        words.append(word - (1 << 64) if word >> 63 else word)
    return words


@pytest.mark.parametrize("metrics", [1, 3, 6, 7, 9])
def test_families_are_sets_of_sets(metrics):
    """pack, unpack, subsets and union, at less than a word, one word and several."""
    bins, rng = 1 << metrics, random.Random(metrics)
    families = [
        set(rng.sample(range(bins), rng.randrange(bins + 1))) for _ in range(rng.choice([5, 8]))
    ] + [set(), set(range(bins))]
    held = torch.tensor([[number in family for number in range(bins)] for family in families])
    packed = jack_counts.pack(held)
    assert packed.tolist() == [written(family, bins) for family in families]
    assert torch.equal(jack_counts.unpack(packed, bins), held)
    for count in range(1, len(families)):
        joined = jack_counts.union(packed[None, :count])
        assert joined.tolist() == [written(set().union(*families[:count]), bins)]
    masks = [0, bins - 1, *(rng.randrange(bins) for _ in range(20))]
    below = jack_counts.subsets(torch.tensor([masks]), bins)
    assert below.tolist() == [
        [written({n for n in range(bins) if n | mask == mask}, bins) for mask in masks]
    ]
