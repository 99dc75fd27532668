"""Counts of words, stems and sentences; the stemmer against nltk's."""

import random

import pytest
import torch
from nltk.stem.porter import PorterStemmer

from tensormt.errors import TensorMTError
from tensormt.qarla import bag_of_words, similarity
from tensormt.qarla.bag_of_words import stem
from tensormt.qarla.stopwords import STOP_WORDS

TEXTS = [
    [
        "The cat sat on the mat. It was happy!",
        "It was happy! The dogs were running quickly.",
        None,
        "A cat and a dog sat; cats sit, dogs run.",
    ],
    ["", "Nothing in common here.", "Two words, two words.", "Two words."],
]


def test_words_without_stop_words_and_with_stems():
    def oracle(text, stop_words, stems):
        words = [w.strip(".,;!") for w in (text or "").lower().split()]
        words = [w for w in words if w and (stop_words or w not in STOP_WORDS)]
        return [stem(w) if stems else w for w in words]

    for stop_words, stems in [(True, False), (True, True), (False, False), (False, True)]:
        ours = bag_of_words.word_counts(TEXTS, stop_words=stop_words, stems=stems)
        terms = [[oracle(text, stop_words, stems) for text in case] for case in TEXTS]
        expected = bag_of_words.term_counts(terms)
        assert torch.equal(ours.sum(dim=-1), expected.sum(dim=-1))
        assert torch.equal(similarity.rouge1(ours), similarity.rouge1(expected))


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


PORTERS_EXAMPLES = """
caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized
hopping tanned falling hissing fizzed failing filing happy sky relational conditional rational
valenci hesitanci digitizer conformabli radicalli differentli vileli analogousli vietnamization
predication operator feudalism decisiveness hopefulness callousness formaliti sensitiviti
sensibiliti triplicate formative formalize electriciti electrical hopeful goodness revival allowance
inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent
adoption homologou communism activate angulariti homologous effective bowdlerize probate rate cease
controll roll generalizations oscillators
"""


def test_stemmer_equals_nltks_original_mode():
    """nltk's port of the paper is the oracle; it stems two-letter words, Porter's program not."""
    oracle = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    words = PORTERS_EXAMPLES.split()
    assert [stem(word) for word in words] == [oracle.stem(word) for word in words]
    source = random.Random(0)
    endings = ["", "s", "ed", "ing", "ational", "iveness", "y", "ies", "eed", "ll", "e", "ion"]
    for _ in range(3000):
        word = "".join(source.choice("abeilnorstyz") for _ in range(source.randrange(3, 8)))
        word += source.choice(endings)
        assert stem(word) == oracle.stem(word)


def test_terms_are_counted_case_by_case():
    found = bag_of_words.term_counts([[["b", "a", "b"], []], [["c"], ["c", "d"]]])
    assert sorted(found[0, 0].tolist()) == [1, 2]
    assert found[0, 1].sum() == 0
    assert found[1].sum(dim=1).tolist() == [1, 2]
    assert (found[1, 0] <= found[1, 1]).all()
