"""The bit-parallel common subsequence against the textbook's and rouge-score's."""

import random

from edit_oracles import common
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_edit_distance import SYMBOLS, sequences
from rouge_score.rouge_scorer import lcs_ind

from tensormt.kernels.subsequence import common_places, subsequences


@given(st.lists(st.tuples(SYMBOLS, SYMBOLS), max_size=8), st.sampled_from([1, 50, 1 << 20]))
def test_places_of_the_subsequence_as_in_rouge_score(pairs, cells):
    one, two = (sequences([pair[k] for pair in pairs]) for k in (0, 1))
    assert subsequences(one, two, cells).tolist() == [common(*pair) for pair in pairs]
    found = common_places(one, two, cells)
    for k, (text, pattern) in enumerate(pairs):
        assert found[k].nonzero()[:, 0].tolist() == lcs_ind(pattern, text)


def test_places_of_long_sequences():
    rng = random.Random(6)
    pairs = [
        tuple([rng.randrange(5) * 200 for _ in range(rng.randint(50, 200))] for _ in "tp")
        for _ in range(12)
    ]
    one, two = (sequences([pair[k] for pair in pairs]) for k in (0, 1))
    assert subsequences(one, two).tolist() == [common(*pair) for pair in pairs]
    found = common_places(one, two)
    for k, (text, pattern) in enumerate(pairs):
        assert found[k].nonzero()[:, 0].tolist() == lcs_ind(pattern, text)
