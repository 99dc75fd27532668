"""Text to tokens by vectorised byte operations: mteval-13a, white space, characters.

A chunk of lines becomes one UTF-8 buffer; comparisons classify its bytes; a token starts at a byte
that follows white space, at a byte that must stand alone, or after one. For 13a (mteval-v13a.pl, as
sacrebleu applies it) the bytes that stand alone are

- every ASCII symbol except ' - . , ;
- a dash after a digit;
- a period or comma, unless a digit follows it and it is the last of a run of k of them that
  follows c: with k = 1 and c a digit it joins both («1.5»); with k even and c not a digit, or k odd
  and ≥ 3 and c a digit, it joins the digit that follows («a..5» → a . .5).

The last rule is what mteval's two successive substitutions do: the first consumes the run in pairs.
Other tokenisers come from sacrebleu by name and are only cut at white space here. White space is
Python's `str.split()`: Unicode, control characters 28 to 31 included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tensormt.errors import TensorMTError
from tensormt.text.dictionary import code_points
from tensormt.text.plain_tokens import CHARACTERS as CHARACTERS
from tensormt.text.plain_tokens import (
    NATIVE,
    NO_TOKEN,
    OTHER_SPACE,
    WITH_SPACE,
    foreign,
    is_by_line,
    line_tokenizer,
)

_ALONE, _STOP, _DIGIT, _DASH = 1, 2, 3, 4
_WIDE_SPACES = [0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
# which of the characters from U+1000 to U+3FFF, all of three bytes, are white space
_IS_WIDE_SPACE = np.zeros(0x3000, bool)
_IS_WIDE_SPACE[np.array(_WIDE_SPACES) - 0x1000] = True
# mteval replaces &quot; &amp; &lt; &gt; in this order, so that &amp;lt; becomes < in one go
_ENTITY = re.compile(rb"&(?:quot;|(?:amp;)?lt;|(?:amp;)?gt;|amp;)")
_SYMBOLS = {
    b"&quot;": b'"',
    b"&amp;": b"&",
    **dict.fromkeys((b"&lt;", b"&amp;lt;"), b"<"),
    **dict.fromkeys((b"&gt;", b"&amp;gt;"), b">"),
}


def _classes() -> bytes:
    table = bytearray(256)
    for byte in b'{|}~[\\]^_`!"#$%&()*+:;<=>?@/':
        table[byte] = _ALONE
    for byte in b".,":
        table[byte] = _STOP
    for byte in b"0123456789":
        table[byte] = _DIGIT
    table[ord("-")] = _DASH
    return bytes(table)


_TABLE = _classes()
# what ROUGE keeps, in lower case; line feeds stand between lines
_ALPHANUMERIC = bytes(
    ord(chr(k).lower()) if k == 10 or (k < 128 and chr(k).isalnum()) else 32 for k in range(256)
)
# lines a chunk: the buffers of one chunk stay in the processor's cache
_CHUNK = 512


def decode(data: bytes, source: str = "text") -> list[str]:
    """The lines of UTF-8 bytes, cut at line feeds only; an error names the source and the line."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TensorMTError(
            f"{source}, line {line}: byte {data[error.start]:#04x} is not UTF-8: "
            "convert the file to UTF-8"
        ) from None
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def tokenize(
    lines: Sequence[str | bytes | None], name: str = "13a", lowercase: bool = False
) -> tuple[pa.ChunkedArray, np.ndarray]:
    """The tokens of B lines, as one Arrow string array, and their number a line, int64 [B].

    Those of CHARACTERS are given by `characters`.
    """
    by_line = is_by_line(name)
    other = None if by_line or name in NATIVE else foreign(name)
    parts: list[pa.Array] = []
    lengths: list[np.ndarray] = [np.zeros(0, np.int64)]
    for first in range(0, len(lines), _CHUNK):
        texts = _texts(lines[first : first + _CHUNK], first)
        if lowercase:
            texts = [line.lower() for line in texts]
        if other is not None:
            texts = [other(line.rstrip()) for line in texts]
        if name == "blanks":
            joined = " ".join(texts)
            by_line = any(space in joined for space in OTHER_SPACE)
        if by_line or name == "spaced":
            strings, count = _by_line(texts, first, name)
        elif name == "rouge":
            strings, count = _alphanumeric(texts, first)
        else:
            strings, count = _cut(_buffer(texts, first, name), name)
        parts.append(strings)
        lengths.append(count)
    return pa.chunked_array(parts, pa.string()), np.concatenate(lengths)


def characters(
    lines: Sequence[str | bytes | None], name: str = "char", lowercase: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The code points of B lines, and their number a line, int64 [B]; `char`: but white space."""
    codes: list[np.ndarray] = [np.zeros(0, np.uint8)]
    lengths: list[np.ndarray] = [np.zeros(0, np.int64)]
    for first in range(0, len(lines), _CHUNK):
        texts = _texts(lines[first : first + _CHUNK], first)
        if lowercase:
            texts = [line.lower() for line in texts]
        if name in WITH_SPACE:
            if name == "stripped":
                texts = [line.strip() for line in texts]
            text = b"".join(_encoded(texts, first))
            lengths.append(np.fromiter(map(len, texts), np.int64, len(texts)))
        else:
            _, data = _narrow_spaces(_buffer(texts, first, name))
            space = _is_space(data)
            # the continuation bytes of UTF-8 read as -128 to -65
            start = np.flatnonzero(np.greater(data.view(np.int8) > -65, space))
            lengths.append(np.diff(np.searchsorted(start, np.flatnonzero(data == 10))))
            text = np.compress(~space, data).tobytes()
        codes.append(code_points(text))
    return np.concatenate(codes), np.concatenate(lengths)


def _by_line(texts: list[str], first: int, name: str) -> tuple[pa.Array, np.ndarray]:
    """The tokens of each line by the tokeniser in plain Python."""
    found = [*map(line_tokenizer(name), texts)]
    _joined(texts, first)  # raises where a character has no UTF-8 form
    flat = [token for tokens in found for token in tokens]
    return pa.array(flat, pa.string()), np.array([len(tokens) for tokens in found], np.int64)


def _alphanumeric(texts: list[str], first: int) -> tuple[pa.Array, np.ndarray]:
    """Runs of a-z and 0-9 of text in lower case; NO_TOKEN for a line with text, but no such run."""
    buffer = _buffer(texts, first, "rouge")
    if not buffer.isascii():  # the table below has the lower case of ASCII
        buffer = _buffer([line.lower() for line in texts], first, "rouge")
    strings, count = _cut(buffer.translate(_ALPHANUMERIC), "none")
    lost = [k for k in np.flatnonzero(count == 0).tolist() if texts[k].strip()]
    if lost:
        places = np.insert(np.arange(len(strings)), (np.cumsum(count) - count)[lost], len(strings))
        strings = pa.concat_arrays([strings, pa.array([NO_TOKEN])]).take(pa.array(places))
        count[lost] = 1
    return strings, count


def _texts(lines: Sequence[str | bytes | None], first: int) -> list[str]:
    """The lines as str: None is an absent line, bytes are decoded."""
    if set(map(type, lines)) == {str}:
        return list(lines)  # type: ignore[arg-type]
    texts = []
    for number, line in enumerate(lines, first + 1):
        if isinstance(line, str):
            texts.append(line)
        elif line is None:
            texts.append("")
        elif isinstance(line, bytes):
            try:
                texts.append(line.decode())
            except UnicodeDecodeError as error:
                raise TensorMTError(
                    f"line {number}: byte {line[error.start]:#04x} is not UTF-8: "
                    "convert the text to UTF-8"
                ) from None
        else:
            raise TensorMTError(
                f"line {number} is {type(line).__name__}, expected str: pass one string a segment"
            )
    return texts


def _buffer(texts: list[str], first: int, name: str) -> bytes:
    """One UTF-8 buffer of the lines, each followed by a line feed, with one more in front."""
    buffer = _joined(texts, first)
    if np.count_nonzero(np.frombuffer(buffer, np.uint8) == 10) != len(texts) + 1:
        buffer = _joined([_one_line(line, name) for line in texts], first)
    elif name == "13a" and b"<" in buffer:
        buffer = buffer.replace(b"<skipped>", b"")
    if name == "13a" and b"&" in buffer:
        buffer = _ENTITY.sub(lambda entity: _SYMBOLS[entity[0]], buffer)
    return buffer


def _joined(texts: list[str], first: int) -> bytes:
    return b"\n".join([b"", *_encoded(texts, first), b""])


def _encoded(texts: list[str], first: int) -> list[bytes]:
    """Every line in UTF-8: joined first, one beyond Latin letters would widen the whole chunk."""
    try:
        return [*map(str.encode, texts)]
    except UnicodeEncodeError as error:
        line = first + next(k for k, text in enumerate(texts, 1) if text is error.object)
        raise TensorMTError(
            f"line {line}: character {error.object[error.start]!r} has no UTF-8 form: "
            "read the text as UTF-8"
        ) from None


def _one_line(line: str, name: str) -> str:
    """A line that holds line feeds, without them: mteval joins words over «-» and a line feed."""
    line = line.rstrip()
    if name == "13a":
        line = line.replace("<skipped>", "").replace("-\n", "")
    return line.replace("\n", " ")


def _wide_spaces(data: np.ndarray) -> np.ndarray:
    """Where the bytes of white space beyond ASCII stand in a buffer that ends in a line feed."""
    lead = np.flatnonzero(data > 0xC1)
    lead = lead[data[lead] < 0xE4]
    first, second = data[lead], data[lead + 1]
    two = lead[(first == 0xC2) & ((second == 0x85) | (second == 0xA0))]
    # the lead bytes E1, E2, E3 begin the characters from U+1000 to U+3FFF
    three = lead[first > 0xE0]
    high, mid, low = (data[three + k].astype(np.int64) for k in range(3))
    code = ((high - 0xE1) << 12) | ((mid & 0x3F) << 6) | (low & 0x3F)
    three = three[_IS_WIDE_SPACE[code]]
    return np.concatenate([two, two + 1, three, three + 1, three + 2])


def _narrow_spaces(buffer: bytes) -> tuple[bytes, np.ndarray]:
    """A buffer with ASCII white space alone, and its bytes as numbers."""
    data = np.frombuffer(buffer, np.uint8)
    if not buffer.isascii() and len(wide := _wide_spaces(data)):
        data = data.copy()
        data[wide] = 32
        buffer = data.tobytes()
    return buffer, data


def _cut(buffer: bytes, name: str) -> tuple[pa.Array, np.ndarray]:
    """Cut a buffer of lines into tokens: an Arrow string array and the tokens a line, int64 [B]."""
    buffer, data = _narrow_spaces(buffer)
    space = _is_space(data)
    if name == "13a":
        start = _starts(np.frombuffer(buffer.translate(_TABLE), np.uint8), space)
        np.greater(start, space, out=start)
        end = np.empty_like(start)
        np.logical_or(start[1:], space[1:], out=end[:-1])
        end[-1] = True
        np.greater(end, space, out=end)
        first, past = np.flatnonzero(start), np.flatnonzero(end) + 1
    else:  # the buffer begins and ends with white space
        edges = np.flatnonzero(space[1:] != space[:-1]) + 1
        first, past = edges[::2], edges[1::2]
    offsets = np.zeros(len(first) + 1, np.int32)
    np.cumsum(past - first, out=offsets[1:])
    strings = pa.StringArray.from_buffers(
        len(first), pa.py_buffer(offsets), pa.py_buffer(np.compress(~space, data))
    )
    return strings, np.diff(np.searchsorted(first, np.flatnonzero(data == 10)))


def _is_space(data: np.ndarray) -> np.ndarray:
    """Which bytes [n] are ASCII white space, bool [n]; differences below 0 wrap around."""
    space = data == 32
    space |= data - np.uint8(9) < 5
    space |= data - np.uint8(28) < 4
    found: np.ndarray = space
    return found


def _starts(kind: np.ndarray, space: np.ndarray) -> np.ndarray:
    """Where a token of 13a may start, bool [n]; what is white space is left to the caller."""
    start = np.empty(len(kind), bool)
    start[0] = False
    stop = kind == _STOP
    digit = kind == _DIGIT
    before = (kind == _ALONE) | stop
    before[1:] |= (kind[1:] == _DASH) & digit[:-1]
    after = before
    numeric = np.flatnonzero(stop[:-1] & digit[1:])
    if len(numeric):
        joins, keeps_left = _joining(stop, digit, numeric)
        after = before.copy()
        after[joins] = False
        before[keeps_left] = False
    np.logical_or(after[:-1], space[:-1], out=start[1:])
    start |= before
    return start


def _joining(
    stop: np.ndarray, digit: np.ndarray, numeric: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the stops before a digit: those that join it, and those that join on both sides."""
    after_digit = digit[numeric - 1]
    if not stop[numeric - 1].any():
        # no run of two or more: a stop joins both sides, or none
        return numeric[after_digit], numeric[after_digit]
    places = np.flatnonzero(stop)
    opens = np.concatenate([[True], np.diff(places) != 1])
    first = places[np.maximum.accumulate(np.where(opens, np.arange(len(places)), 0))]
    first = first[np.searchsorted(places, numeric)]
    length = numeric - first + 1
    after_digit = digit[first - 1]
    both = after_digit & (length == 1)
    joins = both | (after_digit == (length % 2 == 1))
    return numeric[joins], numeric[both]
