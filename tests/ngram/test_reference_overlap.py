"""Shares over references and matches, and agreement of raters."""

from __future__ import annotations

import math
import random
from collections import Counter

import ngram_oracle as oracle
import pytest
import torch
from ngram_samples import corpus, read

from tensormt.errors import TensorMTError
from tensormt.ngram.reference_overlap import (
    agreement,
    kappa,
    match_shares,
    rater_agreement,
    reference_shares,
)


@pytest.mark.parametrize("streams", [1, 3])
def test_shares_equal_plain_python(streams: int) -> None:
    hyps, segments = corpus(21, 25, streams)
    hyp, refs = read(hyps, segments)
    in_refs, in_matches = reference_shares(refs, 3), match_shares(hyp, refs, 3)
    for n in (1, 2, 3):
        held: Counter[int] = Counter()
        matched: Counter[int] = Counter()
        for tokens, own in zip(hyps, segments, strict=True):
            every = Counter(g for ref in own for g in set(oracle.grams(ref, n)))
            held.update(every.values())
            for gram, count in oracle.clip(tokens, own, n).items():
                matched[every[gram]] += count
        for found, shares in ((held, in_refs), (matched, in_matches)):
            whole = max(sum(found.values()), 1)
            expected = [found[k] / whole for k in range(1, streams + 1)]
            assert shares[n - 1].tolist() == pytest.approx(expected, abs=1e-15)


def test_the_gunmans_references() -> None:
    """Section 3 of the paper: «the», «gunman», «police» (and «.») stand in all four references."""
    lines = [
        "the gunman was shot to death by the police .",
        "police killed the gunman .",
        "the gunman was shot dead by the police .",
        "the gunman was shot to death by the police .",
    ]
    _, refs = read([["gunman"]], [[line.split() for line in lines]])
    # to, death in two; was, shot, by in three; killed, dead in one
    assert reference_shares(refs, 1)[0].tolist() == pytest.approx([2 / 11, 2 / 11, 3 / 11, 4 / 11])
    hyp, _ = read([["gunman", "is", "shot", "dead", "by", "police", "."]], [[["x"]]])
    assert match_shares(hyp, refs, 1)[0].tolist() == pytest.approx([1 / 6, 0, 2 / 6, 3 / 6])


def test_orders_without_an_ngram_have_no_shares() -> None:
    hyp, refs = read([["a"]], [[["a"], ["b"]]])
    assert reference_shares(refs, 2).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert match_shares(hyp, refs, 2).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_agreement_two_of_two_or_two_of_three() -> None:
    none = float("nan")
    judged = torch.tensor(
        [[1, 1, none], [1, 2, none], [3, 4, 3], [1, 2, 3], [5, 5, 5], [4, none, none]]
    )
    assert float(agreement(judged)) == pytest.approx(3 / 5)
    assert float(kappa(agreement(judged))) == pytest.approx((0.6 - 0.2) / 0.8)
    # of five items with company: rater 1 agrees on 3, rater 2 on 2; rater 3 judged three
    assert rater_agreement(judged).tolist() == pytest.approx([3 / 5, 2 / 5, 2 / 3])
    both = torch.stack([judged, judged.flip(-1)])
    assert agreement(both).tolist() == pytest.approx([0.6, 0.6])
    assert float(agreement(torch.full((3, 2), math.nan))) == 0.0


def test_table_1_from_its_agreement() -> None:
    """Kappa 0.311 (fluency of p2-05, Table 1) is an agreement of 0.4488 beyond a chance of 0.2."""
    assert round(float(kappa(torch.tensor(0.4488))), 3) == 0.311


def test_random_judgements_have_kappa_near_zero() -> None:
    rng = random.Random(3)
    judged = torch.tensor([[rng.randint(1, 5), rng.randint(1, 5)] for _ in range(20_000)])
    assert abs(float(kappa(agreement(judged)))) < 0.01


def test_errors() -> None:
    with pytest.raises(TensorMTError, match=r"expected \[...,items,raters\]"):
        agreement(torch.zeros(3))
    with pytest.raises(TensorMTError, match="chance is 1"):
        kappa(torch.tensor(0.5), chance=1)
