"""How a dependency model of several languages reads words: language, spelling, script.

The language enters a stock supar model twice without changing it: the root symbol of a sentence is
the word `<de>`, and every word is spelt with the character `<de>` before its own ones (`<bos>`, in
a model that knows of no languages). Hangul is spelt in letters. Of a long word its beginning and
its end are read, `spelling` characters in all.
"""

import unicodedata
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.parser.model import SPECIALS, Settings
from tensormt.text.words import letters_of


def symbol(lang: str) -> str:
    """The root word and first character of a language."""
    return f"<{lang}>" if lang else SPECIALS[2]


def spell(word: str, limit: int) -> list[str]:
    """The characters of a word, Hangul as letters; of a long word its beginning and its end."""
    if not word.isascii() and any("가" <= char <= "힣" for char in word):
        word = "".join(
            unicodedata.normalize("NFD", char) if "가" <= char <= "힣" else char for char in word
        )
    if len(word) > limit:
        word = word[: limit // 2] + word[-(limit - limit // 2) :]
    return list(word)


class Speller:
    """Words as numbers, by the settings of a model."""

    def __init__(self, settings: Settings) -> None:
        self.words = {word: i for i, word in enumerate(settings["words"])}
        self.chars = {char: i for i, char in enumerate(settings["chars"])}
        self.limit: int = settings["spelling"]

    def __call__(self, types: list[tuple[str, str]]) -> tuple[Tensor, Tensor]:
        """Word ids int64 [U] and characters int64 [U,C] (0 fills up) of (language, word).

        An empty word is the root of its language.
        """
        ids = [self.words.get(word.lower() if word else symbol(lang), 1) for lang, word in types]
        chars, limit = self.chars, self.limit
        spelt = [(symbol(lang), *spell(word, limit)) for lang, word in types]
        sizes = np.fromiter(map(len, spelt), np.int64, len(spelt))
        flat = [chars.get(char, 1) for row in spelt for char in row]
        rows = np.zeros((len(types), limit + 1), np.int64)
        rows[np.arange(limit + 1) < sizes[:, None]] = flat
        return torch.tensor(ids, device="cpu"), torch.from_numpy(rows)


def scripts(settings: dict[str, Any], lang: str) -> frozenset[str]:
    """The scripts that a model has seen in a language, or at all where it does not say."""
    listed = settings.get("scripts", {}).get(lang)
    if listed is not None:
        return frozenset(listed)
    chars = (char for char in settings["chars"] if len(char) == 1)
    return frozenset(filter(None, map(letters_of, chars)))
