"""Expected matches: discrete counts for one-hot distributions, right gradients everywhere else."""

from itertools import product

import pytest
import torch
from fake_cuda import FakeCuda
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.train import expected_counts, functional


def case(seed, size=3, number=2, width=7, words=4):
    generator = torch.Generator().manual_seed(seed)

    def ids(*shape):
        return torch.randint(0, words, shape, generator=generator)

    ours = torch.randint(0, width + 1, (size,), generator=generator)
    theirs = torch.randint(0, width + 1, (size, number), generator=generator)
    theirs[:, 0] = theirs[:, 0].clamp_min(1)
    return ids(size, width), ids(size, number, width), ours, theirs


def distributions(seed, size, width, words):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(size, width, words, generator=generator, dtype=torch.float64)
    return logits.softmax(-1)


def one_hot(ids, words, dtype=torch.float64):
    return torch.nn.functional.one_hot(ids, words).to(dtype)


@given(st.integers(0, 10**9), st.sampled_from([torch.float32, torch.float64]))
def test_one_hot_gives_the_discrete_counts_exactly(seed, dtype):
    hyp, refs, ours, theirs = case(seed)
    found = expected_counts.expected_matches(one_hot(hyp, 4, dtype), refs, ours, theirs)
    expected = functional.statistics(tm.BLEU(), hyp, refs, ours, theirs)[:, 3:7]
    assert found.dtype == dtype
    assert torch.equal(found, expected.to(dtype))


@given(st.integers(0, 10**9))
def test_one_hot_gives_smoothed_bleu(seed):
    hyp, refs, ours, theirs = case(seed)
    metric = tm.BLEU(3, "add-k", smooth_value=0.5)
    found = expected_counts.expected_bleu(
        one_hot(hyp, 4), refs, ours, theirs, max_order=3, smooth_value=0.5
    )
    expected = functional.scores(metric, hyp, refs, ours, theirs)
    assert torch.allclose(found, expected, rtol=0, atol=1e-10)


def test_expected_counts_by_enumeration():
    """One reference whose n-grams are all different: E[g] over all 3⁴ outputs, clipped by 1."""
    p = distributions(1, 1, 4, 3)
    ref = [0, 1, 2, 2]
    found = expected_counts.expected_matches(p, torch.tensor([[ref]]), max_order=2)[0]
    counts = {}
    for words in product(range(3), repeat=4):
        chance = 1.0
        for place, word in enumerate(words):
            chance *= p[0, place, word].item()
        for n in (1, 2):
            for i in range(4 - n + 1):
                key = words[i : i + n]
                counts[key] = counts.get(key, 0.0) + chance
    for n in (1, 2):
        grams = [tuple(ref[i : i + n]) for i in range(4 - n + 1)]
        value = sum(min(counts.get(g, 0.0), grams.count(g)) for g in set(grams))
        assert found[n - 1].item() == pytest.approx(value, abs=1e-12)


def test_gradcheck():
    p = distributions(3, 2, 5, 4).requires_grad_()
    _, refs, ours, theirs = case(3, size=2, width=5)
    ours = ours.clamp_min(2)
    assert torch.autograd.gradcheck(
        lambda x: expected_counts.expected_matches(x, refs, ours, theirs), p
    )
    assert torch.autograd.gradcheck(
        lambda x: expected_counts.expected_bleu(x, refs, ours, theirs), p
    )


def test_gradients_are_finite_where_nothing_matches():
    logits = torch.zeros(3, 4, 5, dtype=torch.float64, requires_grad=True)
    p = torch.where(torch.arange(5) < 3, logits.exp(), 0.0) / 3
    refs = torch.tensor([[[3, 4, 3]], [[0, 1, 2]], [[0, 1, 2]]])
    lengths = torch.tensor([4, 0, 1])
    score = expected_counts.expected_bleu(p, refs, lengths)
    score.sum().backward()
    assert score[:2].tolist() == [0, 0]
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[2, 0, 0] > 0
    assert (logits.grad[1] == 0).all()


def test_ascent_finds_the_reference():
    """Gradients alone lead from flat distributions to the tokens of the reference."""
    torch.manual_seed(0)
    ref = torch.tensor([[[3, 1, 4, 1, 5, 2]]])
    logits = (0.1 * torch.randn(1, 6, 6, dtype=torch.float64)).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.3)
    for _ in range(150):
        optimizer.zero_grad()
        loss = -expected_counts.expected_bleu(logits.softmax(-1), ref, max_order=3).sum()
        loss.backward()
        optimizer.step()
    assert functional.scores(tm.BLEU(3), logits.argmax(-1), ref).item() > 60
    assert loss.item() < -60


def test_padding_changes_nothing_and_nothing_waits_for_the_device():
    _, refs, ours, theirs = case(5)
    p = distributions(5, 3, 7, 4)
    expected = expected_counts.expected_bleu(p, refs, ours, theirs)
    wider = torch.cat([p, torch.full((3, 2, 4), 0.25, dtype=torch.float64)], 1)
    longer = torch.cat([refs, torch.full((3, 2, 3), 99)], 2)
    assert torch.allclose(
        expected_counts.expected_bleu(wider, longer, ours, theirs), expected, atol=1e-12
    )
    with FakeCuda() as cuda:
        there = [part.to("cuda") for part in (p, refs, ours, theirs)]
        expected_counts.expected_bleu(*there)
    assert not cuda.syncs, cuda.syncs


def test_errors_say_what_is_wrong():
    _, refs, _, _ = case(0)
    with pytest.raises(tm.TensorMTError, match="B,T,V"):
        expected_counts.expected_matches(torch.zeros(3, 7), refs)
    with pytest.raises(tm.TensorMTError, match="expected floats"):
        expected_counts.expected_matches(torch.zeros(3, 7, 4).long(), refs)


def test_lengths_stay_within_the_text():
    hyp, refs, _, theirs = case(5)
    table = one_hot(hyp, 4)
    full = expected_counts.expected_bleu(table, refs, torch.full((3,), 7), theirs)
    assert torch.equal(
        expected_counts.expected_bleu(table, refs, torch.full((3,), 99), theirs), full
    )
    none = expected_counts.expected_bleu(table, refs, torch.full((3,), -2), theirs)
    assert none.tolist() == [0, 0, 0]


@pytest.mark.on_a_cpu
def test_logits_and_lengths_that_are_no_integers_are_refused():
    hyp, refs, ours, theirs = case(6)
    table = one_hot(hyp, 4)
    with pytest.raises(tm.TensorMTError, match="softmax"):
        expected_counts.expected_bleu(torch.randn(3, 7, 4), refs)
    with pytest.raises(tm.TensorMTError, match="expected integers"):
        expected_counts.expected_bleu(table, refs, ours.double(), theirs)
    with pytest.raises(tm.TensorMTError, match="expected integers"):
        expected_counts.expected_bleu(table, refs, ours, theirs.float())
    # what lies beyond a text is not looked at
    beyond = torch.arange(7) >= ours[:, None]
    expected_counts.expected_bleu(table.masked_fill(beyond[..., None], 0), refs, ours, theirs)
