"""Text to tokens in plain Python, line by line: for a few lines.

The tokens are those of `tensormt.text.tokenizer`, which works on whole buffers of bytes and needs
numpy and Arrow. This module imports neither of them, nor torch. A line of single characters is kept
as a string, which is a sequence of its characters.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from tensormt.data.coercion import lone_surrogate
from tensormt.errors import TensorMTError
from tensormt.options import describe
from tensormt.text import tercom
from tensormt.text.rouge_tokens import SENTENCE_END, SPLITTERS, tokenize_rouge

Row = Sequence[str]  # the tokens of a line; a string where each character is a token

# every character but white space, every character, and all but white space at the ends
CHARACTERS = ("char", "letters", "stripped")
WITH_SPACE = ("letters", "stripped", "spaced")  # those that keep white space
NATIVE = ("13a", "none", "blanks", *CHARACTERS, "spaced", "rouge")
# The token of a line that has text, but none that its tokeniser keeps (TER without punctuation,
# ROUGE): so that such a reference is present, not absent. A code point that is no character.
NO_TOKEN = "\ufdd0"

# what 13a puts white space around, where no period or comma stands beside another
_ALONE = re.compile(
    r"""(
        [!-/:-@\[-`{-~]                        # a symbol of ASCII:
        (?: (?<= [^'\-.,])                     # any but these,
          | (?<= [.,]) (?: (?<! [0-9].) | (?! [0-9]))  # a period or comma not between digits,
          | (?<= [0-9]-)                       # a dash after a digit
        )
    )""",
    re.VERBOSE,
)
_ADJACENT = re.compile(r"[.,][.,]")
# the successive substitutions of mteval-v13a.pl, which take adjacent periods and commas in pairs
_MTEVAL = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_RUNS = re.compile(r"\s+|\S+")
_TWO_OR_MORE = re.compile(r"\s\s+")
# white space other than the blank: alone between two letters it separates no words in jiwer
OTHER_SPACE = [chr(code) for code in range(0x3001) if chr(code).isspace() and code != ord(" ")]


def tokenize_13a(line: str) -> list[str]:
    """Cut a line as mteval-v13a.pl does, in the form in which sacrebleu applies it.

    >>> tokenize_13a("It costs $1,000.50 (or 5-6%), don't")
    ['It', 'costs', '$', '1,000.50', '(', 'or', '5', '-', '6', '%', ')', ',', "don't"]
    """
    line = line.rstrip()
    if "<" in line:
        line = line.replace("<skipped>", "")
    if "\n" in line:
        line = line.replace("-\n", "").replace("\n", " ")
    if "&" in line:
        line = line.replace("&quot;", '"').replace("&amp;", "&")
        line = line.replace("&lt;", "<").replace("&gt;", ">")
    if not _ADJACENT.search(line):
        return " ".join(_ALONE.split(line)).split()
    line = f" {line} "
    for pattern, replacement in _MTEVAL:
        line = pattern.sub(replacement, line)
    return line.split()


def tokenize_blanks(line: str) -> list[str]:
    """Cut a line at blanks and at two or more characters of white space, as jiwer does.

    >>> tokenize_blanks("the US\\u00a0airspace  of\\t old")
    ['the', 'US\\xa0airspace', 'of', 'old']
    """
    return [word for word in _TWO_OR_MORE.sub(" ", line).strip().split(" ") if word]


def _without_space(line: str) -> str:
    return "".join(line.split())


def _present(cut: Callable[[str], list[str]], line: str) -> list[str]:
    """The tokens of a line; NO_TOKEN where it has text, but no token."""
    return cut(line) or ([NO_TOKEN] if line.strip() else [])


def _with_sentences(
    split: Callable[[str], Sequence[str]], cut: Callable[[str], Row], text: str
) -> list[str]:
    """The tokens of each sentence, and SENTENCE_END behind it; none for a blank text."""
    found: list[str] = []
    for sentence in split(text) if text.strip() else ():
        found += [token for token in cut(sentence) if token != NO_TOKEN]
        found.append(SENTENCE_END)
    return found


_TOKENIZERS: dict[str, Callable[[str], Row]] = {
    "13a": tokenize_13a,
    "none": str.split,
    "blanks": tokenize_blanks,
    "char": _without_space,
    "letters": str,
    "stripped": str.strip,
    "spaced": _RUNS.findall,
    "rouge": partial(_present, tokenize_rouge),
    **{name: partial(_present, cut) for name, cut in tercom.TOKENIZERS.items()},
}


def tokenize(
    lines: Sequence[str | bytes | None], name: str = "13a", lowercase: bool = False
) -> list[Row] | None:
    """Cut lines into tokens.

    Args:
        lines: One string a segment; None is an absent line.
        name: One of `NATIVE`, or the name of a tokeniser of sacrebleu.
        lowercase: Whether the text is put in lower case before it is cut.

    Returns:
        The tokens of each line; None where a line is not a string or contains a lone surrogate:
        the vectorised tokeniser reads bytes, and raises where the text is invalid.
    """
    texts: list[str] = []
    for line in lines:
        if line is None:
            line = ""
        elif type(line) is not str or (not line.isascii() and lone_surrogate(line)):
            return None
        texts.append(line.lower() if lowercase else line)
    cut = line_tokenizer(name)
    return [cut(line) for line in texts]


def line_tokenizer(name: str) -> Callable[[str], Row]:
    """Return the function that cuts a line; `lines+NAME`, `sentences+NAME`: by sentences.

    Args:
        name: One of `NATIVE`, of `tensormt.text.tercom`, or of sacrebleu.
    """
    if name in _TOKENIZERS:
        return _TOKENIZERS[name]
    split, plus, rest = name.partition("+")
    if plus and split in SPLITTERS:
        return partial(_with_sentences, SPLITTERS[split], line_tokenizer(rest))
    other = foreign(name)
    return lambda line: other(line.rstrip()).split()


def is_by_line(name: str) -> bool:
    """Whether there is no vectorised form of a tokeniser of this package."""
    return name in tercom.TOKENIZERS or "+" in name


def lower(row: Row) -> Row:
    """Put every token in lower case by itself.

    A character that becomes two (İ) stays one token, and a Σ does not know that it ends a word.
    """
    if not isinstance(row, str):
        return [token.lower() for token in row]
    characters = [character.lower() for character in row]
    joined = "".join(characters)
    return joined if len(joined) == len(row) else characters


def split_punctuation(word: str) -> list[str]:
    """Cut a word as chrF++ does in sacrebleu: punctuation off its end, else off its start.

    White space, where it is kept as a token, is no word.
    """
    if len(word) > 1 and word[-1] in string.punctuation:
        return [word[:-1], word[-1]]
    if len(word) > 1 and word[0] in string.punctuation:
        return [word[0], word[1:]]
    return [] if word.isspace() else [word]


def check_name(name: str) -> None:
    """Raise unless the tokeniser is one of ours or one that sacrebleu knows."""
    if not isinstance(name, str):
        raise TensorMTError(f"tokenize is {describe(name)}, expected a tokeniser's name")
    line_tokenizer(name)


@lru_cache(maxsize=32)
def foreign(name: str) -> Any:
    """Return a tokeniser of sacrebleu by its name there."""
    try:
        from sacrebleu.metrics import bleu
    except ImportError:
        raise TensorMTError(
            f"tokeniser {name!r} is not one of {', '.join(NATIVE)}, and sacrebleu, which has "
            "others, is not installed: pip install 'tensormt[tokenizers]'"
        ) from None
    if name not in bleu.BLEU.TOKENIZERS:
        known = ", ".join(dict.fromkeys((*NATIVE, *bleu.BLEU.TOKENIZERS)))
        raise TensorMTError(f"unknown tokeniser {name!r}: choose one of {known}")
    try:
        return bleu.BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError, OSError) as error:
        raise TensorMTError(
            f"sacrebleu cannot start its tokeniser {name!r} ({error}): install what it asks for"
        ) from None
