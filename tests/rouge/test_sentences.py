"""Sentences of a batch, and the places of the union."""

import tensormt as tm
from tensormt.rouge.sentences import sentences, union_places
from tensormt.text.rouge_tokens import SENTENCE_END


def test_sentences():
    batch = tm.TokenBatch.from_text(["a b\nc", "", "***", "d\n\n\ne f g"], "lines+rouge")
    [found] = sentences([batch], SENTENCE_END)
    assert found.number.tolist() == [2, 0, 0, 2]
    assert found.sizes.tolist() == [3, 0, 0, 4]
    assert found.sequences.lengths.tolist() == [2, 1, 1, 3]
    [plain] = sentences([tm.TokenBatch.from_text(["a b", "c"], "rouge")], SENTENCE_END)
    assert plain.number.tolist() == [1, 1]


def test_union_in_parts():
    """Whatever number of pairs of sentences is compared at a time."""
    lines = ["a b c\nd e f\na", "x y\nz"], ["a c\ne a", "z y x"]
    hyp, ref = tm.TokenBatch.from_texts(lines, "lines+rouge")
    one, two = sentences([hyp, ref], SENTENCE_END)
    whole = union_places(one, two)
    words = [word for row in ref.to_tokens() for word in row]
    inside = [word for word, held in zip(words, whole.tolist(), strict=True) if held]
    assert inside == ["a", "c", "e", "a", "z", "y"]
    assert union_places(one, two, pairs=1).tolist() == whole.tolist()
