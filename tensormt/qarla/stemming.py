"""Porter's stemmer: English words to their stems ("An algorithm for suffix stripping", 1980).

A word is [C](VC)^m[V] with C, V runs of consonants and vowels; m is its measure. Five steps take
off or replace suffixes under conditions on the stem that is left. The rules are the paper's;
words of one or two letters stay as they are, as in Porter's own program.
"""

from functools import lru_cache

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "abli": "able", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def _kinds(word: str) -> str:
    """Spell a word in c and v; y is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == "c")
        kinds += "v" if vowel else "c"
    return kinds


def _measure(stem: str) -> int:
    return _kinds(stem).count("vc")


def _double(word: str) -> bool:
    """Does the word end in a double consonant?"""
    return len(word) > 1 and word[-1] == word[-2] and _kinds(word)[-1] == "c"


def _short(word: str) -> bool:
    """Does the word end consonant-vowel-consonant, the last not w, x or y?"""
    return _kinds(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _longest(word: str, suffixes: tuple[str, ...]) -> str | None:
    """Return the longest suffix the word ends in."""
    return max((s for s in suffixes if word.endswith(s)), key=len, default=None)


def _step_1a(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    suffix = _longest(word, ("ed", "ing"))
    if suffix is None or "v" not in _kinds(word[: -len(suffix)]):
        return word
    stem = word[: -len(suffix)]
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _double(stem) and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short(stem) else stem


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and "v" in _kinds(word[:-1]) else word


def _replace(word: str, table: dict[str, str]) -> str:
    suffix = _longest(word, tuple(table))
    if suffix is None or _measure(word[: -len(suffix)]) == 0:
        return word
    return word[: -len(suffix)] + table[suffix]


def _step_4(word: str) -> str:
    suffix = _longest(word, _STEP_4)
    if suffix is None:
        return word
    stem = word[: -len(suffix)]
    kept = _measure(stem) < 2 or (suffix == "ion" and not stem.endswith(("s", "t")))
    return word if kept else stem


def _step_5(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; words of one or two letters stay."""
    if len(word) <= 2:
        return word
    word = _step_1c(_step_1b(_step_1a(word)))
    return _step_5(_step_4(_replace(_replace(word, _STEP_2), _STEP_3)))
