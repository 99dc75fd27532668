"""The embedded dependency parser, language by language: right trees, from text, against supar.

    python bench/languages.py --treebanks FOLDER [--parser ud] [--languages de fr] [--json FILE]

FOLDER has a folder a language with test.conllu (and train.conllu, whose words are counted). Of each
test set: UAS and LAS over all words, from the gold words of the text; token F1 and UAS from raw
text (each sentence is a segment, cut by our rules; an arc is right where both its words span the
same characters as in the gold tree; F1 of arcs); sentences a second in CPU seconds, one thread, and
those of supar's own `predict` with the same model. Checked first: the same heads and relations.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from tensormt.parser import Parser
from tensormt.parser.char_features import language_symbol, word_characters
from tensormt.parser.dependency_fitting import attachment
from tensormt.parser.dependency_treebank import Sentence, read_language

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from supar_oracle import dependency_parser, supar_arcs  # supar's own predictions

Spans = list[tuple[int, int]]


def spaces(path: Path) -> Iterator[list[bool]]:
    """Whether white space follows each token of the text, sentence by sentence."""
    found: list[bool] = []
    last = 0
    for line in [*path.read_text(encoding="utf-8").split("\n"), ""]:
        if not line.strip():
            if found:
                yield found
            found, last = [], 0
        elif line[0] != "#":
            cells = line.split("\t")
            first, _, end = cells[0].partition("-")
            if "." in first or int(first) <= last:
                continue
            last = int(end) if end else last
            found.append("SpaceAfter=No" not in cells[9])


def spans(words: list[str]) -> Spans:
    """Where each word stands in the text without white space."""
    ends, at = [], 0
    for word in words:
        size = len(word.replace("_", ""))  # white space inside a word is written _
        ends.append((at, at + size))
        at += size
    return ends


def arcs(words: list[str], heads: list[int]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """Arcs as places of the dependent and of its head; the root is nowhere."""
    where = spans(words)
    return {(where[k], where[h - 1] if h else (-1, -1)) for k, h in enumerate(heads)}


def from_text(parser: Parser, gold: list[Sentence], path: Path) -> dict[str, float]:
    """Token F1 and UAS (F1 of arcs) from raw text."""
    texts = []
    for sentence, after in zip(gold, spaces(path), strict=True):
        pairs = zip(sentence.words, after, strict=True)
        texts.append("".join(w.replace("_", " ") + " " * s for w, s in pairs).strip())
    words, heads = parser.parse(texts).to_heads()
    tokens, right, ours, theirs = 0, 0, 0, 0
    for sentence, own, above in zip(gold, words, heads, strict=True):
        tokens += len(set(spans(own)) & set(spans(sentence.words)))
        right += len(arcs(own, above) & arcs(sentence.words, sentence.heads))
        ours, theirs = ours + len(own), theirs + len(sentence.words)
    total = max(ours + theirs, 1)
    return {"token_f1": 200 * tokens / total, "uas_text": 200 * right / total}


def speed(parser: Parser, sentences: list[list[str]], rounds: int) -> dict[str, float]:
    """Sentences a second of ours and of supar's predict, which must give the same trees."""
    network = parser.network
    settings, own = network.settings, language_symbol(network.lang)
    supar = dependency_parser(
        network.model,
        settings,
        own,
        lambda word: [own, *word_characters(word, settings["spelling"])],
    )
    ours = parser.parse(sentences)
    heads, relations = supar_arcs(supar, [*map(list, sentences)])
    different = sum(a != b for a, b in zip(ours.to_heads()[1], heads, strict=True))
    renamed = sum(a != b for a, b in zip(ours.to_relations(), relations, strict=True))
    runs = {
        "ours": lambda: parser.parse(sentences),
        "supar": lambda: supar_arcs(supar, [*map(list, sentences)]),
    }
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    rates = {name: len(sentences) / spent for name, spent in best.items()}
    return {**rates, "ratio": rates["ours"] / rates["supar"], "different": different + renamed}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--treebanks", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--parser", default="ud", help="'ud' or a folder of train-parser")
    options.add_argument("--languages", nargs="+", help="(all that the parser knows)")
    options.add_argument("--sentences", type=int, default=300, help="for the speed; 0: no speed")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--json", metavar="FILE", help="write the figures there too")
    args = options.parse_args()
    torch.set_num_threads(1)
    names = sorted(path.name for path in args.treebanks.iterdir() if path.is_dir())
    found: dict[str, dict[str, float]] = {}
    for lang in args.languages or names:
        path = args.treebanks / lang / "test.conllu"
        gold = read_language(path, lang)
        parser = Parser.load(args.parser, lang=lang)
        row = {**attachment(parser, gold), **from_text(parser, gold, path)}
        train = args.treebanks / lang / "train.conllu"
        if train.exists():
            row["train"] = sum(len(s.words) for s in read_language(train, lang))
        row["test"] = sum(len(s.words) for s in gold)
        if args.sentences:
            parser.split = False
            row |= speed(parser, [s.words for s in gold[: args.sentences]], args.rounds)
        found[lang] = row
        print(lang, "  ".join(f"{name} {value:.1f}" for name, value in row.items()), flush=True)
    mean = {
        k: sum(row[k] for row in found.values()) / len(found) for k in next(iter(found.values()))
    }
    print("mean", "  ".join(f"{name} {value:.1f}" for name, value in mean.items()))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
