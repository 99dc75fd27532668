"""Numbers of pairs, and counts in parts."""

import torch
from edit_oracles import skip_bigrams

import tensormt as tm
from tensormt.ngram.references import References
from tensormt.rouge.skip_bigrams import pair_counts, pair_matches


def test_number_of_pairs():
    lengths = torch.arange(12)
    for skip in (-1, 0, 1, 4, 20):
        for singles in (False, True):
            expected = [sum(skip_bigrams("x" * n, skip, singles).values()) for n in range(12)]
            assert pair_counts(lengths, skip, singles).tolist() == expected


def test_counts_in_parts():
    lines = ["a b a c", "", "d d d", "a"], ["a a b", "x", "d d", "b a"]
    hyp, ref = tm.TokenBatch.from_texts(lines, "none")
    whole = pair_matches(hyp, References([ref]), 4, True)
    assert whole.tolist() == [[5, 0, 3, 1]]
    assert torch.equal(pair_matches(hyp, References([ref]), 4, True, cells=1), whole)
