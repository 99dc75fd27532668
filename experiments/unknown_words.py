"""Share of words that the English parser does not know: English text against other languages.

    python experiments/unknown_words.py --data ../shared/data --treebanks ../shared/treebank-ud

`tensormt.parser.language_check` warns above 30%: English test sets have 2 to 10%, treebanks of
other languages in Latin script 43% and more.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from tensormt.parser import Parser

WORD = re.compile(r"[^\W\d_]+")


def texts_of(path: Path) -> list[str]:
    """All outputs and references of a judged set."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    outputs = [system["hyp"] for row in rows for system in row["sys"].values()]
    return [*outputs, *(ref for row in rows for ref in row["refs"])]


def sentences_of(path: Path) -> list[str]:
    """The words of a CoNLL-U file, a text for each sentence."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    rows = [[line.split("\t") for line in block.splitlines()] for block in blocks]
    return [" ".join(row[1] for row in block if row[0].isdecimal()) for block in rows]


def main() -> None:
    """Print the share of unknown words of every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of judged sets (SET/segments.jsonl)")
    parser.add_argument("--treebanks", type=Path, help="folder of treebanks (LANG/test.conllu)")
    args = parser.parse_args()
    sets = {}
    for path in sorted(args.data.glob("*/segments.jsonl")) if args.data else ():
        sets[path.parent.name] = texts_of(path)
    for path in sorted(args.treebanks.glob("*/test.conllu")) if args.treebanks else ():
        sets[f"treebank {path.parent.name}"] = sentences_of(path)
    language = Parser.load().language
    assert language is not None
    assert language.words is not None
    for name, texts in sets.items():
        words = [word.lower() for text in texts for word in WORD.findall(text)]
        unknown = sum(word not in language.words for word in words)
        print(f"{name:16} {unknown / len(words):6.1%} of {len(words):,} words")


if __name__ == "__main__":
    main()
