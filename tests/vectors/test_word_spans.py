"""Words of trees in their texts."""

import random

import pytest

from tensormt.vectors.word_spans import word_spans


def found(text, words):
    return [text[low:high] for low, high in word_spans(text, words.split())]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("The dog ran.", "The dog ran .", "The dog ran ."),
        (" don't  (go) ", "do n't -LRB- go -RRB-", "do n't ( go )"),
        ("a[b]{c}", "a -LSB- b -RSB- -LCB- c -RCB-", "a [ b ] { c }"),
        ("du côté", "de le côté", "du+ du+ côté"),  # both share what stands before the next word
        ("das ist am Ende", "das ist an dem", "das ist am+Ende am+Ende"),
    ],
)
def test_words_by_their_spelling(text, words, expected):
    wanted = [word.replace("+", " ") for word in expected.split()]
    assert [part.strip() for part in found(text, words)] == [word.strip() for word in wanted]


def test_nothing():
    assert word_spans("", []) == []
    assert word_spans("abc", []) == []
    assert word_spans("", ["abc"]) == [(0, 0)]


def test_tokens_with_any_white_space_are_found_again():
    draw = random.Random(1)
    for _ in range(200):
        words = ["".join(draw.choices("ab,.é中", k=draw.randint(1, 3))) for _ in range(8)]
        text = "".join(word + draw.choice(["", " ", "\u3000 "]) for word in words)
        assert [text[low:high] for low, high in word_spans(text, words)] == words
