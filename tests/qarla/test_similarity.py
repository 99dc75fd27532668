"""The similarity measures of the paper against plain counting."""

import math
import random
from collections import Counter

import pytest
import torch

from tensormt.qarla import bag_of_words, similarity


def random_terms(seed, cases=5, texts=6):
    source = random.Random(seed)
    return [
        [
            [f"w{t}-{source.randrange(9)}" for _ in range(source.choice([0, 1, 5, 20]))]
            for _ in range(texts)
        ]
        for t in range(cases)
    ]


def every_pair(terms, compare):
    """compare(candidate Counter, reference Counter) for all pairs, 0 where one is empty."""
    out = []
    for case in terms:
        counters = [Counter(text) for text in case]
        out.append([[compare(c, r) if c and r else 0.0 for r in counters] for c in counters])
    return torch.tensor(out, dtype=torch.float64)


def distance_over(words, c, r):
    c_size, r_size = sum(c.values()), sum(r.values())
    return math.sqrt(sum((c[w] / c_size - r[w] / r_size) ** 2 for w in words))


def most_frequent(r, n):
    counts = sorted(r.values(), reverse=True)
    least = counts[min(n, len(counts)) - 1]
    return [w for w, count in r.items() if count >= least]


ORACLES = {
    "shared_per_reference": (
        similarity.shared_per_reference,
        lambda c, r: len(set(c) & set(r)) / len(set(r)),
    ),
    "shared_per_candidate": (
        similarity.shared_per_candidate,
        lambda c, r: len(set(c) & set(r)) / len(set(c)),
    ),
    "vector_model": (
        similarity.vector_model,
        lambda c, r: 1 - distance_over(set(c) | set(r), c, r) / math.sqrt(2),
    ),
    **{
        f"truncated_{n}": (
            lambda counts, n=n: similarity.truncated_vector_model(counts, n),
            lambda c, r, n=n: 1 - distance_over(most_frequent(r, n), c, r) / math.sqrt(2),
        )
        for n in (1, 3, 512)
    },
}


@pytest.mark.parametrize("name", ORACLES)
def test_all_pairs_equal_plain_counting(name):
    ours, compare = ORACLES[name]
    for seed in range(5):
        terms = random_terms(seed)
        table = ours(bag_of_words.term_counts(terms))
        torch.testing.assert_close(table, every_pair(terms, compare), rtol=0, atol=1e-12)
        assert table.min() >= 0
        assert table.max() <= 1
        own = table.diagonal(dim1=1, dim2=2)
        some = torch.tensor([[bool(text) for text in case] for case in terms])
        assert torch.equal(own, some.to(torch.float64))


@pytest.mark.parametrize("name", ORACLES)
def test_chunks_and_absent_types_change_nothing(name):
    """With many types that no text has, every case is compared in a chunk of its own."""
    ours, _ = ORACLES[name]
    counts = bag_of_words.term_counts(random_terms(1))
    cases, texts, _ = counts.shape
    absent = similarity.BLOCK // (2 * texts * texts) + 1
    wide = torch.cat([counts, counts.new_zeros(cases, texts, absent)], dim=-1)
    torch.testing.assert_close(ours(wide), ours(counts), rtol=0, atol=1e-12)


def test_a_case_does_not_depend_on_the_others():
    terms = random_terms(3)
    for ours, _ in ORACLES.values():
        whole = ours(bag_of_words.term_counts(terms))
        for t, case in enumerate(terms):
            torch.testing.assert_close(whole[t], ours(bag_of_words.term_counts([case]))[0])


def test_absent_texts_only():
    counts = bag_of_words.content_counts([[None, ""], [None, None]])
    assert similarity.vector_model(counts).tolist() == [[[0, 0], [0, 0]]] * 2
