"""Tokens, stems and sentences of ROUGE against rouge-score."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer
from text_samples import PIECES, texts

from tensormt.text.plain_tokens import NO_TOKEN
from tensormt.text.plain_tokens import tokenize as plainly
from tensormt.text.rouge_tokens import SENTENCE_END, stem
from tensormt.text.tokens import TokenBatch

LINES = st.lists(
    st.one_of(texts, st.lists(st.sampled_from(["K", "İ", "ß", *PIECES]), max_size=9).map("".join)),
    max_size=6,
)
WORDS = "running flies dying denied owed agreed it's relational rational 2001st the ties us skies"


def tokens(line, name="rouge"):
    [few] = plainly([line], name)
    many = TokenBatch.from_text([line] * 60, name).to_tokens()
    assert many == [few] * 60
    return few


@settings(max_examples=300, deadline=None)
@given(LINES)
def test_equal_to_rouge_score(lines):
    """In plain Python and by bytes; a line with text, but no token, is present."""
    peer = DefaultTokenizer()
    expected = [peer.tokenize(line) or ([NO_TOKEN] if line.strip() else []) for line in lines]
    assert plainly(lines, "rouge") == expected
    assert TokenBatch.from_text(lines * 40, "rouge").to_tokens() == expected * 40


def test_stems():
    peer = DefaultTokenizer(use_stemmer=True)
    words = DefaultTokenizer().tokenize(WORDS)
    assert [stem(word) for word in words] == peer.tokenize(WORDS)


def test_sentences():
    end = SENTENCE_END
    assert tokens("A b.\nC! d", "lines+rouge") == ["a", "b", end, "c", "d", end]
    assert tokens("A b.\nC! D", "sentences+rouge") == ["a", "b", end, "c", end, "d", end]
    assert tokens("A. b.\n\n***", "lines+none") == ["A.", "b.", end, end, "***", end]
    assert tokens("***", "lines+rouge") == [end]
    assert tokens(" \n ", "lines+rouge") == []
    assert tokens("A b!", "sentences+13a") == ["A", "b", "!", end]
