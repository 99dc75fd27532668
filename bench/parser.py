"""The parser against supar's own `predict`: same model, same text, one thread, same trees.

    python bench/parser.py [--parser NAME] [--text FILE] [--sentences N] [--json FILE]

Checked first: both give the same trees, all of them. supar knows no mask that keeps tags on words:
for the check it is laid on supar's label scores; how many trees differ without it is said. Then
sentences a second of both, in CPU seconds, the median of several runs in turn; decoding alone;
memory for 10,000 sentences and time to the first tree in fresh processes. Without --text the
sentences come from a small grammar, about 20 words each. english-large runs beside the others, from
text, as it comes.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

import nltk
import torch
from fair import in_turn

from tensormt.kernels.charts import marginals
from tensormt.parser import Parser
from tensormt.parser.decode import best_slots

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from supar_oracle import supar_predict  # supar's own predictions, as in the tests

GRAMMAR = {
    "S": ["NP VP .", "PP , NP VP .", "SUB , NP VP .", "NP VP CC NP VP ."],
    "NP": ["DT N", "DT JJ N", "NNP", "NP PP", "DT N REL", "PRP"],
    "VP": ["V NP", "V NP PP", "MD VB NP", "V that NP VP", "V PP ADV"],
    "PP": ["IN NP"],
    "SUB": ["although NP VP", "when NP VP", "because NP VP"],
    "REL": ["that V NP", "who MD VB NP"],
    "DT": ["the", "a", "this", "every", "its", "some"],
    "N": "dog minister plan river company report street system result market letter year".split(),
    "JJ": "new old public strong late red economic large quiet unexpected".split(),
    "NNP": ["John", "Mary Smith", "Paris", "Germany", "Mr. Brown"],
    "PRP": ["he", "she", "they", "it"],
    "V": "saw said found wrote left made reported crossed announced".split(),
    "VB": "see take write leave make report".split(),
    "MD": ["will", "can", "would", "must"],
    "IN": "in on of with near after before for".split(),
    "CC": ["and", "but"],
    "ADV": ["yesterday", "quickly", "again"],
}


def grow(symbol: str, generator: random.Random, depth: int = 0) -> list[str]:
    """Words of one symbol; deep ones take the first, shorter rules."""
    if symbol not in GRAMMAR:
        return [symbol]
    rules = GRAMMAR[symbol]
    rule = rules[0] if depth > 7 else generator.choice(rules)
    return [word for part in rule.split() for word in grow(part, generator, depth + 1)]


def made_up(count: int) -> list[list[str]]:
    """Sentences of 5 to 40 words from the grammar."""
    generator = random.Random(1)
    sentences: list[list[str]] = []
    while len(sentences) < count:
        words = grow("S", generator)
        if 5 <= len(words) <= 40:
            sentences.append([words[0].capitalize(), *words[1:]])
    return sentences


def unwrap(tree: nltk.Tree) -> nltk.Tree:
    """supar's tree with words right under their tags."""
    if isinstance(tree[0], nltk.Tree) and tree[0].label() == "_":
        return nltk.Tree(tree.label(), [tree[0][0]])
    if not isinstance(tree[0], nltk.Tree):
        return tree
    return nltk.Tree(tree.label(), [unwrap(child) for child in tree])


def compare(parser: Parser, sentences: list[list[str]]) -> int:
    """Check that all trees are equal once supar's label scores are masked; count others without."""

    def shown(trees: list[nltk.Tree]) -> list[str]:
        plain = [unwrap(tree) for tree in trees]
        return [" ".join(str(t[0] if len(t) == 1 else t).split()) for t in plain]

    network, settings = parser.network, parser.network.settings
    narrow = torch.tensor([label in set(settings["narrow"]) for label in settings["labels"]])
    forward = network.model.forward

    def masked(words: torch.Tensor, feats: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        spans, labels = forward(words, feats)
        place = torch.arange(spans.shape[1])
        single = (place[None, :] - place[:, None] == 1)[..., None]
        return spans, labels.masked_fill(narrow != single, -1e9)

    ours = parser.parse(sentences).to_brackets()
    stock = shown(supar_predict(network.parser, [*map(list, sentences)], parser.mbr))
    network.model.forward = masked
    theirs = shown(supar_predict(network.parser, [*map(list, sentences)], parser.mbr))
    network.model.forward = forward
    for a, b in zip(ours, theirs, strict=True):
        if a != b:
            raise SystemExit(f"different trees:\n  ours  {a}\n  supar {b}")
    return sum(a != b for a, b in zip(ours, stock, strict=True))


def decoders(parser: Parser) -> list[dict[str, float]]:
    """Milliseconds to decode 64 sentences of some lengths, with marginals and without."""
    crf = sys.modules[type(parser.network.parser).__module__].ConstituencyCRF
    rows = []
    for length in (10, 20, 40, 80):
        scores = torch.randn(64, length + 1, length + 1)
        lengths = torch.full((64,), length)
        runs = {
            "tensormt": lambda s=scores, n=lengths: best_slots(marginals(s, n), n),
            "supar": lambda s=scores, n=lengths: crf(crf(s.clone(), n).marginals, n).argmax,
            "tensormt, best": lambda s=scores, n=lengths: best_slots(s, n),
            "supar, best": lambda s=scores, n=lengths: crf(s.clone(), n).argmax,
        }
        times = in_turn(*runs.values(), runs=3)
        rows.append({"words": length, **{k: 1e3 * t for k, t in zip(runs, times, strict=True)}})
    return rows


def fresh(code: str) -> str:
    """What a fresh process prints."""
    command = [sys.executable, "-c", f"import torch; torch.set_num_threads(1)\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


FIRST = """
import time
from tensormt.parser import Parser
Parser.load("default").parse(["A dog ran home."])
print(time.process_time())
"""
MEMORY = """
import json, resource, sys
from tensormt.parser import Parser
parser = Parser.load("default", split=False)
sentences = json.load(open(sys.argv[1]))
parser.parse(sentences[:50])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
parser.parse(sentences)
print(before / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def memory(sentences: list[list[str]]) -> tuple[float, float]:
    """Peak memory in MB before and after 10,000 sentences."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        many = [sentences[i % len(sentences)] for i in range(10_000)]
        json.dump(many, file)
        file.flush()
        code = MEMORY.replace("sys.argv[1]", repr(file.name))
        before, after = fresh(code).split()
    return float(before), float(after)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--parser", default="default", help="an embedded one, or a folder")
    options.add_argument("--text", metavar="FILE", help="tokenised sentences, one a line")
    options.add_argument("--sentences", type=int, default=500)
    options.add_argument("--rounds", type=int, default=4, help="runs of each, taken in turn")
    options.add_argument("--skip-memory", action="store_true", help="leave the 10,000 out")
    options.add_argument("--json", metavar="FILE", help="write the figures there too")
    args = options.parse_args()
    torch.set_num_threads(1)
    if args.text:
        lines = Path(args.text).read_text(encoding="utf-8").splitlines()
        sentences = [line.split() for line in lines if line.strip()][: args.sentences]
    else:
        sentences = made_up(args.sentences)
    parser = Parser.load(args.parser, split=False, mbr=True)
    large = Parser.load("english-large", split=False)
    unmasked = compare(parser, sentences)
    count = len(sentences)
    text = [" ".join(words) for words in sentences]
    network = parser.network.parser
    best = Parser(parser.network, "best", hyphens=True, split=False, mbr=False)
    compare(best, sentences)
    runs = {
        "tensormt, tokens": lambda: parser.parse(sentences),
        "tensormt, text": lambda: parser.parse(text),
        "supar predict": lambda: supar_predict(network, [*map(list, sentences)]),
        "tensormt, mbr=False": lambda: best.parse(sentences),
        "tensormt, text, mbr=False": lambda: best.parse(text),
        "english-large, text": lambda: large.parse(text),
        "supar predict, mbr=False": lambda: supar_predict(network, [*map(list, sentences)], False),
    }
    times = in_turn(*runs.values(), runs=args.rounds)
    rates = {name: count / spent for name, spent in zip(runs, times, strict=True)}
    result = {
        "sentences": count,
        "words": sum(map(len, sentences)) / count,
        "same_trees": count,
        "different_without_mask": unmasked,
        "sentences_a_second": rates,
        "ratio": rates["tensormt, tokens"] / rates["supar predict"],
        "ratio_best": rates["tensormt, mbr=False"] / rates["supar predict, mbr=False"],
        "decoding_ms_64": decoders(parser),
        "first_tree_s": float(fresh(FIRST)),
    }
    if not args.skip_memory:
        result["memory_mb_before_after_10000"] = memory(sentences)
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{count} sentences of {result['words']:.1f} words: the same trees in all "
          f"({unmasked} differ where supar may put tags on spans)")  # fmt: skip
    for name, rate in rates.items():
        print(f"  {name:28} {rate:8.0f} sentences/s")
    print(f"  ratio to supar's predict, same trees: {result['ratio']:.2f}; "
          f"both with mbr=False: {result['ratio_best']:.2f}")  # fmt: skip
    print("decoding 64 sentences, ms")
    for row in result["decoding_ms_64"]:
        shown = "  ".join(f"{name} {row[name]:.1f}" for name in row if name != "words")
        print(f"  {row['words']:3} words  {shown}")
    print(f"first tree in a fresh process, imports included: {result['first_tree_s']:.1f} s of CPU")
    if "memory_mb_before_after_10000" in result:
        before, after = result["memory_mb_before_after_10000"]
        print(f"peak memory: {before:.0f} MB loaded, {after:.0f} MB after 10,000 sentences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
