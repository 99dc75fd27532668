"""Characters of words, symbols of languages, and known scripts."""

from tensormt.parser.char_features import word_characters


def test_spelling():
    assert word_characters("abc", 6) == ["a", "b", "c"]
    assert word_characters("abcdefgh", 6) == list("abcfgh")
    assert "".join(word_characters("한국", 20)) == "\u1112\u1161\u11ab\u1100\u116e\u11a8"
