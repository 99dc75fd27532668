"""Items by differences of counts, which are kept and what is said of them: by plain counting."""

import random
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations

import ngram_oracle
import numpy as np
import oracles
import pytest
from reporting.page_samples import HYPS, REFS

from tensormt.evaluator import Evaluator
from tensormt.reporting import item_counts
from tensormt.reporting.collect import collect
from tensormt.segments import Segments
from tensormt.trees.sources import TreesAsText

KEPT, PAIRS = 40, 15


def ways(counts):
    """Every reason for which an item can be kept: its value for each item, [n]."""
    yield [max(row) - min(row) for row in counts]
    yield [sum(row) for row in counts]
    for a, b in list(combinations(range(len(counts[0])), 2))[:PAIRS]:
        yield [row[a] - row[b] for row in counts]
        yield [row[b] - row[a] for row in counts]
        for x, y in ((a, b), (b, a)):  # by ratio, equal ratios by difference
            gaps = [Fraction(row[x] - row[y], 10**9) for row in counts]
            ratios = [Fraction(row[x] + 1, row[y] + 1) - 1 for row in counts]
            yield [ratio + gap for ratio, gap in zip(ratios, gaps, strict=True)]


@pytest.mark.parametrize("systems", [1, 2, 3, 7])  # 7 have more than 15 pairs
def test_the_largest_are_those_of_a_sort(systems):
    """Gaps and ratios of a pair, the range and the sum; equal ones as they come, none below 1."""
    rng = random.Random(systems)
    for size in (0, 1, 30, 400):
        rows = [[rng.choice([0, 0, rng.randrange(9)]) for _ in range(systems)] for _ in range(size)]
        counts = np.array(rows, np.int64).reshape(size, systems)
        expected = set()
        for values in ways(rows) if rows else ():
            best = sorted(range(size), key=lambda k, v=values: -v[k])[:KEPT]
            expected |= {k for k in best if values[k] > 0}
        assert item_counts._most_different(counts).tolist() == sorted(expected)


def counted(hyps, refs, keys):
    """Item → matches by system, and the segments that hold one; `keys` of a text: a Counter."""
    counts, holders = {}, {}
    for system, lines in enumerate(hyps):
        for segment, line in enumerate(lines):
            other = keys(refs[segment])
            for key, count in keys(line).items():
                if min(count, other[key]):
                    counts.setdefault(key, [0] * len(hyps))[system] += min(count, other[key])
                    holders.setdefault(key, set()).add(segment)
    return counts, holders


def check(items, counts, holders):
    """What is said of the items is right; those are kept whose value nobody else's reaches."""
    found = {item.text: item for item in items}
    assert len(found) == len(items)
    for text, item in found.items():
        assert item.counts == counts[text]
        assert item.segments.tolist() == sorted(holders[text])
    names = list(counts)
    for values in ways([counts[name] for name in names]):
        least = sorted(values, reverse=True)[min(KEPT, len(values)) - 1]
        above = {name for name, value in zip(names, values, strict=True) if value > max(least, 0)}
        assert above <= set(found)
    return len(found)


def test_ngrams_of_three_systems():
    """More than are kept, in chunks of seven segments."""
    rng = random.Random(4)
    words = [f"w{k}" for k in range(300)]
    refs = [rng.choices(words, range(300, 0, -1), k=20) for _ in range(60)]
    hyps = [
        [[w if rng.random() < share else rng.choice(words) for w in ref] for ref in refs]
        for share in (0.9, 0.6, 0.3)
    ]
    *systems, lines = [[" ".join(row) for row in rows] for rows in (*hyps, refs)]
    corpus = Segments(dict(zip("abc", systems, strict=True)), [lines])
    items = item_counts.items_by_difference(
        collect(Evaluator(["bleu:max_order=2"]), corpus, size=7)
    )
    for order in (1, 2):
        own = [item for item in items if item.order == order]
        assert {(item.metric, item.name) for item in own} == {
            ("bleu:max_order=2", f"{order}-grams")
        }
        grams = partial(ngram_oracle.grams, n=order)
        counts, holders = counted(hyps, refs, lambda row, of=grams: Counter(map(" ".join, of(row))))
        assert KEPT < check(own, counts, holders) < len(counts)


def test_subtrees_of_two_systems():
    """All of them, as there are few."""
    rng = random.Random(5)
    refs, *hyps = [[oracles.random_tree(rng, 9) for _ in range(25)] for _ in range(3)]
    *systems, lines = [[oracles.brackets(tree) for tree in rows] for rows in (*hyps, refs)]
    corpus = Segments(dict(zip("ab", systems, strict=True)), [lines])
    items = item_counts.items_by_difference(
        collect(Evaluator(["stm:max_depth=2"], TreesAsText()), corpus, size=10)
    )

    def shown(part):
        label, *below = part
        return f"({label} {' '.join(child for (child,) in below[0])})" if below else label

    def keys(tree, depth):
        found = oracles.subtrees(oracles.skeleton(tree), depth)
        return Counter({shown(part): count for part, count in found.items()})

    for depth in (1, 2):
        own = [item for item in items if item.order == depth]
        counts, holders = counted(hyps, refs, partial(keys, depth=depth))
        assert check(own, counts, holders) == len(counts) > 3


def test_items_count_what_an_oracle_counts(page):
    groups = {(g["metric"], g["order"]): g for g in page.meta["items"]}
    refs = [[stream[i].split() for stream in REFS if stream[i]] for i in range(4)]
    for order in (1, 2):
        counts, holders = {}, {}
        for s, lines in enumerate(HYPS.values()):
            for i, line in enumerate(lines):
                for gram, count in ngram_oracle.clip(line.split(), refs[i], order).items():
                    if count:
                        counts.setdefault(" ".join(gram), [0] * 3)[s] += count
                        holders.setdefault(" ".join(gram), set()).add(i)
        group = groups["bleu:max_order=2", order]
        steps, at = page.array(group["steps"]).tolist(), 0
        assert set(group["texts"]) == set(counts)
        for text, found, size in zip(group["texts"], group["counts"], group["sizes"], strict=True):
            assert found == counts[text]
            assert np.cumsum(steps[at : at + size]).tolist() == sorted(holders[text])
            at += size
