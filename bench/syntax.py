"""Speed of the syntactic side against plain Python on nltk trees, one thread, in one run.

    python bench/syntax.py [--segments 2000] [--json FILE]

Trees are random binary-ish constituency trees of 20 words with Penn labels. Every result is checked
against the peer's before anything is timed; both sides run in turn (fair.py), the median counts.
The times of growth are per pair of trees, from text.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import nltk
import torch
from fair import in_turn, race

import tensormt as tm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import oracles  # the slow oracles of the tests give the random trees and the head rules

LABELS = "S NP VP PP SBAR ADVP ADJP NP NP VP PP".split()
TAGS = "NN NNS NNP VBD MD TO VB DT JJ IN CC RB CD PRP VBZ".split()


def sentences(count: int, words: int, seed: int) -> list[str]:
    """Bracketings of random trees."""
    rng = random.Random(seed)
    tags = {f"w{k}": rng.choice(TAGS) for k in range(5000)}
    # words by Zipf's law, each with a tag of its own
    vocabulary = rng.choices(list(tags), [1 / (k + 1) for k in range(5000)], k=20000)

    def tagged(tree: tuple[str, list]) -> tuple[str, list]:
        label, children = tree
        if isinstance(children[0], str):
            return (tags[children[0]], children)
        return (label, [tagged(child) for child in children])

    return [
        oracles.brackets(tagged(oracles.random_tree(rng, words, LABELS, TAGS, vocabulary)))
        for _ in range(count)
    ]


def timed(work: Callable[[], object]) -> float:
    """Seconds of one run, after one to warm up."""
    work()
    return in_turn(work, runs=5)[0]


# --- the peers: plain Python on nltk trees ------------------------------------------------------


def nltk_stm(hyp: str, ref: str, depth: int) -> float:
    """STM by recursion and Counters."""

    def keys(line: str) -> list[Counter[str]]:
        counts: list[Counter[str]] = [Counter() for _ in range(depth)]

        def walk(tree: nltk.Tree) -> tuple[int, list[str]]:
            below = [walk(child) for child in tree if isinstance(child, nltk.Tree)]
            tall = 1 + max((h for h, _ in below), default=0)
            names = [tree.label()]
            for level in range(1, depth):
                parts = " ".join(keys[level - 1] for _, keys in below)
                names.append(f"({tree.label()} {parts})")
            for level in range(min(tall, depth)):
                counts[level][names[level]] += 1
            return tall, names

        walk(nltk.Tree.fromstring(line))
        return counts

    fractions = []
    for hyp_keys, ref_keys in zip(keys(hyp), keys(ref), strict=True):
        total = sum(hyp_keys.values())
        if total:
            fractions.append(sum(min(n, ref_keys[key]) for key, n in hyp_keys.items()) / total)
    return sum(fractions) / len(fractions)


def nltk_tkm(hyp: str, ref: str) -> float:
    """Normalised tree kernel by a memoised recursion over nodes with equal productions."""

    def nodes(line: str) -> list[nltk.Tree]:
        return [t for t in nltk.Tree.fromstring(line).subtrees() if isinstance(t[0], nltk.Tree)]

    def production(tree: nltk.Tree) -> tuple[str, ...]:
        return (tree.label(), *(child.label() for child in tree))

    def kernel(left: list[nltk.Tree], right: list[nltk.Tree]) -> int:
        table: dict[tuple[str, ...], list[nltk.Tree]] = {}
        for tree in right:
            table.setdefault(production(tree), []).append(tree)
        memo: dict[tuple[int, int], int] = {}

        def common(x: nltk.Tree, y: nltk.Tree) -> int:
            key = (id(x), id(y))
            if key not in memo:
                value = 1
                for a, b in zip(x, y, strict=True):
                    inner = isinstance(a[0], nltk.Tree) and isinstance(b[0], nltk.Tree)
                    if inner and production(a) == production(b):
                        value *= 1 + common(a, b)
                memo[key] = value
            return memo[key]

        return sum(common(x, y) for x in left for y in table.get(production(x), []))

    a, b = nodes(hyp), nodes(ref)
    across = kernel(a, b)
    return across / math.sqrt(kernel(a, a) * kernel(b, b)) if across else 0.0


def plain_hwcm(
    hyp: tuple[list[str], list[int]], ref: tuple[list[str], list[int]], most: int
) -> float:
    """HWCM from head arrays by tuples and Counters."""

    def chains(words: list[str], heads: list[int]) -> list[Counter[tuple[str, ...]]]:
        counts: list[Counter[tuple[str, ...]]] = [Counter() for _ in range(most)]
        for place, word in enumerate(words):
            chain, up = (word,), heads[place]
            counts[0][chain] += 1
            for length in range(1, most):
                if not up:
                    break
                chain = (words[up - 1], *chain)
                counts[length][chain] += 1
                up = heads[up - 1]
        return counts

    fractions = []
    for hyp_keys, ref_keys in zip(chains(*hyp), chains(*ref), strict=True):
        total = sum(hyp_keys.values())
        if total:
            found = sum(min(n, ref_keys[key]) for key, n in hyp_keys.items()) / total
            fractions.append(found or 1e-3)
    return sum(fractions) / len(fractions)


# --- the comparison -----------------------------------------------------------------------------


def close(found: torch.Tensor, peer: list[float]) -> None:
    expected = torch.tensor(peer, dtype=torch.float64)
    assert torch.allclose(found, expected, rtol=1e-9, atol=1e-12), (found - expected).abs().max()


def anew(batch: tm.TreeBatch) -> tm.TreeBatch:
    """The same head arrays in a new batch, without anything derived from them."""
    nodes = batch.nodes
    bare = type(nodes)(nodes.parent, nodes.label, nodes.word, nodes.offsets, nodes.width)
    return tm.TreeBatch.from_nodes(bare, batch.labels, batch.words, batch.kind)


def compare(segments: int) -> list[dict[str, object]]:
    """One row a job: microseconds a segment of the peer and ours, their ratio, the goal."""
    hyps, refs = sentences(segments, 20, 1), sentences(segments, 20, 2)
    few = min(segments, 300)
    read = tm.TreeBatch.from_brackets
    heads = [read(lines).dependencies().to_heads() for lines in (hyps, refs)]
    pairs = [list(zip(*side, strict=True)) for side in heads]

    batch = read(hyps[:few])
    for line, again in zip(hyps[:few], batch.to_brackets(), strict=True):
        assert nltk.Tree.fromstring(line) == nltk.Tree.fromstring(again)
    stm, tkm, hwcm = tm.STM(4), tm.TKM(), tm.HWCM(4)
    batches = (read(hyps[:few]), [read(refs[:few])])
    close(stm(*batches), [nltk_stm(h, r, 4) for h, r in zip(hyps[:few], refs, strict=False)])
    close(tkm(*batches), [nltk_tkm(h, r) for h, r in zip(hyps[:few], refs, strict=False)])
    from_heads = tm.TreeBatch.from_heads
    arrays = [from_heads(*side) for side in heads]
    found = hwcm(from_heads(*heads[0])[:few], [from_heads(*heads[1])[:few]])
    close(found, [plain_hwcm(h, r, 4) for h, r in zip(pairs[0][:few], pairs[1], strict=False)])

    jobs: list[tuple[str, Callable[[], object], Callable[[], object], int]] = [
        (
            "read brackets, with productions",
            lambda: [nltk.Tree.fromstring(line) for line in hyps[:few]],
            lambda: (lambda t: t.nodes.productions(t.labels.hashes))(read(hyps)),
            12,
        ),
        (
            "STM-4 from text",
            lambda: [nltk_stm(h, r, 4) for h, r in zip(hyps[:few], refs, strict=False)],
            lambda: stm(read(hyps), [read(refs)]),
            20,
        ),
        (
            "TKM from text",
            lambda: [nltk_tkm(h, r) for h, r in zip(hyps[:few], refs, strict=False)],
            lambda: tkm(read(hyps), [read(refs)]),
            20,
        ),
        (
            "HWCM-4 from head arrays",
            lambda: [plain_hwcm(h, r, 4) for h, r in zip(pairs[0][:few], pairs[1], strict=False)],
            lambda: hwcm(anew(arrays[0]), [anew(arrays[1])]),
            15,
        ),
        (
            "HWCM-4 from lists of words, heads",
            lambda: [plain_hwcm(h, r, 4) for h, r in zip(pairs[0][:few], pairs[1], strict=False)],
            lambda: hwcm(from_heads(*heads[0]), [from_heads(*heads[1])]),
            0,
        ),
    ]
    rows: list[dict[str, object]] = []
    for name, peer, ours, goal in jobs:
        found = race(name, "plain Python on nltk's trees", ours, peer, segments, few)
        rows.append({**dataclasses.asdict(found), "ratio": found.ratio, "goal": goal})
    return rows


def growth() -> list[dict[str, object]]:
    """Exponent of the time per pair of trees, from text, between 20 and 200 words."""
    rows: list[dict[str, object]] = []
    read = tm.TreeBatch.from_brackets
    sides = {n: (sentences(60000 // n, n, 3), sentences(60000 // n, n, 4)) for n in (20, 200)}
    for metric in (tm.STM(4), tm.HWCM(4), tm.DSTM(3), tm.TKM(), tm.DTKM()):
        took = {
            n: timed(lambda m=metric, h=hyps, r=refs: m(read(h), [read(r)])) / len(hyps)
            for n, (hyps, refs) in sides.items()
        }
        power = math.log(took[200] / took[20]) / math.log(10)
        rows.append(
            {
                "metric": metric.name,
                "us_20_words": took[20] * 1e6,
                "us_200_words": took[200] * 1e6,
                "power": power,
                "goal": 1.3,
            }
        )
    return rows


def single(count: int = 100) -> list[dict[str, object]]:
    """Milliseconds of one segment at a time, from trees."""
    sides = [[tm.TreeBatch.from_brackets([s]) for s in sentences(count, 20, k)] for k in (5, 6)]

    def run(metric: Callable[..., torch.Tensor]) -> None:
        for hyp, ref in zip(*sides, strict=True):
            metric(again(hyp), [again(ref)])

    return [
        {"metric": metric.name, "ms": timed(lambda m=metric: run(m)) / count * 1e3, "goal": 1.5}
        for metric in (tm.STM(4), tm.HWCM(4), tm.DSTM(3), tm.TKM(), tm.DTKM())
    ]


def again(batch: tm.TreeBatch) -> tm.TreeBatch:
    """The same trees as they were read, without anything derived from them."""
    nodes = dataclasses.replace(batch.nodes)
    return tm.TreeBatch.from_nodes(nodes, batch.labels, batch.words, batch.kind)


def main() -> None:
    """Check, time, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    jobs, powers, singles = compare(args.segments), growth(), single()
    print(f"{'job (µs a segment)':34}{'peer':>10}{'ours':>10}{'ratio':>8}{'goal':>6}")
    for row in jobs:
        print(
            f"{row['job']:34}{row['peer_us']:10.1f}{row['ours_us']:10.2f}"
            f"{row['ratio']:8.1f}{row['goal'] or '':>6}"
        )
    print(
        f"\n{'growth (µs a pair of trees)':34}{'20 words':>10}{'200 words':>10}{'N^':>8}{'goal':>6}"
    )
    for row in powers:
        print(
            f"{row['metric']:34}{row['us_20_words']:10.1f}{row['us_200_words']:10.1f}"
            f"{row['power']:8.2f}{row['goal']:6}"
        )
    print(f"\n{'one segment, from trees':34}{'ms':>10}{'goal':>10}")
    for row in singles:
        print(f"{row['metric']:34}{row['ms']:10.2f}{row['goal']:10}")
    if args.json:
        figures = {"jobs": jobs, "growth": powers, "single": singles}
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
