"""Tokens of TER against sacrebleu's TercomTokenizer."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer
from text_samples import PIECES, texts

from tensormt.text.plain_tokens import NO_TOKEN
from tensormt.text.plain_tokens import tokenize as plainly
from tensormt.text.tercom import name_of
from tensormt.text.tokens import TokenBatch

ASIAN = [
    *"、。〈】〔〟｡･・．，？：；！＂（）漢字ひらカタㇰ㈀㍿豈︰⺀㇀㐀",
    "it's",
    "'s",
    " 's ",
    "\n-",
    "5-6",
]
LINES = st.lists(
    st.one_of(texts, st.lists(st.sampled_from(ASIAN + PIECES), max_size=12).map("".join)),
    max_size=6,
)


@pytest.mark.parametrize("options", list(product([False, True], repeat=3)))
@settings(max_examples=200, deadline=None)
@given(lines=LINES)
def test_equal_to_sacrebleu(options, lines):
    peer = TercomTokenizer(*options, case_sensitive=True)
    expected = [peer(line.rstrip()).split() for line in lines]
    name = name_of(*options)
    if name != "none":  # text without a token is present
        pairs = zip(expected, lines, strict=True)
        expected = [own or ([NO_TOKEN] if line.strip() else []) for own, line in pairs]
    assert plainly(lines, name) == expected
    assert TokenBatch.from_text(lines * 40, name).to_tokens() == expected * 40


def test_lower_case_comes_first():
    """A Σ before a point and a letter does not end a word, though the point is cut off."""
    line = "ΑΣ.Α"
    peer = TercomTokenizer(normalized=True)
    [found] = TokenBatch.from_text([line], "tercom-normalized", lowercase=True).to_tokens()
    assert found == peer(line).split() == ["ασ", ".", "α"]
