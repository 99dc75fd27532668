"""Shares over references and matches."""

from __future__ import annotations

from collections import Counter

import ngram_oracle as oracle
import pytest
from ngram_samples import corpus, read

from tensormt.ngram.reference_overlap import match_shares, reference_shares


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
