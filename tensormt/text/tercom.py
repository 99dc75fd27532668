"""Tokens of TER: what Tercom's normaliser (Snover et al. 2006) does, as sacrebleu applies it.

    tercom-normalized            entities replaced, punctuation cut off, possessives too
    tercom-normalized-asian      and every ideograph a token of its own
    tercom-no_punct              .,?:;!"() removed
    tercom-no_punct-asian        and the punctuation of Chinese and Japanese
    tercom-normalized-no_punct   both, with or without -asian

Case is no matter of the tokeniser. Without any of these text is cut at white space ("none").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# one substitution after the other, on a line between two blanks; the last three as in mteval-v13a
_WESTERN = (
    (re.compile(r"([\x20-&(-+/:-@\[-`{-~])"), r" \1 "),
    (re.compile(r"'s "), " 's "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])-"), r"\1 - "),
)
_ASIAN_MARKS = (
    r"\u3001\u3002\u3008-\u3011\u3014-\u301f\u30fb\uff61-\uff65"
    r"\uff01\uff02\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f"  # full width
)
# radicals, strokes, compatibility forms and ideographs; kana is not cut
_IDEOGRAPHS = r"\u2e80-\u2eff\u31c0-\u31ef\u3200-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f"
_ASIAN = re.compile(f"([{_IDEOGRAPHS}{_ASIAN_MARKS}])")
_PUNCTUATION = re.compile(r"[.,?:;!\"()]")
_ASIAN_PUNCTUATION = re.compile(f"[{_ASIAN_MARKS}]")


def name_of(normalized: bool, no_punct: bool, asian: bool) -> str:
    """Return the name of the tokeniser with these options of TER.

    >>> name_of(True, False, True)
    'tercom-normalized-asian'
    >>> name_of(False, False, True)
    'none'
    """
    if not (normalized or no_punct):
        return "none"
    parts = ("normalized", normalized), ("no_punct", no_punct), ("asian", asian)
    return "-".join(["tercom", *(part for part, wanted in parts if wanted)])


def _cut(line: str, normalized: bool, no_punct: bool, asian: bool) -> list[str]:
    """The tokens of a line."""
    line = line.rstrip()
    if normalized:
        line = line.replace("\n-", "").replace("\n", " ")
        for entity, symbol in _ENTITIES:
            line = line.replace(entity, symbol)
        line = f" {line} "
        for pattern, replacement in _WESTERN:
            line = pattern.sub(replacement, line)
        if asian:
            line = _ASIAN.sub(r" \1 ", line)
    if no_punct:
        line = _PUNCTUATION.sub("", line)
        if asian:
            line = _ASIAN_PUNCTUATION.sub("", line)
    return line.split()


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    name_of(*options): partial(_cut, normalized=options[0], no_punct=options[1], asian=options[2])
    for options in product((False, True), repeat=3)
    if options[0] or options[1]
}
