"""Slow oracles in plain Python for error rates and ROUGE: they import nothing from the package."""

from __future__ import annotations

from collections import Counter


def table(text, pattern):
    """The edit distances of all prefixes of two sequences."""
    rows = [list(range(len(pattern) + 1))]
    for i, word in enumerate(text, 1):
        row = [i]
        for j, other in enumerate(pattern, 1):
            row.append(min(rows[-1][j - 1] + (word != other), rows[-1][j] + 1, row[-1] + 1))
        rows.append(row)
    return rows


def distance(text, pattern):
    return table(text, pattern)[-1][-1]


def edits(text, pattern):
    """The edits from the end: both words before a deletion from the text before an insertion."""
    rows, i, j, found = table(text, pattern), len(text), len(pattern), []
    while i or j:
        here = rows[i][j]
        if i and j and rows[i - 1][j - 1] + (text[i - 1] != pattern[j - 1]) == here:
            i, j = i - 1, j - 1
            found.append(("match" if text[i] == pattern[j] else "substitution", i, j))
        elif i and rows[i - 1][j] + 1 == here:
            i -= 1
            found.append(("delete", i, j))
        else:
            j -= 1
            found.append(("insert", i, j))
    return found[::-1]


def common(text, pattern):
    """The length of the longest common subsequence."""
    row = [0] * (len(pattern) + 1)
    for word in text:
        last = row
        row = [0]
        for j, other in enumerate(pattern, 1):
            row.append(last[j - 1] + 1 if word == other else max(last[j], row[-1]))
    return row[-1]


def bag_distance(text, pattern):
    shared = sum((Counter(text) & Counter(pattern)).values())
    return max(len(text), len(pattern)) - shared


def best(pairs):
    """Of (edits, length) the smallest rate, of equal ones the shortest reference."""
    return min((edits / length, length, edits) for edits, length in pairs)


def weighted(text, pattern, weight):
    """The weighted longest common subsequence of Lin (2004)."""
    size = len(pattern) + 1
    value, runs = [0.0] * size, [0] * size
    for word in text:
        new, new_runs = [0.0] * size, [0] * size
        for j, other in enumerate(pattern, 1):
            if word == other:
                run = runs[j - 1]
                new[j] = value[j - 1] + (run + 1) ** weight - run**weight
                new_runs[j] = run + 1
            else:
                new[j] = max(value[j], new[j - 1])
        value, runs = new, new_runs
    return value[-1]


def skip_bigrams(words, max_skip, singles):
    """All pairs of words with at most so many words between them, as a bag."""
    found = Counter((word,) for word in words) if singles else Counter()
    for i, word in enumerate(words):
        end = len(words) if max_skip < 0 else i + max_skip + 2
        found.update((word, other) for other in words[i + 1 : end])
    return found


def shares(matched, hyp, ref, power=1.0):
    """Precision, recall and F."""
    precision = (matched / hyp) ** power if hyp else 0.0
    recall = (matched / ref) ** power if ref else 0.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0
