"""The parser against supar's own `predict`: same model, same text, one thread, same trees.

    python bench/parser.py [--text FILE] [--sentences N] [--json FILE]

Checked first: both give the same trees (supar knows no mask that keeps tags on words, so a
sentence in which its labels break that rule is counted apart). Then sentences a second of both, in
CPU seconds, best of several runs taken in turn; decoding alone; memory for 10,000 sentences and
time to the first tree in fresh processes. Without --text the sentences come from a small grammar,
about 20 words each.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import nltk
import torch

from tensormt.parser import Parser
from tensormt.parser.decode import best_slots
from tensormt.parser.model import supar_predict

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


def best_time(run, times: int = 3) -> float:
    """CPU seconds of the shortest of some runs."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return min(spent)


def unwrap(tree: nltk.Tree) -> nltk.Tree:
    """supar's tree with words right under their tags."""
    if isinstance(tree[0], nltk.Tree) and tree[0].label() == "_":
        return nltk.Tree(tree.label(), [tree[0][0]])
    if not isinstance(tree[0], nltk.Tree):
        return tree
    return nltk.Tree(tree.label(), [unwrap(child) for child in tree])


def compare(parser: Parser, sentences: list[list[str]]) -> tuple[int, int]:
    """Sentences with the same tree, and those whose supar tree breaks the rule of tags."""
    tags = {label.split("::")[-1] for label in parser.network.settings["narrow"]}
    same = broken = 0
    ours = parser.parse(sentences).to_brackets()
    theirs = supar_predict(parser.network.parser, [list(words) for words in sentences])
    for line, tree in zip(ours, theirs, strict=True):
        plain = unwrap(tree)
        shown = " ".join(str(plain[0] if len(plain) == 1 else plain).split())
        if shown == line:
            same += 1
            continue
        inner = {node.label() for node in plain.subtrees() if node.height() > 2}
        leaves = {node.label() for node in plain.subtrees() if node.height() == 2}
        if not inner & tags and leaves <= tags:
            raise SystemExit(f"different trees:\n  ours  {line}\n  supar {shown}")
        broken += 1
    return same, broken


def decoders(parser: Parser) -> list[dict[str, float]]:
    """Milliseconds to decode 64 sentences of some lengths: CKY here, CKY by gradient in supar."""
    module = sys.modules[type(parser.network.parser).__module__]
    rows = []
    for length in (10, 20, 40, 80):
        scores = torch.randn(64, length + 1, length + 1)
        lengths = torch.full((64,), length)
        ours = best_time(lambda s=scores, n=lengths: best_slots(s, n))
        theirs = best_time(lambda s=scores, n=lengths: module.ConstituencyCRF(s.clone(), n).argmax)
        rows.append({"words": length, "ours": 1e3 * ours, "supar": 1e3 * theirs})
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
    parser = Parser.load("default", split=False)
    same, broken = compare(parser, sentences)
    count = len(sentences)
    text = [" ".join(words) for words in sentences]
    network = parser.network.parser
    runs = {
        "tensormt, tokens": lambda: parser.parse(sentences),
        "tensormt, text": lambda: parser.parse(text),
        "supar predict, best tree": lambda: supar_predict(network, [*map(list, sentences)]),
        "supar predict, default": lambda: supar_predict(network, [*map(list, sentences)], True),
    }
    rounds = [{name: best_time(run, 1) for name, run in runs.items()} for _ in range(args.rounds)]
    rates = {name: count / min(spent[name] for spent in rounds) for name in runs}
    result = {
        "sentences": count,
        "words": sum(map(len, sentences)) / count,
        "same_trees": same,
        "supar_breaks_tag_rule": broken,
        "sentences_a_second": rates,
        "ratio": rates["tensormt, tokens"] / rates["supar predict, best tree"],
        "decoding_ms_64": decoders(parser),
        "first_tree_s": float(fresh(FIRST)),
    }
    if not args.skip_memory:
        result["memory_mb_before_after_10000"] = memory(sentences)
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{count} sentences of {result['words']:.1f} words; same trees in {same}, "
          f"supar puts tags where they do not belong in {broken}")  # fmt: skip
    for name, rate in rates.items():
        print(f"  {name:28} {rate:8.0f} sentences/s")
    print(f"  ratio to supar's predict, same trees: {result['ratio']:.2f}")
    print("decoding 64 sentences, ms")
    for row in result["decoding_ms_64"]:
        print(f"  {row['words']:3} words  tensormt {row['ours']:7.1f}  supar {row['supar']:7.1f}")
    print(f"first tree in a fresh process, imports included: {result['first_tree_s']:.1f} s of CPU")
    if "memory_mb_before_after_10000" in result:
        before, after = result["memory_mb_before_after_10000"]
        print(f"peak memory: {before:.0f} MB loaded, {after:.0f} MB after 10,000 sentences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
