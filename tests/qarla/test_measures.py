"""QUEEN and KING against plain-Python readings of the paper, on tied and ragged similarities."""

import itertools
from collections import Counter

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from hypothesis import given, settings
from hypothesis import strategies as st
from qarla.similarity_samples import (
    OPTIONS,
    members,
    oracle_king,
    oracle_queen,
    random_similarities,
    real,
)

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.qarla.case_chunks import COMPARISONS


# ---------------------------------------------------------------- equality with the oracles
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize(("triples", "leave_one_out"), OPTIONS)
def test_every_set_equals_the_oracle(triples, leave_one_out, ragged):
    for seed in range(4):
        am, mm, _, model_mask, peer_mask = random_similarities(seed, ragged)
        masks = {"model_mask": model_mask, "peer_mask": peer_mask} if ragged else {}
        queens = qarla.queen_sets(am, mm, triples, **masks)
        kings = qarla.king_sets(am, mm, leave_one_out, triples=triples, **masks)
        models, peers = real(model_mask), real(peer_mask)
        lists = am.tolist(), mm.tolist()
        assert queens.dtype == kings.dtype == torch.float64
        for index in range(8):
            chosen = members(index, 3)
            for t, a in itertools.product(range(3), range(4)):
                expected = 0.0
                if a in peers[t]:
                    expected = oracle_queen(lists[0][t][a], lists[1][t], models[t], chosen, triples)
                assert queens[t, a, index].item() == pytest.approx(expected, abs=1e-15)
            expected = oracle_king(*lists, models, peers, chosen, triples, leave_one_out)
            assert kings[index].item() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("triples", "leave_one_out"), OPTIONS)
def test_every_set_equals_the_single_set_call(triples, leave_one_out):
    am, mm, _, model_mask, peer_mask = random_similarities(11, ragged=True, metrics=7)
    masks = {"model_mask": model_mask, "peer_mask": peer_mask}
    queens = qarla.queen_sets(am, mm, triples, **masks)
    kings = qarla.king_sets(am, mm, leave_one_out, triples=triples, **masks)
    assert queens.shape == (3, 4, 128)
    for index in range(1, 128):
        k = members(index, 7)
        part = am[..., k], mm[..., k]
        assert torch.equal(queens[..., index], qarla.queen(*part, triples, **masks))
        king = qarla.king(*part, leave_one_out, triples=triples, **masks)
        assert kings[index] == king
        assert king.shape == ()


def test_masked_equals_truncated_case_by_case():
    am, mm, _, model_mask, peer_mask = random_similarities(5, ragged=True, cases=6)
    queens = qarla.queen_sets(am, mm, model_mask=model_mask, peer_mask=peer_mask)
    wins = models = 0
    for t, (m, a) in enumerate(zip(real(model_mask), real(peer_mask), strict=True)):
        small_am, small_mm = am[t : t + 1, a][:, :, m], mm[t : t + 1, m][:, :, m]
        assert torch.equal(queens[t, a], qarla.queen_sets(small_am, small_mm)[0])
        wins = wins + qarla.king_sets(small_am, small_mm) * len(m)
        models += len(m)
    kings = qarla.king_sets(am, mm, model_mask=model_mask, peer_mask=peer_mask)
    torch.testing.assert_close(kings, wins / models, rtol=0, atol=1e-15)


@pytest.mark.parametrize("ragged", [False, True])
def test_chunks_change_nothing(ragged):
    """Seven cases two hundred times over need several chunks, and have the measures of seven."""
    *tensors, models, peers = random_similarities(3, ragged, cases=7, metrics=4)
    masks = {"model_mask": models, "peer_mask": peers} if ragged else {}
    times = 200
    assert times * 7 * tensors[0].shape[1] * tensors[0].shape[2] ** 3 > 2 * COMPARISONS
    many = [part.repeat(times, 1, 1, 1) for part in tensors]
    more = {name: mask.repeat(times, 1) for name, mask in masks.items()}
    queens = qarla.queen_sets(*tensors[:2], **masks)
    assert torch.equal(qarla.queen_sets(*many[:2], **more), queens.repeat(times, 1, 1))
    for measure, count in ((qarla.king_sets, 2), (qarla.jack_sets, 3)):
        assert torch.equal(measure(*many[:count], **more), measure(*tensors[:count], **masks))


def test_unused_diagonals_may_be_anything():
    am, mm, aa, *_ = random_similarities(2)
    expected = qarla.king_sets(am, mm), qarla.jack_sets(am, mm, aa)
    for part in (mm, aa):
        part.diagonal(dim1=1, dim2=2).fill_(float("nan"))
    assert torch.equal(qarla.king_sets(am, mm), expected[0])
    assert torch.equal(qarla.jack_sets(am, mm, aa), expected[1])
    with pytest.raises(TensorMTError, match=r"mm\[0, 0, 0, 0\] = .* is NaN"):
        qarla.king(am, mm, leave_one_out=False)


def test_everything_stays_on_the_device():
    """Only the checks of the input and the sizes of ragged cases wait for the device."""
    am, mm, aa, model_mask, peer_mask = random_similarities(1, ragged=True)
    masks = {"model_mask": model_mask, "peer_mask": peer_mask}
    for measure, parts in (
        (qarla.queen_sets, (am, mm)),
        (qarla.king_sets, (am, mm)),
        (qarla.jack_sets, (am, mm, aa)),
    ):
        with FakeCuda() as cuda:
            there = measure(
                *(part.to("cuda") for part in parts),
                **{name: mask.to("cuda") for name, mask in masks.items()},
            )
        assert isinstance(there, DeviceTensor)
        assert torch.equal(to_host(there), measure(*parts, **masks))
        # two checks for each input and mask, and the sizes of all cases at once: nothing per case
        kinds = Counter()
        for what, times in cuda.syncs.items():
            kinds[what.split()[0]] += times
        assert kinds["tolist"] <= 1
        assert kinds["item"] <= 2 * (len(parts) + len(masks))
        assert kinds.keys() <= {"tolist", "item"}


# ---------------------------------------------------------------- the seven formal conditions
similarities = st.builds(
    random_similarities, st.integers(0, 10**9), values=st.integers(1, 6), lift=st.integers(0, 3)
)


@settings(max_examples=60, deadline=None)
@given(similarities, st.sampled_from(["pairs", "distinct", "all"]))
def test_condition_1_a_more_distant_peer_is_not_better(tensors, triples):
    am, mm, *_ = tensors
    farther = am.clone()
    farther[:, 0] = am[:, 1] - torch.rand(am[:, 1].shape, dtype=am.dtype)
    queens = qarla.queen_sets(farther, mm, triples)
    assert (queens[:, 0] <= queens[:, 1]).all()


@settings(max_examples=60, deadline=None)
@given(similarities, st.booleans(), st.floats(0, 5), st.floats(0, 5))
def test_condition_2_grouping_the_models_is_better(tensors, leave_one_out, closer, farther):
    """Models moved closer to each other and away from the peers never lower KING ..."""
    am, mm, *_ = tensors
    grouped = qarla.king_sets(am - farther, mm + closer, leave_one_out)
    assert (grouped >= qarla.king_sets(am, mm, leave_one_out)).all()


def test_condition_2_strictly_where_peers_stood_in_the_way():
    """... and raise it where models and peers were mixed before."""
    am, mm, *_ = random_similarities(4, lift=0)
    mixed, grouped = qarla.king_sets(am, mm), qarla.king_sets(am - 10, mm)
    assert (mixed[1:] < 0.5).all()
    assert (grouped[[1, 2, 4]] > mixed[[1, 2, 4]]).all()


@settings(max_examples=60, deadline=None)
@given(similarities, st.sampled_from(["pairs", "distinct", "all"]), st.booleans())
def test_condition_3_a_perfect_set_gives_every_model_a_quality(tensors, triples, leave_one_out):
    am, mm, *_ = tensors
    kings = qarla.king_sets(am - 2, mm, leave_one_out, triples=triples)
    lists = mm.tolist()
    for index in range(8):
        if kings[index] < 1:
            continue
        for t, m in itertools.product(range(3), range(5)):
            others = [k for k in range(5) if k != m] if leave_one_out else list(range(5))
            assert oracle_queen(lists[t][m], lists[t], others, members(index, 3), triples) > 0


@settings(max_examples=60, deadline=None)
@given(similarities, st.booleans())
def test_condition_4_a_rising_function_changes_nothing(tensors, leave_one_out):
    before = tensors[:3]
    after = [torch.exp(part * 0.5) - 3 for part in before]
    assert torch.equal(qarla.queen_sets(*before[:2]), qarla.queen_sets(*after[:2]))
    kings = [qarla.king_sets(*part[:2], leave_one_out) for part in (before, after)]
    assert torch.equal(*kings)
    assert torch.equal(qarla.jack_sets(*before), qarla.jack_sets(*after))


@settings(max_examples=60, deadline=None)
@given(similarities, st.booleans(), st.integers(0, 3))
def test_condition_5_a_repeated_peer_changes_nothing(tensors, leave_one_out, peer):
    am, mm, *_ = tensors
    repeated = torch.cat([am, am[:, peer : peer + 1]], dim=1)
    assert torch.equal(
        qarla.king_sets(am, mm, leave_one_out), qarla.king_sets(repeated, mm, leave_one_out)
    )


def test_condition_6_a_random_metric_is_near_0():
    torch.manual_seed(0)
    am = torch.rand(200, 16, 8, 1, dtype=torch.float64)
    mm = torch.rand(200, 8, 8, 1, dtype=torch.float64)
    # Models and peers are exchangeable: a model comes first once in 17 times, ties aside.
    assert qarla.king(am, mm).item() < 0.1
    few = qarla.king(am[:, :2], mm).item()
    assert 0.2 < few < 0.45


@pytest.mark.parametrize(("triples", "leave_one_out"), OPTIONS)
def test_condition_7_a_constant_metric_is_0(triples, leave_one_out):
    am, mm = torch.ones(4, 3, 5, 2), torch.ones(4, 5, 5, 2)
    assert (qarla.king_sets(am, mm, leave_one_out, triples=triples) == 0).all()
    assert (qarla.queen_sets(am, mm, triples) == 1).all()


@settings(max_examples=60, deadline=None)
@given(similarities)
def test_a_larger_set_never_raises_queen(tensors):
    am, mm, *_ = tensors
    queens = qarla.queen_sets(am, mm)
    for small, large in itertools.product(range(8), repeat=2):
        if small & large == small:
            assert (queens[..., small] >= queens[..., large]).all()
    assert (queens[..., 0] == 1).all()
