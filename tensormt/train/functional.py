"""N-gram metrics on token-id tensors: no strings, no host sync, any device.

    hyp [B,T] or [B,K,T] (K samples a segment), refs [B,R,T']  →  statistics  →  metric.score

The numbers are those of the metric classes on the same tokens; only the way to them differs: every
size is known from the shapes, so nothing waits for the device. Hypotheses and references are
compared outright (kernels/ngrams.py) in chunks of segments, so memory is linear in the batch. Where
a text begins and ends is said by `lengths`, or by `pad`, `eos`, `bos` and `skip`, each an id or
several, or `special` (train/special_tokens.py); with none of them every id but −100 is real. A
reference of length 0 is absent; a segment without any reference scores 0.

An n-gram is a clipped match when its rank among equal ones before it is below its largest count in
a reference. Rank and count do not change when the hypothesis goes on, so the statistics of all
prefixes are cumulative sums of one comparison: `prefixes=True`.

NIST and NM take their information from the metric's `counts` (gather them with `metric.fit` from
`TokenBatch.from_ids` batches, on the device where they are to be used), or from the segment's own
references with `info="segment"`. A match that the counts lack adds nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as padded

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import mix, on_cpu
from tensormt.kernels.ngrams import Order, compare, different, share
from tensormt.metric import Metric
from tensormt.ngram.base import NgramMetric
from tensormt.ngram.match_table import MatchTable
from tensormt.train.special_tokens import Ids, SpecialIds, by_values, warn_if_empty

__all__ = ["scores", "statistics"]

# cells compared at a time: they fit a CPU's cache; other devices need more to be busy
_CPU_CELLS, _DEVICE_CELLS = 1 << 20, 1 << 28
_SPAN = 1 << 21  # widest range of ids that is numbered anew: larger than vocabularies are


def statistics(
    metric: Metric[Any],
    hyp: Tensor,
    refs: Tensor,
    hyp_lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    pad: Ids = None,
    eos: Ids = None,
    bos: Ids = None,
    skip: Ids = None,
    special: SpecialIds | None = None,
    prefixes: bool = False,
    per_reference: bool = False,
) -> Tensor:
    """What `metric.statistics` gives for token ids: [B,X], or [B,K,X] for samples hyp [B,K,T].

    refs [B,R,T'], lengths [B] or [B,K], and [B,R]. `prefixes`: of the first 0…T tokens of each,
    [B,T+1,X] or [B,K,T+1,X]; a prefix longer than the segment is the whole segment. A prefix is one
    of the words that are left: what is no word is left out first. `per_reference`: with every
    reference alone, [B,R,X] or [B,K,R,X].
    """
    counter = _check(metric, hyp, refs)
    samples = hyp if hyp.dim() == 3 else hyp[:, None]
    if hyp_lengths is not None and hyp.dim() == 2:
        hyp_lengths = hyp_lengths[:, None]
    special = special or SpecialIds(pad, eos, bos, skip)
    samples, ours, _ = special.read(samples, hyp_lengths)
    refs, theirs, _ = special.read(refs, ref_lengths)
    warn_if_empty(ours)
    samples, refs = _narrow(samples, refs, keep=counter.needs_frequencies)
    size, number, width = samples.shape
    streams, other = refs.shape[1:]
    step = number * max(width, 1) * (streams * (other + 1) + width)
    step = max((_CPU_CELLS if on_cpu(hyp) else _DEVICE_CELLS) // max(step, 1), 1)
    parts = [
        _counted(
            counter, samples[rows], refs[rows], ours[rows], theirs[rows], prefixes, per_reference
        )
        for rows in (slice(k, k + step) for k in range(0, max(size, 1), step))
    ]
    found = torch.cat(parts)
    return found if hyp.dim() == 3 else found[:, 0]


def _counted(
    metric: NgramMetric,
    hyp: Tensor,
    refs: Tensor,
    lengths: Tensor,
    ref_lengths: Tensor,
    prefixes: bool,
    per_reference: bool,
) -> Tensor:
    """Statistics [b,K,(R,)(T+1,)X] of ids [b,K,T] and [b,R,T'] with lengths [b,K] and [b,R]."""
    low = torch.iinfo(hyp.dtype).min
    size, number = lengths.shape
    columns = _columns(hyp.flatten(0, 1), lengths.flatten(), low)
    # one more row below each reference keeps its n-grams apart from the next
    rows = _columns(padded(refs, (0, 1)).flatten(0, 1), ref_lengths.flatten(), low + 1)
    rows = rows.view(refs.shape[2] + 1, *refs.shape[:2]).permute(2, 0, 1).contiguous()
    each = rows[..., None].expand(*rows.shape, number).flatten(-2)
    orders = compare(columns, each, metric.max_order)
    streams = refs.shape[1]
    times, lengths, ref_lengths = 1, lengths.flatten(), ref_lengths.t()
    if per_reference:
        # every reference makes columns of its own, reference after reference
        times, lengths, ref_lengths = streams, lengths.repeat(streams), ref_lengths.reshape(1, -1)
        rows = rows.transpose(0, 1).flatten(1)[None]
        orders = [_apart(order) for order in orders]
    part = MatchTable(
        orders,
        lengths,
        _Facts(rows, ref_lengths, number),
        lambda: mix(columns.to(torch.int64)).repeat(1, times),
        by_shape=True,
        prefixes=prefixes,
    )
    found = metric.count(part, metric.counts if metric.needs_frequencies else None)
    found = found.view(times, size, number, *found.shape[1:])
    return found.movedim(0, 2) if per_reference else found[0]


def _apart(order: Order) -> Order:
    """The columns [b] of an order once for each of R references, alone: [R·b]."""
    counts = order.counts.transpose(0, 1)
    rank = order.rank[:, None].expand(counts.shape)
    return Order(rank.flatten(1), counts.flatten(1)[None])


class _Facts:
    """What metrics ask of references [R,T'+1,b], the same for each of K samples."""

    def __init__(self, refs: Tensor, lengths: Tensor, samples: int) -> None:
        self._refs, self._lengths, self._samples = refs, lengths, samples
        self.lengths = lengths.repeat_interleave(samples, 1, output_size=lengths.shape[1] * samples)
        self.number = (self.lengths > 0).sum(0)

    def diversity(self, max_order: int) -> Tensor:
        """Different n-grams over all n-grams of the references, float64 [b·K,N]; 0/0 is 1."""
        orders = torch.arange(max_order, device=self._refs.device)
        total = (self._lengths[..., None] - orders).clamp_min(0).sum(0)
        found = share(different(self._refs, self._lengths, max_order), total)
        return found[:, None].expand(-1, self._samples, -1).flatten(0, 1)


def _columns(ids: Tensor, lengths: Tensor, padding: int) -> Tensor:
    """Ids [b,T] as columns [T,b], what lies beyond the lengths [b] replaced."""
    beyond = torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]
    return ids.masked_fill(beyond, padding).t().contiguous()


def scores(
    metric: Metric[Any],
    hyp: Tensor,
    refs: Tensor,
    hyp_lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    pad: Ids = None,
    eos: Ids = None,
    bos: Ids = None,
    skip: Ids = None,
    special: SpecialIds | None = None,
    per_reference: bool = False,
) -> Tensor:
    """Segment scores of token ids, float64 [B] or [B,K]; see `statistics`."""
    special = special or SpecialIds(pad, eos, bos, skip)
    found = statistics(
        metric, hyp, refs, hyp_lengths, ref_lengths, special=special, per_reference=per_reference
    )
    return metric.score(found, segment=True)


def _check(metric: Metric[Any], hyp: Tensor, refs: Tensor) -> NgramMetric:
    """The metric, if it counts n-grams and the tensors are as expected."""
    if not hasattr(metric, "count"):
        raise TensorMTError(
            f"{metric.name} does not work on token ids: use a metric that reads tokens here, "
            "or a text reward with a parser"
        )
    counter: Any = metric
    if hyp.dim() not in (2, 3) or refs.dim() != 3 or hyp.shape[0] != refs.shape[0]:
        raise TensorMTError(
            f"hypotheses of shape {list(hyp.shape)} and references of shape {list(refs.shape)}: "
            "expected [B,T] or [B,K,T], and [B,R,T]"
        )
    if not refs.shape[1]:
        raise TensorMTError("no reference given: refs is [B,R,T] with R of at least 1")
    if hyp.dtype != refs.dtype or hyp.is_floating_point() or hyp.dtype == torch.bool:
        raise TensorMTError(
            f"hypotheses are {hyp.dtype}, references {refs.dtype}: expected one integer type"
        )
    kinds = (None, ("ids", False))
    if counter.needs_frequencies and (counter.counts is None or counter.counts.kind not in kinds):
        raise TensorMTError(
            f"{metric.name} needs n-gram counts of token ids: call metric.fit with "
            "TokenBatch.from_ids batches of all references first"
            + (', or take info="segment"' if hasattr(metric, "info") else "")
        )
    return counter  # type: ignore[no-any-return]


def _narrow(hyp: Tensor, refs: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
    """The ids as int16, which the CPU compares twice as fast: numbered anew, or `keep` as they are.

    Only there, and where they fit: looking at the values would be a host sync on other devices.
    """
    if not by_values(hyp) or not (hyp.numel() and refs.numel()):
        return hyp, refs
    low = min(int(hyp.amin()), int(refs.amin()))
    high = max(int(hyp.amax()), int(refs.amax()))
    # two values below those of the type are left for padding
    least, most = torch.iinfo(torch.int16).min + 2, torch.iinfo(torch.int16).max
    if least <= low and high <= most:
        return hyp.to(torch.int16), refs.to(torch.int16)
    if keep or high - low >= _SPAN:
        return hyp, refs
    there = torch.zeros(high - low + 1, dtype=torch.bool, device=hyp.device)
    places = [ids.to(torch.int64) - low for ids in (hyp, refs)]
    for place in places:
        there[place.reshape(-1)] = True
    number = there.cumsum(0)
    if int(number[-1]) > most:
        return hyp, refs
    number = number.to(torch.int16)
    return number[places[0]], number[places[1]]
