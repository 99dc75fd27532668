"""Character features of dependency models of several languages, and the scripts of languages.

The language is an input of an unmodified supar model in two places: the root symbol of a sentence
is the word `<de>`, and the first character of every word is `<de>` (`<bos>` in a model without
languages). Hangul syllables are decomposed into letters. Of a long word the beginning and the end
are read, `spelling` characters in total (a key of the model's settings).
"""

import unicodedata
from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.parser.model import SPECIALS, Settings
from tensormt.text.words import letters_of


def language_symbol(lang: str) -> str:
    """Return the root word and first character of a language.

    >>> language_symbol("de"), language_symbol("")
    ('<de>', '<bos>')
    """
    return f"<{lang}>" if lang else SPECIALS[2]


def word_characters(word: str, limit: int) -> list[str]:
    """Return the characters of a word, of which at most `limit` from its beginning and its end.

    >>> "".join(word_characters("Donaudampfschiff", 6))
    'Doniff'
    """
    if not word.isascii() and any("가" <= char <= "힣" for char in word):
        word = "".join(
            unicodedata.normalize("NFD", char) if "가" <= char <= "힣" else char for char in word
        )
    if len(word) > limit:
        word = word[: limit // 2] + word[-(limit - limit // 2) :]
    return list(word)


class CharFeatures:
    """Converts words to word and character ids, by the settings of a model."""

    def __init__(self, settings: Settings) -> None:
        self.words = {word: i for i, word in enumerate(settings["words"])}
        self.chars = {char: i for i, char in enumerate(settings["chars"])}
        self.limit: int = settings["spelling"]

    def __call__(self, types: list[tuple[str, str]]) -> tuple[Tensor, Tensor]:
        """Convert pairs of language and word; an empty word is the root of its language.

        Returns:
            Word ids int64 [U] and character ids int64 [U,C], padded with 0.
        """
        ids = [
            self.words.get(word.lower() if word else language_symbol(lang), 1)
            for lang, word in types
        ]
        chars, limit = self.chars, self.limit
        words = [(language_symbol(lang), *word_characters(word, limit)) for lang, word in types]
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        flat = [chars.get(char, 1) for row in words for char in row]
        rows = np.zeros((len(types), limit + 1), np.int64)
        rows[np.arange(limit + 1) < sizes[:, None]] = flat
        return torch.tensor(ids, device="cpu"), torch.from_numpy(rows)


def known_scripts(settings: dict[str, Any], lang: str = "") -> frozenset[str]:
    """Return the scripts of a language in a model's training data; if unknown, of all its data.

    A script counts if at least 1% of the model's words are written in it: a few foreign letters do
    not make a language.
    """
    listed = settings.get("scripts", {}).get(lang)
    if listed is not None:
        return frozenset(listed)
    counts = Counter(filter(None, map(letters_of, settings["words"])))
    return frozenset(name for name, count in counts.items() if 100 * count >= counts.total())
