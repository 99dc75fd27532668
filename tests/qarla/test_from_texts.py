"""Similarity tensors of texts, against the metrics on single pairs of texts."""

import itertools
from collections import Counter

import pytest
import torch
from metaeval.error_rate_samples import LengthError, LengthScore
from qarla.text_samples import MODELS, OUTPUTS, judged_set, tensors_of

from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.ngram.bleu import BLEU
from tensormt.qarla.from_texts import ROUGE_MEASURES, similarity_tensors_from_segments
from tensormt.segments import Segments
from tensormt.text.stopwords import STOP_WORDS
from tensormt.text.tokens import TokenBatch
from tensormt.trees.sources import TreesAsText


def test_the_tensors_hold_every_pair():
    tensors = tensors_of(judged_set())
    assert tensors.am.shape == (3, 3, 4, 5)
    assert tensors.peer_mask.tolist() == [[True] * 3, [True, True, False], [True] * 3]
    assert tensors.model_mask.sum(dim=1).tolist() == [4, 3, 4]
    metric = BLEU(max_order=2)

    def bleu(candidate, reference):
        return metric(TokenBatch.from_text([candidate]), [TokenBatch.from_text([reference])]).item()

    for t in range(3):
        peers = [OUTPUTS[s][t] for s in range(3)]
        for i, peer in enumerate(peers):
            for j, model in enumerate(MODELS[t]):
                expected = bleu(peer, model) if peer else 0.0
                assert tensors.am[t, i, j, 4].item() == pytest.approx(expected)
            for j, other in enumerate(peers):
                expected = bleu(peer, other) if peer and other else 0.0
                assert tensors.aa[t, i, j, 4].item() == pytest.approx(expected)
        for i, model in enumerate(MODELS[t]):
            for j, other in enumerate(MODELS[t]):
                assert tensors.mm[t, i, j, 4].item() == pytest.approx(bleu(model, other))
    assert tensors.am[0, 0, 0, 0].item() == pytest.approx(3 / 6)


def test_wrong_names():
    with pytest.raises(TensorMTError, match="'vector-x': expected a number of terms"):
        tensors_of(judged_set(), ["vector-x"])


TEXTS = [
    [
        "The cat sat on the mat. It was happy!",
        "It was happy! The dogs were running quickly.",
        None,
        "A cat and a dog sat; cats sit, dogs run.",
    ],
    ["", "Nothing in common here.", "Two words, two words.", "Two words."],
]
STEMS = {"cats": "cat", "dogs": "dog", "running": "run", "quickly": "quickli", "nothing": "noth"}
STEMS |= {"words": "word", "happy": "happi"}


@pytest.mark.parametrize("name", ROUGE_MEASURES)
def test_rouge1_is_clipped_recall_of_words(name):
    """Words as plain Python cuts them; of STEMS, those of more than three letters are stemmed."""

    def words(text):
        found = [word.strip(".,;!") for word in (text or "").lower().split()]
        if "content" in name:
            found = [word for word in found if word not in STOP_WORDS]
        return Counter(STEMS.get(word, word) if "stem" in name else word for word in found)

    def recall(own, other):
        return sum((own & other).values()) / max(sum(other.values()), 1)

    outputs = {name: [case[k] for case in TEXTS] for k, name in enumerate("ab")}
    segments = Segments(outputs, [[case[k] for case in TEXTS] for k in (2, 3)])
    tensors = similarity_tensors_from_segments(segments, [name])
    for t, case in enumerate(TEXTS):
        bags = [words(text) for text in case]
        for part, own, others in (("am", (0, 1), (2, 3)), ("mm", (2, 3), (2, 3))):
            found = getattr(tensors, part)[t, ..., 0].tolist()
            expected = [[recall(bags[i], bags[j]) for j in others] for i in own]
            assert found == [pytest.approx(row) for row in expected]


def test_rouge1_reads_the_words_of_trees():
    trees = ["(S (A the) (B cat))", "(S (A a) (B cat) (C sat))", "(S (B cat))", "(S (A the))"]
    plain = ["the cat", "a cat sat", "cat", "the"]
    found = []
    for texts, source in ((trees, TreesAsText()), (plain, None)):
        segments = Segments({"a": texts[:1], "b": texts[1:2]}, [[text] for text in texts[2:]])
        names = ["bleu", "rouge1", "rouge1-content"]
        evaluator = Evaluator(["bleu"], source)
        found.append(similarity_tensors_from_segments(segments, names, evaluator).am)
    assert torch.equal(*found)
    assert found[0][0, :, :, 1].tolist() == [[1, 1], [1, 0]]


def test_error_rates_are_negated():
    """QARLA compares similarities by order only, so that the sign is all that matters."""
    segments = Segments.from_rows(
        {"a": ["one two", "three"], "b": ["one two three four", "five"]},
        [["a b c", "a b", "a"], ["a b c d", "a", "a b"]],
    )
    metrics = {"error": LengthError(), "score": LengthScore()}
    tensors = similarity_tensors_from_segments(segments, list(metrics), Evaluator(metrics))
    for part in (tensors.am, tensors.mm, tensors.aa):
        assert part.max() <= 0
        assert torch.equal(part[..., 0], part[..., 1])
    assert tensors.am[0, 0, :, 0].tolist() == pytest.approx([-1 / 3, 0, -1])
    kings = tensors.king_sets()
    assert kings[1] == kings[2]


def test_an_empty_text_is_not_the_best_by_an_error_rate():
    segments = Segments.from_rows(
        {"empty": [""], "none": [None], "long": ["one two three four five"]},
        [["a b", "a", "a b c"]],
    )
    tensors = similarity_tensors_from_segments(
        segments, ["error"], Evaluator({"error": LengthError()})
    )
    assert tensors.am[0, 0, :, 0].tolist() == [-1, -1, -1]  # all words are missing
    assert tensors.am[0, 2, :, 0].tolist() == pytest.approx([-1.5, -4, -2 / 3])
    worst = min(part.min().item() for part in (tensors.am, tensors.mm))
    assert tensors.aa[0, 2, 0, 0].item() == pytest.approx(worst)  # nothing is like an empty text
    assert tensors.queen().tolist()[0][0] == pytest.approx(oracle_queen([-1, -1, -1]))


def oracle_queen(own):
    """Share of triples with x(a, m) ≥ x(m', m'') for references of 2, 1 and 3 words."""
    lengths = [2, 1, 3]
    pairs = [-abs(a - b) / b for a, b in itertools.permutations(lengths, 2)]
    passed = [mine >= other - 1e-9 for mine in own for other in pairs]
    return sum(passed) / len(passed)
