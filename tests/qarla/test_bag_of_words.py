"""Counts of words and sentences."""

import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.qarla import bag_of_words, similarity
from tensormt.text.stopwords import STOP_WORDS

TEXTS = [
    [
        "The cat sat on the mat. It was happy!",
        "It was happy! The dogs were running quickly.",
        None,
        "A cat and a dog sat; cats sit, dogs run.",
    ],
    ["", "Nothing in common here.", "Two words, two words.", "Two words."],
]


def test_words_without_stop_words():
    def oracle(text):
        words = [w.strip(".,;!") for w in (text or "").lower().split()]
        return [w for w in words if w and w not in STOP_WORDS]

    ours = bag_of_words.content_counts(TEXTS)
    expected = bag_of_words.term_counts([[oracle(text) for text in case] for case in TEXTS])
    assert torch.equal(ours.sum(dim=-1), expected.sum(dim=-1))
    assert torch.equal(similarity.vector_model(ours), similarity.vector_model(expected))


def test_sentences():
    assert bag_of_words.sentences('He left. "Why?" she asked.  In 1.5 days! ') == [
        "He left.",
        '"Why?" she asked.',
        "In 1.5 days!",
    ]
    counts = bag_of_words.sentence_counts(TEXTS)
    table = similarity.shared_per_candidate(counts)
    assert table[0, 0, 1].item() == 0.5
    assert table[0, 0, 3].item() == 0


def test_cases_of_different_width():
    with pytest.raises(TensorMTError, match=r"cases hold \[1, 2\] texts: pad every case"):
        bag_of_words.term_counts([[["a"]], [["a"], ["b"]]])


def test_terms_are_counted_case_by_case():
    found = bag_of_words.term_counts([[["b", "a", "b"], []], [["c"], ["c", "d"]]])
    assert sorted(found[0, 0].tolist()) == [1, 2]
    assert found[0, 1].sum() == 0
    assert found[1].sum(dim=1).tolist() == [1, 2]
    assert (found[1, 0] <= found[1, 1]).all()
