"""13a tokens against sacrebleu's, on adversarial random lines and on all lines of given data.

    python bench/tokens.py [--lines 200000] [--seed 1] [--data PATH …] [--json]

Random lines mix digits, periods, commas and dashes, entities and pieces of them, every kind of
white space, control characters and letters of one to four bytes. A PATH is a file or a folder of
text files; of JSON lines every string is taken. Lines are also compared for `none` and `char`, and
in lower case. The first difference is printed and ends the run with status 1. One thread.
"""

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

from fair import forget, in_turn
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar
from sacrebleu.tokenizers.tokenizer_none import NoneTokenizer

from tensormt.text.tokens import TokenBatch

PEERS = {"13a": Tokenizer13a(), "none": NoneTokenizer(), "char": TokenizerChar()}
NUMERIC = "..,,,--0123459aA "
PIECES = [
    *NUMERIC,
    *"!\"#$%&'()*+/:;<=>?@[\\]^_`{|}~bΣσ",
    *("&quot;", "&amp;", "&lt;", "&gt;", "&AMP;", "amp;", "lt;", "quot;"),
    *("<skipped>", "<ski", "pped>", "-\n", "\n", "  ", "\t", "\r", "\x0b", "\x0c", "\x00", "\x7f"),
    *(chr(code) for code in range(0x110000) if chr(code).isspace()),
    *("\u180e", "\u200b", "\u2060", "\ufeff", "é", "ß", "漢", "字", "İ", "²", "٣", "\u1081"),
    *("…", "‚", "\u0780", "\ue000", "\U0001f600", "\U0010ffff"),
]


def adversarial(number: int, seed: int) -> Iterator[str]:
    """Random lines of awkward pieces."""
    rng = random.Random(seed)
    for _ in range(number):
        pieces = NUMERIC if rng.random() < 0.4 else PIECES
        yield "".join(rng.choices(pieces, k=rng.randint(0, 16)))


def strings(value: object) -> Iterator[str]:
    """All strings within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def lines_of(path: Path) -> Iterator[str]:
    """All lines of a file or of the files in a folder; of JSON lines all their strings."""
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            yield from lines_of(inner)
        return
    for line in path.read_text(encoding="utf-8").split("\n"):
        if path.suffix == ".jsonl" and line.strip():
            yield from strings(json.loads(line))
        else:
            yield line


def compare(lines: list[str]) -> int:
    """The number of comparisons made; the first difference ends the program."""
    done = 0
    for first in range(0, len(lines), 5000):
        chunk = lines[first : first + 5000]
        for name, peer in PEERS.items():
            for lowercase in (False, True):
                found = TokenBatch.from_text(chunk, name, lowercase).to_tokens()
                for line, ours in zip(chunk, found, strict=True):
                    theirs = peer((line.lower() if lowercase else line).rstrip()).split()
                    if ours != theirs:
                        print(f"{name}, lowercase={lowercase}: {line!r}\n  {ours}\n  {theirs}")
                        sys.exit(1)
                    done += 1
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=200_000, help="number of random lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    sources = {"random": list(adversarial(args.lines, args.seed))}
    sources |= {path.name: list(lines_of(path)) for path in args.data}
    for name, lines in sources.items():
        compared = compare(lines)
        peer = Tokenizer13a()
        seconds, theirs = in_turn(
            lambda lines=lines: TokenBatch.from_text(lines),
            lambda lines=lines, peer=peer: [peer(line.rstrip()) for line in lines],
            runs=3,
            before=forget,
        )
        rows.append(
            {
                "source": name,
                "lines": len(lines),
                "comparisons": compared,
                "differences": 0,
                "microseconds": 1e6 * seconds / max(len(lines), 1),
                "ratio": theirs / seconds,
            }
        )
    if args.json:
        print(json.dumps(rows))
        return
    print(f"{'':12} {'lines':>8} {'compared':>9} {'differ':>6} {'us/line':>8} {'sacrebleu x':>11}")
    for row in rows:
        print(
            f"{row['source']:12} {row['lines']:8} {row['comparisons']:9} {row['differences']:6} "
            f"{row['microseconds']:8.2f} {row['ratio']:11.1f}"
        )


if __name__ == "__main__":
    main()
