"""Raw text to the words of Universal Dependencies treebanks, by a few rules for each language.

A token is an address, a word or number with what joins its parts, a run of equal marks (`...`
`--` `!!`) or a single other character. White space always cuts. What joins and what cuts follows
the surface tokens of the treebanks that the embedded models learnt from:

- **hyphens** join words (`Noord-Holland`), but cut in `_CUT_HYPHENS` (German: `EU - Staat`);
  French cuts before a clitic (`a | -t-il`), Romanian beside one (`s- | a`);
- **apostrophes** join (`don't`, Turkish `Ankara'da`), but end a word in `_ELISION` (`l' | homme`);
- **points** stay inside numbers, addresses and `U.S`; at the end of a word they stay with known
  abbreviations, single capitals and abbreviations with a point inside, and with ordinals (`3. Mai`)
  in `_ORDINALS`; where the treebanks write them apart (`_APART`) they never do;
- letters take combining marks along, as Devanagari needs it.

Sentences are those of `tensormt.text.sentences`, with the abbreviations and ordinals of the
language. A language without an entry here has the common rules.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from tensormt.text.sentences import ABBREVIATIONS, split_text, whole

_KNOWN = {
    "cs": "atd apod např tzv tj tzn resp popř mj čl odst písm sb č str tel ing mgr dr prof mudr",
    "de": "bzw ca chr co dipl dr etc evtl ggf hl hr inkl jh jhd jr mio mrd mr mrs nr prof rd s sog "
    "st std str tel u usw v vgl z zzgl bspw geb gest max min bes allg",
    "en": " ".join(sorted(ABBREVIATIONS)),
    "es": "etc dr dra sr sra ud uds núm pág págs prof av ee uu d p ej",
    "fi": "ekr jkr mm ns esim ym yms jne ks vrt nro prof tri st mr mrs n s",
    "fr": "etc dr m mm mr mgr prof av apr st ste cf éd vol art n",
    "hi": "डॉ श्री प्रो",
    "is": "hv hæstv þm kr nr mín sbr ma sl ehf hf þ e m a s k o fl frh skv dr",
    "it": "ecc dott prof sig sigg ing avv art pag pp dr on n",
    "nl": "nr mr dr drs ir ing prof st bv nv ca resp jl mln mld blz enz bijv o a",
    "pl": "np itd itp tzw tj m in dr prof inż ul św r w nr str godz ok ww",
    "pt": "etc sr sra dr dra prof pág págs dom sáb mr av n art ex exa v exmo",
    "ro": "nr al art etc dr prof dl dna alin lit pag str",
    "ru": "г гг см тыс ст др фр гр млн млрд вв кв в т е д п н э им ул стр напр проф руб коп",
    "sv": "st bl t ex kl dr prof nr m fl osv ca resp",
    "tr": "dr prof doç vb vs yy st no av alb yrd bkz sn",
    "uk": "м р рр ст див тис млн млрд ім вул напр проф т зв п н е др",
}
_ROMAN = re.compile(r"[IVXLC]+")
_ORDINALS = frozenset("cs da de fi fo hr hu is nb nn no sk sl sr tr et".split())
_APART = frozenset("cs it pl uk hi ko".split())  # points are tokens of their own
_CUT_HYPHENS = frozenset("de en hi ko tr".split())
_ELISION = frozenset("fr it ca oc".split())
_WHOLE = frozenset("aujourd'hui prud'homme prud'hommes quelqu'un quelqu'une".split())
_CLITIC = re.compile(
    r"-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en)$", re.IGNORECASE
)
_PROCLITICS = frozenset("s l m i v n c ne le mi ți te într dintr printr de".split())
_HANGING = frozenset("da fi is nb nl nn no sv".split())  # `zon- en feestdagen`
_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"]*[\w/]")
_LOCAL = re.compile(r"[\w.+-]+")  # what stands before the @ of an e-mail address
_DOMAIN = re.compile(r"@[\w-]+(?:\.[\w-]+)+")
_NOWHERE = range(sys.maxsize, sys.maxsize)
_MARKS = r"\.{2,}|-{2,}|[!?]{2,}|\*+|=+|~+|`+|'{2,}"
_SPACE = re.compile(r"\s+")


@cache
def _combining() -> str:
    """A character class of all combining marks and joiners, as ranges."""
    codes = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")
    ] + [0x200C, 0x200D, 0x00AD]
    codes.sort()
    starts = [a for a, before in zip(codes, [-2, *codes], strict=False) if a != before + 1]
    ends = [a for a, after in pairwise([*codes, -2]) if after != a + 1]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))


@cache
def _pattern(lang: str) -> re.Pattern[str]:
    """What a token of the language is."""
    letter = rf"[\w{_combining()}]"
    number = r"\d+(?:[.,:/]\d+)+"
    part = rf"(?:{number}(?!{letter})|{letter}+)"
    joins = "." if lang == "ko" else ".'’ʼ·&" + ("" if lang in _CUT_HYPHENS else "‑-")
    joins += ":" if lang in ("fi", "sv") else ""
    hang = r"(?:-(?=\s))?" if lang in _HANGING else ""
    word = rf"(?P<word>{part}(?:[{re.escape(joins)}]{part})*{hang})(?P<point>\.(?!\.))?"
    return re.compile(rf"{_LINK.pattern}|[#@]\w+|{word}|{_MARKS}|\S")


def _tokens(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """The tokens of a text, and their match; None for e-mail addresses.

    Where an address can start is found first: if it were tried at every token, a long run of what
    may stand before an @ would be read as often as it has tokens.
    """
    addresses = _addresses(text) if "@" in text else iter(())
    local, end = next(addresses, (_NOWHERE, 0))
    at = 0
    while match := pattern.search(text, at):
        start = match.start()
        while local.stop <= start:
            local, end = next(addresses, (_NOWHERE, 0))
        if start in local and not _LINK.match(text, start):
            yield text[start:end], None
            at = end
        else:
            yield match[0], match
            at = match.end()


def _addresses(text: str) -> Iterator[tuple[range, int]]:
    """The places at which an e-mail address can start, before its @, and its end."""
    for run in _LOCAL.finditer(text):
        if text.startswith("@", run.end()) and (domain := _DOMAIN.match(text, run.end())):
            yield range(run.start(), run.end()), domain.end()


@dataclass(frozen=True)
class Words:
    """The text rules of a language: sentences, and tokens as its treebanks have them."""

    lang: str = ""

    @property
    def _known(self) -> frozenset[str]:
        return _abbreviations(self.lang)

    def sentences(self, text: str) -> list[str]:
        """The sentences of a segment of raw text."""
        return split_text(text, self._known, self.lang in _ORDINALS)

    def tokens(self, sentence: str) -> list[str]:
        """The words of one sentence of raw text, spelt as in the text."""
        found: list[str] = []
        end = len(sentence.rstrip())
        for token, match in _tokens(_pattern(self.lang), sentence):
            if match is None or match["word"] is None:
                found.append(token)
                continue
            parts = self._parts(match["word"])
            if match["point"]:
                last = match.end() >= end
                parts += [parts.pop() + "."] if self._keeps_point(parts[-1], last) else ["."]
            found += parts
        return [self.token(token) for token in found]

    def token(self, token: str) -> str:
        """A token as it can stand in a tree: no white space, nothing unencodable."""
        return whole(token)

    def _keeps_point(self, word: str, last: bool) -> bool:
        """Whether a point belongs to the word before it; `last`: the sentence ends there."""
        if self.lang in _APART:
            return False
        if word.isdecimal() or _ROMAN.fullmatch(word):
            return self.lang in _ORDINALS and not last and len(word) < 3
        if len(word) == 1 and word.isupper():
            return not last
        return word.lower() in self._known or ("." in word and word.replace(".", "").isalpha())

    def _parts(self, word: str) -> list[str]:
        """A word with hyphens and apostrophes as the language cuts it."""
        if self.lang in _ELISION and ("'" in word or "’" in word):
            if word.lower().replace("’", "'") in _WHOLE:
                return [word]
            return [part for part in re.split(r"(?<=['’])", word) if part]
        if "-" in word and self.lang == "fr" and (clitic := _CLITIC.search(word)):
            return [word[: clitic.start()], clitic[0]] if clitic.start() else [word]
        if "-" in word and self.lang == "ro":
            return _beside_clitic(word)
        return [word]


def _beside_clitic(word: str) -> list[str]:
    """Romanian `s-a` -> `s-` `a`, `dă-i` -> `dă` `-i`: a hyphen goes with the clitic."""
    left, _, right = word.partition("-")
    if not left or not right or "-" in right:
        return [word]
    if left.lower() in _PROCLITICS:
        return [f"{left}-", right]
    return [left, f"-{right}"] if len(right) <= 3 else [word]


@cache
def _abbreviations(lang: str) -> frozenset[str]:
    return frozenset(_KNOWN.get(lang, "").split()) | _COMMON


_COMMON = frozenset("dr prof st mr mrs etc".split())


_NAMES = dict(
    pair.split("=")
    for pair in (
        "arabic=ar bulgarian=bg catalan=ca chinese=zh croatian=hr czech=cs danish=da deutsch=de "
        "dutch=nl english=en estonian=et finnish=fi french=fr français=fr german=de greek=el "
        "hebrew=he hindi=hi hungarian=hu icelandic=is italian=it italiano=it japanese=ja korean=ko "
        "norwegian=no polish=pl portuguese=pt romanian=ro russian=ru slovak=sk slovenian=sl "
        "spanish=es español=es swedish=sv turkish=tr ukrainian=uk "
        "ces=cs deu=de eng=en spa=es fin=fi fra=fr hin=hi ita=it nld=nl pol=pl por=pt ron=ro "
        "rus=ru swe=sv ukr=uk zho=zh jpn=ja"
    ).split()
)


def language_code(name: str) -> str:
    """Return the code of a language that a name or a longer code probably means; "": unknown.

    >>> language_code("English"), language_code("pt_BR"), language_code("deu")
    ('en', 'pt', 'de')
    """
    short = re.split("[-_]", name.strip().lower())[0]
    return _NAMES.get(short, short if len(short) == 2 and short != name else "")


@cache
def script(char: str) -> str:
    """The script of a letter, as Unicode names it (LATIN, CYRILLIC, …); "" for no letter."""
    if not char.isalpha():
        return ""
    return unicodedata.name(char, "").partition(" ")[0].partition("-")[0]


def letters_of(word: str) -> str:
    """The script of the first letter of a word; "" where it has none."""
    for char in word:
        if found := script(char):
            return found
    return ""
