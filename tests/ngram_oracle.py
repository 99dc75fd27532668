"""Slow n-gram measures in plain Python, written from the papers; nothing of the package is used."""

from __future__ import annotations

import math
from collections import Counter


def grams(tokens: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def present(refs: list[list[str]]) -> list[list[str]]:
    return [ref for ref in refs if ref]


def clip(hyp: list[str], refs: list[list[str]], n: int) -> Counter[tuple[str, ...]]:
    """Clipped matches of one segment, by n-gram."""
    best: Counter[tuple[str, ...]] = Counter()
    for ref in refs:
        for gram, count in Counter(grams(ref, n)).items():
            best[gram] = max(best[gram], count)
    return Counter({g: min(c, best[g]) for g, c in Counter(grams(hyp, n)).items() if best[g]})


def closest(length: int, refs: list[list[str]]) -> int:
    return min((abs(len(ref) - length), len(ref)) for ref in refs)[1]


def brevity(length: int, reference: int) -> float:
    if length >= reference:
        return 1.0
    return math.exp(1 - reference / length) if length else 0.0


def count_all(segments: list[list[list[str]]], top: int) -> tuple[Counter[tuple[str, ...]], int]:
    """Occurrences of every n-gram in all references of all segments, and the number of words."""
    table: Counter[tuple[str, ...]] = Counter()
    for refs in segments:
        for ref in refs:
            for n in range(1, top + 1):
                table.update(grams(ref, n))
    return table, sum(len(ref) for refs in segments for ref in refs)


def info(gram: tuple[str, ...], table: Counter[tuple[str, ...]], words: int) -> float:
    return math.log2((table[gram[:-1]] if len(gram) > 1 else words) / table[gram])


def mean_rank(table: Counter[tuple[str, ...]], frequency: int) -> float:
    places = [k for k, (_, f) in enumerate(table.most_common(), 1) if f == frequency]
    if not places:
        return sum(f > frequency for f in table.values()) + 0.5
    return sum(places) / len(places)


def diver(refs: list[list[str]], n: int) -> float:
    every = [gram for ref in refs for gram in grams(ref, n)]
    return len(set(every)) / len(every) if every else 1.0


def weight(
    gram: tuple[str, ...],
    refs: list[list[str]],
    recurrence: str,
    table: Counter[tuple[str, ...]] | None,
) -> float:
    """R(g) of Eq. 6, or R'(g) of Eq. 7 if a table of all n-grams is given."""
    if table is not None:
        return math.log10(1 + mean_rank(table, table[gram]) * table[gram] / len(refs))
    n = len(gram)
    each = [grams(ref, n).count(gram) for ref in refs]
    m = sum(each) if recurrence == "occurrences" else sum(c > 0 for c in each)
    return diver(refs, n) * math.log10(n + m / len(refs))


def penalty(length: float, reference: float) -> float:
    ratio = min(length / reference, 1.0)
    return math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(ratio) ** 2) if ratio else 0.0


def nist(
    hyps: list[list[str]],
    segments: list[list[list[str]]],
    *,
    top: int = 5,
    scope: str = "testset",
    weighting: str | None = None,
    recurrence: str = "references",
    rows: list[int] | None = None,
) -> float:
    """NIST, or NM with a weighting, of some rows; counts come from all segments."""
    segments = [present(refs) for refs in segments]
    table, words = count_all(segments, top)
    gain, total, length, reference = [0.0] * top, [0] * top, 0, 0.0
    for i in range(len(hyps)) if rows is None else rows:
        hyp, refs = hyps[i], segments[i]
        used = (table, words) if scope == "testset" else count_all([refs], top)
        length += len(hyp)
        reference += sum(map(len, refs)) / len(refs)
        for n in range(1, top + 1):
            total[n - 1] += len(grams(hyp, n))
            for gram, matches in clip(hyp, refs, n).items():
                factor = 1.0
                if weighting is not None:
                    zipf = table if weighting == "zipf" else None
                    factor = weight(gram, refs, recurrence, zipf)
                gain[n - 1] += info(gram, *used) * matches * factor
    return sum(g / t for g, t in zip(gain, total, strict=True) if t) * penalty(length, reference)


def bm(
    hyps: list[list[str]],
    segments: list[list[list[str]]],
    *,
    top: int = 4,
    weighting: str = "recurrence",
    recurrence: str = "references",
    arithmetic: bool = False,
    rows: list[int] | None = None,
    segment: bool = False,
) -> float:
    """BM or BMA of some rows, smoothed if they are one segment."""
    segments = [present(refs) for refs in segments]
    table = count_all(segments, top)[0] if weighting == "zipf" else None
    length = reference = 0
    weighted, matched, total = [0.0] * top, [0] * top, [0] * top
    chosen = list(range(len(hyps))) if rows is None else rows
    for i in chosen:
        hyp, refs = hyps[i], segments[i]
        length += len(hyp)
        reference += closest(len(hyp), refs)
        for n in range(1, top + 1):
            total[n - 1] += len(grams(hyp, n))
            for gram, matches in clip(hyp, refs, n).items():
                matched[n - 1] += matches
                weighted[n - 1] += matches * weight(gram, refs, recurrence, table)
    terms = []
    for n in range(1, top + 1):
        w, m, t = weighted[n - 1], matched[n - 1], total[n - 1]
        if not segment or n == 1:
            terms.append(w / t if t else 0.0)
            continue
        refs = segments[chosen[0]]
        if m:
            r = w / m
        elif table is not None:
            r = math.log10(1 + mean_rank(table, 1) / len(refs))
        else:
            r = diver(refs, n) * math.log10(n + 1 / len(refs))
        terms.append(r * (m + 1) / (t + 1))
    if arithmetic:
        return brevity(length, reference) * sum(terms) / top
    if min(terms) <= 0:
        return 0.0
    return brevity(length, reference) * math.exp(sum(map(math.log, terms)) / top)
