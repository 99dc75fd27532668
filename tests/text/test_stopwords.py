"""Stop words are lower-case function words."""

from tensormt.text.stopwords import STOP_WORDS


def test_function_words_and_no_others():
    assert {"the", "of", "and", "is", "with"} <= STOP_WORDS
    assert not {"cat", "translation", "good", "run"} & STOP_WORDS
    assert all(word == word.lower() and word.isalpha() for word in STOP_WORDS)
