"""Random bracketings with all that treebanks contain, and random head lists."""

from __future__ import annotations

import random

import oracles

LABELS = "S NP VP X ,".split()  # a comma with children is no punctuation
TAGS = "NN VB CC , . -LRB- POS".split()
WORDS = "a b c the , . and é İ 漢 👩\u200d🚀 e\u0301".split()


def bracketing(rng: random.Random, words: int) -> str:
    """A bracketing with bare words, function tags, now and then empty elements and outer nodes."""
    odd = rng.random()

    def grow(count: int) -> str:
        if count == 1 and rng.random() < 0.7:
            return f"({rng.choice(TAGS)}{tag()} {rng.choice(WORDS)})"
        cuts = sorted(rng.sample(range(1, count), rng.randint(1, min(count, 4)) - 1))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, count], strict=True)]
        children = [grow(size) if rng.random() < 0.95 else rng.choice(WORDS) for size in sizes]
        if odd < 0.1 and rng.random() < 0.2:
            children.insert(rng.randint(0, len(children)), "(-NONE- *T*-1)")
        return f"({rng.choice(LABELS)}{tag()} {' '.join(children)})"

    def tag() -> str:
        return rng.choice(["", "", "", "-SBJ", "-SBJ-1", "=2"])

    tree = grow(words)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        tree = f"({rng.choice(['ROOT', 'TOP'])} {tree})"
    return f"({tree})" if rng.random() < 0.2 else tree


def bracketings(rng: random.Random, count: int, most: int = 15, absent: float = 0.2) -> list[str]:
    """Some bracketings, some of them absent."""
    return [
        "" if rng.random() < absent else bracketing(rng, rng.randint(1, most)) for _ in range(count)
    ]


def heads(
    rng: random.Random, count: int, most: int = 15, absent: float = 0.2
) -> tuple[list[list[str]], list[list[int]], list[list[str]]]:
    """Words, heads and relations of some dependency trees, some of them absent."""
    sizes = [0 if rng.random() < absent else rng.randint(1, most) for _ in range(count)]
    return (
        [rng.choices(WORDS[:5], k=size) for size in sizes],
        [oracles.random_heads(rng, size) for size in sizes],
        [rng.choices(["nsubj", "obj", "root"], k=size) for size in sizes],
    )
