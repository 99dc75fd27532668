"""Whether texts are in a language that a parser was trained on, by their letters and words.

Texts are compared with the training data of the parser: if most of their letters are in a script
that is not in it, trees are worthless; if many of their words are not in its vocabulary, they are
probably in another language of the same script. For the embedded English parser the share of
unknown words is 2 to 10% on English test sets of several domains, and 43% (French) to 87% (Finnish)
on the test sets of 13 other treebanks in Latin script (`experiments/unknown_words.py`).
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tensormt.errors import TensorMTError, TensorMTWarning
from tensormt.options import describe
from tensormt.text.words import script

__all__ = ["LanguageCheck", "check_code"]

_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 200  # texts that are looked at
_MIN_LETTERS = 10
_MIN_WORDS = 30
_MAX_UNKNOWN = 0.3  # share of unknown words above which the language is doubted


def check_code(lang: Any) -> None:
    """Raise a TensorMTError unless a value may be the code of a language, or None."""
    if lang is not None and not isinstance(lang, str):
        raise TensorMTError(f"lang is {describe(lang)}, expected a code such as 'de'")


@dataclass(frozen=True)
class LanguageCheck:
    """The training data of a parser, with which texts are compared.

    Args:
        parser: Name of the parser, for messages.
        scripts: Scripts of the training data, as Unicode names them.
        words: Vocabulary in lower case; None: words are not looked at.

    >>> check = LanguageCheck("english", frozenset({"LATIN"}))
    >>> check.unknown_script(["A Latin text."])
    ''
    >>> check.unknown_script(["Это предложение написано по-русски."])[:38]
    'the text is in a script (CYRILLIC) tha'
    """

    parser: str
    scripts: frozenset[str]
    words: Collection[str] | None = None

    def require_script(self, texts: Sequence[str | None]) -> None:
        """Raise a TensorMTError if most letters are in an unknown script."""
        trouble = self.unknown_script(texts)
        if trouble:
            raise TensorMTError(
                f"{trouble}, or switch the check of the language off to parse it all the same",
                options="lang parser no_language_check",
            )

    def warn(self, texts: Sequence[str | None]) -> bool:
        """Warn if texts are in an unknown script or have many unknown words.

        Returns:
            Whether there was a warning.
        """
        trouble = self.unknown_script(texts) or self.unknown_words(texts)
        if trouble:
            warnings.warn(TensorMTWarning(trouble, options="lang parser"), stacklevel=3)
        return bool(trouble)

    def unknown_script(self, texts: Sequence[str | None]) -> str:
        """Return a message if most letters are in an unknown script, else an empty text."""
        text = _sample(texts)
        if text.isascii() and "LATIN" in self.scripts:
            return ""
        counts = Counter(filter(None, map(script, text)))
        unseen = {name: n for name, n in counts.items() if name not in self.scripts}
        total = counts.total()
        if total < _MIN_LETTERS or 2 * sum(unseen.values()) <= total:
            return ""
        names = ", ".join(sorted(unseen, key=lambda name: -unseen[name])[:3])
        return (
            f"the text is in a script ({names}) that the parser {self.parser} was not trained on "
            f"({', '.join(sorted(self.scripts))}): set the language, use another parser"
        )

    def unknown_words(self, texts: Sequence[str | None]) -> str:
        """Return a message if many words are not in the vocabulary, else an empty text."""
        if self.words is None:
            return ""
        found = [word.lower() for word in _WORD.findall(_sample(texts))]
        unknown = sum(word not in self.words for word in found)
        if len(found) < _MIN_WORDS or unknown <= _MAX_UNKNOWN * len(found):
            return ""
        return (
            f"{unknown / len(found):.0%} of the words are unknown to the parser {self.parser}: the "
            "text seems to be in another language; set the language, or use another parser"
        )


def _sample(texts: Sequence[str | None]) -> str:
    """Some of the texts, joined."""
    return "\n".join(filter(None, texts[:: max(1, len(texts) // _SAMPLE)]))
