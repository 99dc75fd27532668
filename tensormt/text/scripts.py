"""The script of letters, by the Unicode character database.

A script is the first word of a letter's Unicode name in its compatibility form (NFKC): LATIN,
CYRILLIC, ARABIC, …. Han characters, kana and bopomofo are one group (CJK), as Japanese and Chinese
text mixes them.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

_CJK = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "IDEOGRAPHIC"})


@lru_cache(1 << 16)
def script(character: str) -> str:
    """Return the script of a letter, "" for any other character.

    >>> script("é"), script("ж"), script("の"), script("7")
    ('LATIN', 'CYRILLIC', 'CJK', '')
    """
    plain = unicodedata.normalize("NFKC", character)[:1]
    if not (character.isalpha() and plain.isalpha()):
        return ""
    name = unicodedata.name(plain, "").partition(" ")[0]
    return "CJK" if name in _CJK else name


def script_counts(text: str) -> Counter[str]:
    """Count the letters of a text by script.

    >>> sorted(script_counts("BBC: новости").items())
    [('CYRILLIC', 7), ('LATIN', 3)]
    """
    return Counter(filter(None, map(script, text)))
