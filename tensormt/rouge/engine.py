"""Tensor engine of ROUGE: what each segment shares with each reference, and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from tensormt.edit.engine import pairs, reference_word_counts, word_counts
from tensormt.errors import TensorMTError
from tensormt.formulas import ratio
from tensormt.kernels.subsequence import subsequences
from tensormt.kernels.weighted_subsequence import weighted_subsequences
from tensormt.ngram.matching import matches
from tensormt.ngram.references import References
from tensormt.rouge.sentences import union_matches
from tensormt.rouge.skip_bigrams import pair_counts, pair_matches
from tensormt.text.dictionary import Dictionary
from tensormt.text.plain_tokens import NO_TOKEN
from tensormt.text.rouge_tokens import SENTENCE_END, stem
from tensormt.text.stopwords import STOP_WORDS
from tensormt.text.tokens import TokenBatch

if TYPE_CHECKING:
    from tensormt.rouge.rouge import ROUGE


class Shared(NamedTuple):
    """What B segments share with R references.

    matched int64 or float64 [R,B]; hyp, ref: items of both sides, float64 [R,B].
    """

    matched: Tensor
    hyp: Tensor
    ref: Tensor

    def scores(self) -> Tensor:
        """Return precision, recall and F, float64 [3,R,B]."""
        shares = [ratio(self.matched.double(), side.double()) for side in (self.hyp, self.ref)]
        return f_of(torch.stack(shares))


def f_of(shares: Tensor) -> Tensor:
    """Add F to precision and recall [2,...], float64 [3,...]."""
    precision, recall = shares
    both = ratio(2 * precision * recall, precision + recall)
    return torch.cat([shares, both[None]])


def joint_statistics(
    metrics: Sequence[ROUGE], hyp: TokenBatch, refs: Sequence[TokenBatch]
) -> list[Tensor]:
    """Return the statistics of metrics that read alike: texts and n-grams are prepared once."""
    hyp, ready = prepared(metrics[0], hyp, refs)
    orders = {int(metric.variant) for metric in metrics if metric.variant.isdigit()}
    ngrams = _ngram_matches(hyp, ready, orders) if orders else {}
    return [statistics(metric, hyp, ready, ngrams) for metric in metrics]


def statistics(
    metric: ROUGE, hyp: TokenBatch, ready: References, ngrams: Mapping[int, Tensor]
) -> Tensor:
    """Return segments, precision, recall, F and matches of prepared texts, float64 [B,5]."""
    found = shared(metric, hyp, ready, ngrams)
    present = ready.lengths > 0
    scores = found.scores()
    if metric.variant == "w":
        scores = f_of(scores[:2] ** (1 / metric.weight))
    chosen = best(scores[2], present)[None]
    matched = found.matched.double().gather(0, chosen)[0]
    if metric.references == "average":
        sums = Shared(*(torch.where(present, part, 0).sum(0) for part in found))
        value = sums.scores()
        if metric.variant == "w":
            value = f_of(value[:2] ** (1 / metric.weight))
    elif metric.references == "jackknife":
        value = _jackknife(scores, present)
    else:
        value = scores.gather(1, chosen.expand(3, 1, -1))[:, 0]
    return torch.stack([torch.ones_like(matched), *value, matched], 1)


def best(scores: Tensor, present: Tensor) -> Tensor:
    """Return the present reference with the best F [R,B], the first of equal ones, int64 [B]."""
    return torch.where(present, scores, -1.0).argmax(0)


def _jackknife(scores: Tensor, present: Tensor) -> Tensor:
    """The mean of precision, recall and F [3,R,B] of the best of all references but one, [3,B]."""
    number = present.sum(0)
    total = torch.zeros_like(scores[:, 0])
    for left_out in range(present.shape[0]):
        others = present.clone()
        others[left_out] = False
        # a single reference stays
        others = torch.where(number > 1, others, present)
        chosen = best(scores[2], others)[None, None].expand(3, 1, -1)
        total += torch.where(present[left_out], scores.gather(1, chosen)[:, 0], 0.0)
    return total / number.clamp_min(1)


def shared(
    metric: ROUGE, hyp: TokenBatch, refs: References, ngrams: Mapping[int, Tensor] | None = None
) -> Shared:
    """Count what each segment shares with each reference; ngrams: those of orders at hand."""
    own, other = word_counts(hyp), reference_word_counts(refs)
    nothing = (own == 0) | (other == 0)
    if metric.variant == "lsum":
        matched, own, other = union_matches(hyp, refs, SENTENCE_END)
    elif metric.variant == "l":
        matched = subsequences(*pairs(hyp, refs)).view_as(refs.lengths)
    elif metric.variant == "w":
        matched = weighted_subsequences(*pairs(hyp, refs), metric.weight).view_as(refs.lengths)
        own, other = (side.double() ** metric.weight for side in (own, other))
    elif metric.variant in ("s", "su"):
        singles = metric.variant == "su"
        matched = pair_matches(hyp, refs, metric.max_skip, singles)
        own, other = (pair_counts(side, metric.max_skip, singles) for side in (own, other))
    else:
        order = int(metric.variant)
        matched = (ngrams or _ngram_matches(hyp, refs, {order}))[order]
        own, other = ((side - order + 1).clamp_min(0) for side in (own, other))
    return Shared(matched.masked_fill(nothing, 0), own.expand_as(other), other)


def _ngram_matches(hyp: TokenBatch, refs: References, orders: Set[int]) -> dict[int, Tensor]:
    """The n-grams of some orders in common with each reference, int64 [R,B] each."""
    found = {order: torch.empty_like(refs.lengths) for order in orders}
    for rows, table in matches(hyp, refs, max(orders)):
        for order, counts in found.items():
            own = table.orders[order - 1]
            counts[:, rows] = (own.rank < own.counts).sum(1)
    return found


def prepared(
    metric: ROUGE, hyp: TokenBatch, refs: Sequence[TokenBatch]
) -> tuple[TokenBatch, References]:
    """Return both sides as they are compared: in lower case, without stop words, as stems."""
    if metric.reads.lowercase:
        hyp, refs = hyp.lowered, [ref.lowered for ref in refs]
    if not metric.stop_words:
        hyp, refs = _content(hyp), [_content(ref) for ref in refs]
    if metric.stem:
        hyp, refs = _stemmed(hyp), [_stemmed(ref) for ref in refs]
    return hyp, refs if isinstance(refs, References) else References(refs)


def _content(batch: TokenBatch) -> TokenBatch:
    """The batch without stop words; a text of nothing else keeps NO_TOKEN, as it is present."""
    if batch.dictionary is None:
        raise TensorMTError("token ids have no stop words: use ROUGE(stop_words=True), or text")
    words = batch.dictionary.strings
    numbers, names = Dictionary.encode([*words, NO_TOKEN])
    numbers = numbers.to(batch.device, torch.int32)
    kinds = [word not in STOP_WORDS for word in words]
    content = torch.tensor(kinds, dtype=torch.bool, device=batch.device)
    kept = content.index_select(0, batch.tokens)
    owner = torch.repeat_interleave(batch.lengths)
    lengths = torch.zeros_like(batch.lengths).index_add_(0, owner, kept.to(batch.lengths.dtype))
    emptied = (batch.lengths > 0) & (lengths == 0)
    first = batch.starts[emptied]
    tokens = numbers.index_select(0, batch.tokens)
    tokens[first], kept[first] = numbers[-1], True
    lengths += emptied
    return TokenBatch(tokens[kept], lengths, names, batch.tokenize, batch.lowercase)


def _stemmed(batch: TokenBatch) -> TokenBatch:
    if batch.dictionary is None:
        raise TensorMTError("token ids have no stems: use ROUGE(stem=False), or text")
    numbers, names = Dictionary.encode([stem(word) for word in batch.dictionary.strings])
    tokens = numbers.to(batch.device, torch.int32).index_select(0, batch.tokens)
    return TokenBatch(tokens, batch.lengths, names, batch.tokenize, batch.lowercase)
