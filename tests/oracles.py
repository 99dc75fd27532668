"""Slow oracles in plain Python: they import nothing from the package.

A constituency tree is (label, [children]), a child a tree or a word (str); None is an empty tree.
A dependency tree is (word, [children]) with the children in sentence order.
"""

from __future__ import annotations

import math
import random
from collections import Counter

LABELS = "S NP VP PP SBAR ADVP X".split()
TAGS = "NN NNS NNP VBD MD TO VB DT JJ IN CC RB POS CD , . $ PRP".split()
WORDS = "the a dog cat saw had of in and , . to be red home plane".split()


def random_tree(rng, words, labels=LABELS, tags=TAGS, vocabulary=WORDS):
    """A random constituency tree over the given number of words, with unary chains."""

    def grow(count):
        if count == 1 and rng.random() < 0.7:
            return (rng.choice(tags), [rng.choice(vocabulary)])
        label = rng.choice(labels)
        parts = rng.randint(1, min(count, 4))
        cuts = sorted(rng.sample(range(1, count), parts - 1))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, count], strict=True)]
        return (label, [grow(size) for size in sizes])

    return grow(words)


def random_heads(rng, count):
    """A random dependency tree: 1-based heads, one root."""
    order = list(range(1, count + 1))
    rng.shuffle(order)
    heads = [0] * count
    for place in range(1, count):
        heads[order[place] - 1] = order[rng.randrange(place)]
    return heads


def brackets(tree):
    """The bracketing of a tree; an empty string for None."""
    if tree is None:
        return ""
    if isinstance(tree, str):
        return tree
    return f"({tree[0]} {' '.join(brackets(child) for child in tree[1])})"


def words_of(tree):
    if tree is None:
        return []
    if isinstance(tree, str):
        return [tree]
    return [word for child in tree[1] for word in words_of(child)]


def skeleton(tree):
    """Without words: leaves are tags."""
    return (tree[0], [skeleton(child) for child in tree[1] if not isinstance(child, str)])


def lexical(tree):
    """With words as leaf nodes."""
    return (tree, []) if isinstance(tree, str) else (tree[0], [lexical(c) for c in tree[1]])


def nodes(tree):
    yield tree
    for child in tree[1]:
        yield from nodes(child)


def height(tree):
    return 1 + max((height(child) for child in tree[1]), default=0)


def part(tree, depth):
    """The part of a tree within `depth` levels, as nested tuples."""
    if depth == 1:
        return (tree[0],)
    return (tree[0], tuple(part(child, depth - 1) for child in tree[1]))


def subtrees(tree, depth):
    """Counter of the depth-n subtrees."""
    if tree is None:
        return Counter()
    return Counter(part(node, depth) for node in nodes(tree) if height(node) >= depth)


def chains(tree, length):
    """Counter of the downward paths of n words."""
    if tree is None:
        return Counter()

    def down(node, count):
        if count == 1:
            return [(node[0],)]
        return [(node[0], *rest) for child in node[1] for rest in down(child, count - 1)]

    return Counter(chain for node in nodes(tree) for chain in down(node, length))


def from_heads(words, heads):
    """The dependency tree of a head list; None for no words."""
    if not words:
        return None

    def build(number):
        below = [build(child + 1) for child, head in enumerate(heads) if head == number]
        return (words[number - 1], below)

    return build(heads.index(0) + 1)


# Collins (1999), appendix A
COLLINS = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "X": ("right", ""),
}
PUNCTUATION = {".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"}


def head_child(label, children):
    """Number of the head among the children of a node, by Collins' rules."""

    def is_mark(child):
        return child[0] in PUNCTUATION and all(isinstance(part, str) for part in child[1])

    real = [i for i, child in enumerate(children) if not is_mark(child)]
    real = real or list(range(len(children)))
    names = [children[i][0] for i in real]
    choice = None
    if label == "NP":
        if names[-1] == "POS":
            choice = len(names) - 1
        else:
            for direction, wanted in (
                (-1, "NN NNP NNPS NNS NX POS JJR"),
                (1, "NP"),
                (-1, "$ ADJP PRN"),
                (-1, "CD"),
                (-1, "JJ JJS RB QP"),
            ):
                fits = [i for i, name in enumerate(names) if name in wanted.split()]
                if fits:
                    choice = fits[0] if direction == 1 else fits[-1]
                    break
            else:
                choice = len(names) - 1
    else:
        direction, wanted = COLLINS.get(label, ("left", ""))
        order = range(len(names)) if direction == "left" else range(len(names) - 1, -1, -1)
        choice = next((i for want in wanted.split() for i in order if names[i] == want), order[0])
    if choice >= 2 and names[choice - 1] in ("CC", "CONJP"):
        choice -= 2
    return real[choice]


def dependencies(tree):
    """Words and 1-based heads of a constituency tree, by Collins' rules."""
    words, heads = [], []

    def walk(node):
        """The number of the node's head word."""
        if all(isinstance(child, str) for child in node[1]):
            words.append(node[1][0])
            heads.append(0)
            return len(words)
        tops = [walk(child) for child in node[1]]
        head = tops[head_child(node[0], node[1])]
        for top in tops:
            if top != head:
                heads[top - 1] = head
        return head

    if tree is not None:
        walk(tree)
    return words, heads


def kernel_of_pair(x, y, decay=1):
    """Collins & Duffy's C of two nodes with whatever numbers decay has (int, Fraction, float)."""

    def production(node):
        return (node[0], tuple(child[0] for child in node[1]))

    if not x[1] or production(x) != production(y):
        return 0
    value = decay
    for left, right in zip(x[1], y[1], strict=True):
        value *= 1 + kernel_of_pair(left, right, decay)
    return value


def kernel(a, b, decay=1):
    """Collins & Duffy's K."""
    return sum(kernel_of_pair(x, y, decay) for x in nodes(a) for y in nodes(b))


def cosine(a, b, decay=1):
    across = kernel(a, b, decay)
    return float(across) / math.sqrt(kernel(a, a, decay) * kernel(b, b, decay)) if across else 0.0


def clip(hyp, refs):
    return sum(min(count, max(ref[key] for ref in refs)) for key, count in hyp.items())


def mean(fractions, floor):
    """Mean of part/whole over the orders that have a whole; zeros become the floor."""
    values = [part / whole or floor for part, whole in fractions if whole]
    return sum(values) / len(values) if values else 0.0


def f1(p, r):
    return 2 * p * r / (p + r) if p + r else 0.0


def penalty(hyp, ref):
    return 1.0 if hyp >= ref else math.exp(1 - ref / hyp)


def fractions(hyps, refs, keys, orders, balance, epsilon, sizes):
    """Segment scores and corpus score of STM, HWCM or DSTM.

    hyps [B] trees, refs [B][R] trees (None absent), keys(tree, n) a Counter, sizes(tree) tokens.
    """
    span = range(1, orders + 1)
    segments, sums = [], Counter()
    for hyp, others in zip(hyps, refs, strict=True):
        others = [ref for ref in others if ref is not None]
        ours = [keys(hyp, n) for n in span]
        whole = [sum(count.values()) for count in ours]
        if balance in ("recall", "f1"):
            best = None
            for ref in others:
                theirs = [keys(ref, n) for n in span]
                both = [clip(h, [r]) for h, r in zip(ours, theirs, strict=True)]
                total = [sum(count.values()) for count in theirs]
                p = mean(zip(both, whole, strict=True), epsilon)
                r = mean(zip(both, total, strict=True), epsilon)
                score = (f1(p, r) if balance == "f1" else r) if hyp is not None else 0.0
                candidate = (score, both, total)  # of equal scores, the largest counts
                if best is None or candidate > best:
                    best = candidate
            score, both, total = best
            sums.update({("ref", n): value for n, value in zip(span, total, strict=True)})
        else:
            theirs = [[keys(ref, n) for ref in others] for n in span]
            both = [clip(h, r) for h, r in zip(ours, theirs, strict=True)]
            score = mean(zip(both, whole, strict=True), epsilon) if hyp is not None else 0.0
            if balance == "brevity":
                size = sizes(hyp)
                near = min((abs(sizes(ref) - size), sizes(ref)) for ref in others)[1]
                score = score * penalty(size, near) if hyp is not None else 0.0
                sums.update({"hyp length": size, "ref length": near})
        sums.update({("both", n): value for n, value in zip(span, both, strict=True)})
        sums.update({("hyp", n): value for n, value in zip(span, whole, strict=True)})
        segments.append(score)
    p = mean([(sums["both", n], sums["hyp", n]) for n in span], 0.0)
    r = mean([(sums["both", n], sums["ref", n]) for n in span], 0.0)
    if not sums["hyp", 1]:
        return segments, 0.0
    corpus = {"precision": p, "recall": r, "f1": f1(p, r), "brevity": p}[balance]
    if balance == "brevity":
        corpus *= penalty(sums["hyp length"], sums["ref length"])
    return segments, corpus


def random_case(seed, most=60, segments=4):
    """Hypotheses [B] and ragged references [B][R] of random trees; some references absent.

    Small label sets and references made by changing hypotheses give many matches.
    """
    rng = random.Random(seed)
    streams = rng.randint(1, 4)
    labels = rng.sample(LABELS, rng.randint(2, len(LABELS)))
    tags = rng.sample(TAGS, rng.randint(2, len(TAGS)))
    words = rng.sample(WORDS, rng.randint(2, len(WORDS)))

    def tree():
        return random_tree(rng, rng.randint(1, most), labels, tags, words)

    hyps = [tree() if rng.random() > 0.1 else None for _ in range(rng.randint(1, segments))]
    refs = []
    for hyp in hyps:
        row = [
            None if rng.random() < 0.3 else hyp if hyp and rng.random() < 0.2 else tree()
            for _ in range(streams)
        ]
        if all(ref is None for ref in row):
            row[rng.randrange(streams)] = tree()
        refs.append(row)
    return hyps, refs


def all_trees(i, j):
    """Every binary tree over words i … j-1, as lists of spans, the whole one first."""
    if j == i + 1:
        return [[(i, j)]]
    return [
        [(i, j), *left, *right]
        for k in range(i + 1, j)
        for left in all_trees(i, k)
        for right in all_trees(k, j)
    ]
