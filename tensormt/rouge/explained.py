"""What ROUGE matched: n-grams, words of the common subsequence, or pairs of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.edit.engine import pairs, word_counts
from tensormt.edit.explained import aligned
from tensormt.explanation import Explanation
from tensormt.kernels.backend import repeat, take
from tensormt.kernels.counts import Keys
from tensormt.kernels.counts import occurrences as counted_keys
from tensormt.kernels.matches import Items, Occurrences, items
from tensormt.kernels.subsequence import common_places
from tensormt.ngram.keys import occurrences
from tensormt.ngram.references import References
from tensormt.rouge import engine, skip_bigrams
from tensormt.rouge.sentences import sentences, union_places
from tensormt.text.rouge_tokens import SENTENCE_END
from tensormt.text.tokens import TokenBatch, unify

if TYPE_CHECKING:
    from tensormt.rouge.rouge import ROUGE

_MATCHED = 4  # column of the statistics


def explain(metric: ROUGE, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
    """Return what each segment shares with the reference of its best F."""
    hyp, ready = engine.prepared(metric, hyp, refs)
    scores = engine.shared(metric, hyp, ready).scores()
    if metric.variant == "w":
        scores = engine.f_of(scores[:2] ** (1 / metric.weight))
    chosen = engine.best(scores[2], ready.lengths > 0)
    if metric.variant in ("l", "w"):
        return _subsequence(hyp, ready, chosen, [_MATCHED] if metric.variant == "l" else [])
    if metric.variant == "lsum":
        return _union(hyp, ready, chosen)
    if metric.variant in ("s", "su"):
        return _pairs(metric, hyp, ready, chosen)
    order = int(metric.variant)
    own, *others = [_of_order(occurrences(batch, order), order) for batch in (hyp, *ready)]
    columns: list[list[int]] = [[] for _ in range(order - 1)]
    columns.append([_MATCHED])
    found = _real(hyp, items(own, others, chosen))
    return Explanation("n-gram", hyp, ready, found, columns=columns, best=chosen, evenly=True)


def _real(hyp: TokenBatch, found: Items) -> Items:
    """Without the matches of text that has no token."""
    return found._replace(counted=found.counted & (take(word_counts(hyp), found.hyp.segment) > 0))


def _of_order(side: Occurrences, order: int) -> Occurrences:
    wanted = side.order == order
    return Occurrences(*(part[wanted] for part in side))


def _subsequence(
    hyp: TokenBatch, refs: References, chosen: Tensor, columns: list[int]
) -> Explanation:
    """The words of a longest common subsequence, places of the hypothesis."""
    own, other = pairs(hyp, refs)
    rows = chosen * len(hyp) + torch.arange(len(hyp), device=chosen.device)
    taken = common_places(other.of(rows), own.of(rows))
    found = aligned(hyp, refs, chosen, ~taken, columns=columns)
    return replace(found, evenly=True)


def _union(hyp: TokenBatch, refs: References, chosen: Tensor) -> Explanation:
    """The words that the hypothesis shares with the union of subsequences in the reference."""
    own, *streams = unify([hyp, *refs.streams])
    one, *others = sentences([own, *streams], SENTENCE_END)
    sides = [_words(own, one.words)]
    for stream, other in zip(streams, others, strict=True):
        sides.append(_words(stream, union_places(one, other)))
    found = items(sides[0], sides[1:], chosen)
    return Explanation("word", own, streams, found, columns=[[_MATCHED]], best=chosen, evenly=True)


def _words(batch: TokenBatch, wanted: Tensor) -> Occurrences:
    segment, place = repeat(batch.lengths)
    found = Occurrences(segment, torch.ones_like(segment), place, batch.hashes)
    return Occurrences(*(part[wanted] for part in found))


def _pairs(metric: ROUGE, hyp: TokenBatch, refs: References, chosen: Tensor) -> Explanation:
    """Pairs of words, of any distance alike."""
    own, *others = [
        skip_bigrams.occurrences(batch, metric.max_skip, metric.variant == "su")
        for batch in (hyp, *refs)
    ]
    keys = [Keys(side.segment, side.key) for side in (own, *others)]
    rank, counts = counted_keys(keys[0], keys[1:], len(hyp))
    which = take(chosen, own.segment)
    most = counts.gather(0, which[None])[0]
    found = Items(own, others, rank < most, counts, torch.where(most > 0, which, -1))
    far = max((int(side.order.max()) for side in (own, *others) if len(side.order)), default=1)
    columns = [[_MATCHED]] * far
    found = _real(hyp, found)
    return Explanation("skip-bigram", hyp, refs, found, columns=columns, best=chosen, evenly=True)
