"""BERTScore of one pair of texts in plain Python; imports nothing from the package."""

import math


def cosine(a, b):
    size = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / size


def pair_similarity(a, b):
    """Of pairs (word, head): the product of both cosines, -1 unless both are positive."""
    word, head = cosine(a[0], b[0]), cosine(a[1], b[1])
    return word * head if word > 0 and head > 0 else -1.0


def greedy(hyp, ref, threshold=0.0, cosine=cosine):
    """For each unit of both sides its cosine and partner; 0 and None below the threshold."""
    table = [[cosine(h, r) for r in ref] for h in hyp]
    own = [max((c, -j) for j, c in enumerate(row)) for row in table]
    other = [max((table[i][j], -i) for i in range(len(hyp))) for j in range(len(ref))]
    return [
        [(c, -place) if c >= threshold else (0.0, None) for c, place in side]
        for side in (own, other)
    ]


def one_to_one(hyp, ref, threshold=0.0, cosine=cosine):
    """The same, each unit at most once: all pairs are sorted, and taken one at a time."""
    pairs = [(-cosine(h, r), i, j) for i, h in enumerate(hyp) for j, r in enumerate(ref)]
    own, other = [(0.0, None)] * len(hyp), [(0.0, None)] * len(ref)
    for negative, i, j in sorted(pairs):
        if own[i][1] is None and other[j][1] is None and -negative >= threshold:
            own[i], other[j] = (-negative, j), (-negative, i)
    return own, other


def idf(documents):
    """ln((N + 1) / (n + 1)) of a unit, over the units of each reference."""
    sets = [set(units) for units in documents if units]
    return lambda unit: math.log((len(sets) + 1) / (1 + sum(unit in own for own in sets)))


def scores(hyp, ref, weights_hyp, weights_ref, match=greedy, threshold=0.0):
    """Precision, recall, F."""
    if not hyp or not ref:
        return 0.0, 0.0, 0.0
    shares = []
    for side, weights in zip(match(hyp, ref, threshold), (weights_hyp, weights_ref), strict=True):
        total = sum(weights)
        value = sum(w * c for w, (c, _) in zip(weights, side, strict=True))
        shares.append(value / total if total else 0.0)
    precision, recall = shares
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0
