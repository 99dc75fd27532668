"""The byte tokeniser against the regular expressions of mteval-v13a, and against sacrebleu."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from text_samples import texts

from tensormt.errors import TensorMTError
from tensormt.text.plain_tokens import CHARACTERS, check_name
from tensormt.text.tokenizer import characters, decode, tokenize


def tokens(lines: list[str], name: str = "13a", lowercase: bool = False) -> list[list[str]]:
    if name in CHARACTERS:
        codes, lengths = characters(lines, name, lowercase)
        flat = map(chr, codes.tolist())
    else:
        strings, lengths = tokenize(lines, name, lowercase)
        flat = iter(strings.to_pylist())
    split = [[next(flat) for _ in range(n)] for n in lengths.tolist()]
    assert next(flat, None) is None
    return split


def mteval(line: str) -> list[str]:
    """The tokenisation of mteval-v13a.pl, substitution by substitution."""
    line = line.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, symbol in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        line = line.replace(entity, symbol)
    line = f" {line} "
    line = re.sub(r"([{-~\[-` -&(-+:-@/])", r" \1 ", line)
    line = re.sub(r"([^0-9])([.,])", r"\1 \2 ", line)
    line = re.sub(r"([.,])([^0-9])", r" \1 \2", line)
    line = re.sub(r"([0-9])(-)", r"\1 \2 ", line)
    return line.split()


def test_known_lines() -> None:
    lines = {
        "The gunman was shot to death by the police.": (
            "The gunman was shot to death by the police ."
        ),
        "It costs $1,000.50 (or 5-6%), don't": "It costs $ 1,000.50 ( or 5 - 6 % ) , don't",
        "a.b 1.5 .5 5. 1..5 1...5": "a . b 1.5 . 5 5 . 1 . . 5 1 . . .5",
        "a..5 a...5": "a . .5 a . . . 5",
        "&quot;AT&amp;T&quot; &lt;b&gt; &amp;lt;": '" AT & T " < b > <',
        "non\xa0breaking\u3000wide\u2028line\x1cfile zero\u200bwidth": (
            "non breaking wide line file zero\u200bwidth"
        ),
    }
    assert tokens(list(lines)) == [expected.split(" ") for expected in lines.values()]


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, max_size=8), st.booleans())
def test_13a_equals_mteval_and_sacrebleu(lines: list[str], lowercase: bool) -> None:
    ours = tokens(lines, "13a", lowercase)
    cased = [line.lower() if lowercase else line for line in lines]
    assert ours == [mteval(line) for line in cased]
    assert ours == [Tokenizer13a()(line.rstrip()).split() for line in cased]


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, max_size=8), st.booleans())
def test_white_space_and_characters(lines: list[str], lowercase: bool) -> None:
    cased = [line.lower() if lowercase else line for line in lines]
    assert tokens(lines, "none", lowercase) == [line.split() for line in cased]
    assert tokens(lines, "char", lowercase) == [
        [letter for letter in line if not letter.isspace()] for line in cased
    ]
    assert tokens(lines, "letters", lowercase) == [list(line) for line in cased]


def test_every_character_of_white_space() -> None:
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    assert len(spaces) == 29
    for name in ("13a", "none", "char"):
        assert tokens([f"a{space}b" for space in spaces], name) == [["a", "b"]] * len(spaces)


def test_many_lines_and_a_long_one() -> None:
    lines = [f"line {number}, of {number / 7:.3f}." for number in range(3000)]
    lines[1234] = "word, " * 20_000
    ours = tokens(lines)
    assert ours == [mteval(line) for line in lines]
    assert len(ours[1234]) == 40_000


def test_nothing() -> None:
    assert tokens([]) == []
    assert tokens(["", " ", "\n", "<skipped>"]) == [[], [], [], []]
    strings, lengths = tokenize([None, b"caf\xc3\xa9", "x"], "13a")
    assert (strings.to_pylist(), lengths.tolist()) == (["café", "x"], [0, 1, 1])


def test_other_tokenisers_come_from_sacrebleu() -> None:
    assert tokens(["Ab,c $5"], "intl", True) == [["ab", ",", "c", "$", "5"]]
    assert tokens(["你好 world"], "zh") == [["你", "好", "world"]]
    with pytest.raises(TensorMTError, match="unknown tokeniser 'nonsense': choose one of 13a"):
        check_name("nonsense")


def test_bad_bytes_name_their_line() -> None:
    with pytest.raises(TensorMTError, match="line 2: byte 0xff is not UTF-8"):
        tokenize(["fine", b"ab\xff"])
    with pytest.raises(TensorMTError, match=r"line 701: character .* has no UTF-8 form"):
        tokenize(["fine"] * 700 + ["lone \ud800 surrogate"])
    with pytest.raises(TensorMTError, match="line 2 is int, expected str"):
        tokenize(["fine", 5])  # type: ignore[list-item]
    with pytest.raises(TensorMTError, match=r"hyp.txt, line 3: byte 0x80 is not UTF-8"):
        decode(b"one\ntwo\nthr\x80ee\n", "hyp.txt")


def test_lines_end_at_line_feeds_only() -> None:
    assert decode("a\u2028b\x0cc\r\n\nlast".encode()) == ["a\u2028b\x0cc", "", "last"]
    assert decode(b"") == []
    assert decode(b"\n\n") == ["", ""]
