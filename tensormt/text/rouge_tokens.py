"""Tokens of ROUGE: runs of a-z and 0-9 of the text in lower case, as in rouge-score; stems.

The stems are those of nltk's Porter stemmer (with its extensions of the algorithm), of words of
more than three letters, as in rouge-score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from tensormt.text.nltk_import import porter_stemmer
from tensormt.text.sentences import split_text

SENTENCE_END = "\n"  # a token of its own behind every sentence
_WORDS = re.compile(r"[a-z0-9]+")


def tokenize_rouge(line: str) -> list[str]:
    """Cut a line as rouge-score does.

    >>> tokenize_rouge("Don't, it's 1.5!")
    ['don', 't', 'it', 's', '1', '5']
    """
    return _WORDS.findall(line.lower())


def _sentences(text: str) -> list[str]:
    return [sentence for line in text.split("\n") for sentence in split_text(line)]


# how text is cut into sentences, which a tokeniser then cuts into tokens: lines+rouge
SPLITTERS: dict[str, Callable[[str], Sequence[str]]] = {
    "lines": lambda text: text.split("\n"),
    "sentences": _sentences,
}


@lru_cache(1 << 18)
def stem(word: str) -> str:
    """Return the stem of a word of more than three letters, other words as they are.

    >>> stem("relational"), stem("ties")
    ('relat', 'tie')
    """
    return _stemmer().stem(word) if len(word) > 3 else word


_stemmer = cache(porter_stemmer)
