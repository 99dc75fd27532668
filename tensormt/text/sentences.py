"""Raw text to the tokens and sentences that a parser was trained on.

**Sentences.** A sentence ends at a run of `.` `!` `?` `…` (with closing quotes and brackets) that
white space follows, unless the next character is a lower-case letter, or the word before a single
`.` is an abbreviation (a known one, a lone letter, or one with a point inside: `Dr.` `J.` `U.S.`).
A final mark that stands alone between spaces, as in tokenised text, ends a sentence whatever
follows, and so do `。！？।॥` anywhere. Marks without a word do not make a sentence. Token
lists follow the same rule: a final mark is a token of its own there.

**Tokens.** Penn Treebank tokens by nltk's `NLTKWordTokenizer`, spelt as in the text (quotes are not
turned into `` and ''), typographic apostrophes read as plain ones, `(` and `)` written -LRB- and
-RRB-. Recent treebanks (OntoNotes, GUM) also cut words at hyphens and slashes, `risk - free`,
except after prefixes such as non-: done with `hyphens`.

**Long sentences.** More than `limit` tokens are cut into parts of at most `limit`, each at its last
`,` `;` `:` or dash if its second half has one; the parts are parsed apart, and counted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

from tensormt.text.nltk_import import import_nltk

ABBREVIATIONS = frozenset(
    re.findall(
        r"\w+",
        """
        adm al approx apr apt assn aug ave blvd bros capt cf cmdr co col corp cpl dec dept dist dr
        ed eds eq esp est etc ex feb fig figs fri fr ft gen gov hon inc jan jr jul jun lt ltd maj
        mar messrs mon mr mrs ms mt no nos nov oct op pp prof pvt ref refs rep rev sat sec sen
        sens sept sgt sr st ste sun thu tue univ vol vols vs wed
        """,
    )
)
PREFIXES = frozenset(
    re.findall(
        r"\w+",
        """
        a anti ante auto bi bio co counter cross cyber de e eco ex extra hyper inter intra mega
        meta micro mid mini multi neo non over pan para peri poly post pre pro pseudo quasi re
        semi sub super supra trans tri ultra un under uni vice
        """,
    )
)
CLOSING = "\"'”’»)]}"
FINAL = frozenset({".", "!", "?", "…", "...", "。", "！", "？", "।", "॥"})
CLOSERS = frozenset({*CLOSING, "''", "-RRB-", "-RSB-", "-RCB-"})

_END = re.compile(
    rf"(?P<alone>(?<=\s)[.!?…]+(?:\s*[{re.escape(CLOSING)}](?=\s|$))*)\s+"
    # from the start of a run of marks alone: elsewhere the search would be quadratic
    rf"|(?P<mark>(?<![.!?…])[.!?…]+[{re.escape(CLOSING)}]*)\s+(?=(?P<next>\S))"
    r"|(?P<wide>[。！？।॥]+[」』”’）]*)\s*"
)
_WORD = re.compile(r"[^\W_]")
_OPENING = frozenset("([{\"'“‘")  # may stand before a word
_APOSTROPHE = re.compile(r"(?<=\w)’(?=\w)")
_HYPHEN = re.compile(r"(?<=[^\W_])([-–/])(?=[^\W_])")
_ADDRESS = re.compile(r"//|@|^www\.|^\d+[-–/]\d")
_SPACE = re.compile(r"\s+")
_NO_BLANK = re.compile(r"[^\S ]")  # white space other than blanks
_TAIL = "])}>'\"»”’"  # may stand behind the last point
_CONTRACTED = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})
_CUTS = frozenset({",", ";", ":", "-", "--", "–", "—"})


def _last_word(text: str, start: int, stop: int) -> str:
    """The word at the end of text[start:stop], which may be empty."""
    first = stop
    while first > start and text[first - 1] not in _OPENING and not text[first - 1].isspace():
        first -= 1
    return text[first:stop]


def _is_abbreviation(word: str, known: frozenset[str], ordinals: bool) -> bool:
    """Whether the word before a single point is an abbreviation, or an ordinal number."""
    letters = word.replace(".", "")
    return (
        word.lower() in known
        or (ordinals and len(word) < 3 and word.isdecimal())
        or (len(word) == 1 and word.isalpha() and (word != "I" or known is not ABBREVIATIONS))
        or ("." in word and letters.isalpha())
    )


def split_text(
    text: str, known: frozenset[str] = ABBREVIATIONS, ordinals: bool = False
) -> list[str]:
    """The sentences of a segment of raw text; none for blank text.

    `known` are abbreviations in lower case; `ordinals`: a number with a point may be one (3. Mai).
    """
    sentences: list[str] = []
    start = searched = 0  # of the sentence; the place from which on a word is still to be found
    for end in _END.finditer(text):
        if not (found := _WORD.search(text, searched, end.start())):
            searched = end.start()
            continue
        searched, stop = found.start(), end.end()
        if mark := end["mark"]:
            single = mark[0] == "." and mark[1:2] != "."
            word = _last_word(text, start, end.start()) if single else ""
            if end["next"].islower() or (single and _is_abbreviation(word, known, ordinals)):
                continue
        elif end["alone"] and '"' in end["alone"] and text.count('"', start, end.start()) % 2 == 0:
            stop = text.index('"', end.start())  # this quote opens what follows
        sentences.append(text[start:stop].strip())
        start = searched = stop
    rest = text[start:].strip()
    if sentences and not _WORD.search(rest):
        sentences[-1] = f"{sentences[-1]} {rest}".rstrip()
    elif rest:
        sentences.append(rest)
    return sentences


def split_tokens(tokens: list[str]) -> list[list[str]]:
    """The sentences of a tokenised segment: they end at a final mark and what closes after it."""
    sentences: list[list[str]] = []
    start, ended = 0, False
    for i, token in enumerate(tokens):
        if ended and token not in FINAL:
            opens = token == '"' and tokens[start:i].count('"') % 2 == 0
            if opens or token not in CLOSERS:
                sentences.append(tokens[start:i])
                start, ended = i, False
        ended = ended or (token in FINAL and i > start)
    return [*sentences, tokens[start:]] if tokens else []


@cache
def _tokenizer() -> Any:
    import_nltk()
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def _cut_hyphens(token: str) -> list[str]:
    """`risk-free` -> `risk - free`; prefixes, addresses and figures stay whole."""
    if len(token) < 3 or not _HYPHEN.search(token) or _ADDRESS.search(token):
        return [token]
    parts = _HYPHEN.split(token)
    kept = parts[:1]
    for i in range(1, len(parts), 2):
        if parts[i] == "-" and kept[-1].lower() in PREFIXES:
            kept[-1] += parts[i] + parts[i + 1]
        else:
            kept += parts[i : i + 2]
    return kept


@lru_cache(1 << 16)
def escape(token: str) -> str:
    """A token as it can stand in a bracketing: no bracket, no space, nothing unencodable."""
    if "(" in token or ")" in token:
        token = token.replace("(", "-LRB-").replace(")", "-RRB-")
    return whole(token)


def whole(token: str) -> str:
    """A token without white space in it and with nothing unencodable."""
    if token.isalnum():  # most are
        return token
    if not token.isascii() or not token.isprintable() or " " in token:
        token = _SPACE.sub("_", token).encode("utf-8", "replace").decode("utf-8")
    return token


def tokenize(sentence: str, hyphens: bool = True) -> list[str]:
    """Penn tokens of one sentence of raw text, spelt as in the text.

    The tokens between two blanks do not depend on what else there is, but for a point at the end,
    so they are remembered.
    """
    chunks = sentence.split()
    if not chunks or _NO_BLANK.search(sentence) or not chunks[-1].strip(_TAIL):
        return _cut_whole(sentence, hyphens)
    tokens: list[str] = []
    for chunk in chunks[:-1]:
        tokens += _cut_chunk(chunk, hyphens, False)
    tokens += _cut_chunk(chunks[-1], hyphens, True)
    return tokens


@lru_cache(1 << 16)
def _cut_chunk(chunk: str, hyphens: bool, last: bool) -> tuple[str, ...]:
    """The tokens of a piece of text without white space."""
    if chunk.isalnum() and chunk.lower() not in _CONTRACTED:
        return (escape(chunk),)
    return tuple(_cut_whole(chunk, hyphens) if last else _cut_whole(f"{chunk} x", hyphens)[:-1])


def _cut_whole(sentence: str, hyphens: bool) -> list[str]:
    """`tokenize` by nltk, all of the sentence at once."""
    plain = _APOSTROPHE.sub("'", sentence) if "’" in sentence else sentence
    try:
        spans = list(_tokenizer().span_tokenize(plain))
        tokens = [sentence[start:end] for start, end in spans]
    except (ValueError, StopIteration, RuntimeError):  # quotes that nltk cannot place again
        tokens = _tokenizer().tokenize(plain)
    if hyphens:
        tokens = [part for token in tokens for part in _cut_hyphens(token)]
    return [escape(token) for token in tokens]


def cut(tokens: list[str], limit: int) -> list[list[str]]:
    """Parts of at most `limit` tokens, cut after punctuation where the second half has some."""
    parts = []
    start = 0
    while len(tokens) - start > limit:
        places = (i for i in range(limit, limit // 2, -1) if tokens[start + i - 1] in _CUTS)
        stop = start + next(places, limit)
        parts.append(tokens[start:stop])
        start = stop
    return [*parts, tokens[start:]]


@dataclass(frozen=True)
class Sentences:
    """Sentences of segments in order: their tokens, the segment of each, how many were cut."""

    tokens: list[list[str]]
    segment: list[int]
    segments: int
    cut: int


class Rules(Protocol):
    """How a parser reads text."""

    def sentences(self, text: str) -> list[str]:
        """The sentences of a segment of raw text."""

    def tokens(self, sentence: str) -> list[str]:
        """The tokens of one sentence."""

    def token(self, token: str) -> str:
        """A given token as it can stand in a tree."""


@dataclass(frozen=True)
class Penn:
    """English text as Penn treebanks have it; `hyphens`: words are cut there too."""

    hyphens: bool = False

    def sentences(self, text: str) -> list[str]:
        """The sentences of a segment of raw text."""
        return split_text(text)

    def tokens(self, sentence: str) -> list[str]:
        """Penn tokens."""
        return tokenize(sentence, self.hyphens)

    def token(self, token: str) -> str:
        """The token with its brackets escaped."""
        return escape(token)


def prepare(
    segments: Sequence[str | Sequence[str] | None], split: bool, rules: Rules, limit: int
) -> Sentences:
    """Segments of raw text or tokens as sentences ready to parse; a blank segment has none."""
    tokens: list[list[str]] = []
    owner: list[int] = []
    count = 0
    for number, segment in enumerate(segments):
        if segment is None:
            continue
        if isinstance(segment, str):
            texts = rules.sentences(segment) if split else [segment.strip()]
            sentences = [rules.tokens(text) for text in texts if text]
        else:
            words = [rules.token(token) for token in segment if token and not token.isspace()]
            sentences = split_tokens(words) if split else [words]
        for sentence in sentences:
            if sentence:
                parts = [sentence] if len(sentence) <= limit else cut(sentence, limit)
                count += len(parts) > 1
                tokens += parts
                owner += [number] * len(parts)
    return Sentences(tokens, owner, len(segments), count)
