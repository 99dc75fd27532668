"""N-gram metrics on tensors of token ids, on any device, without synchronization.

    hyp [B,T] or [B,K,T] (K samples per segment), refs [B,R,T']  →  statistics  →  metric.score

Results equal those of the metric classes on the same tokens. All sizes follow from the shapes, so
there is no synchronization with the device. Hypotheses and references are compared position by
position (kernels/ngrams.py) in chunks of segments, so memory is linear in the batch. The ids that
count are given by `lengths`, or by `pad`, `eos`, `bos` and `skip`, each one id or several, or by
`special` (train/special_tokens.py); without any of them all ids except −100 count. A reference of
length 0 is missing; a segment without any reference scores 0.

An n-gram is a clipped match if its rank among equal n-grams before it is below its largest count in
a reference. Neither changes when the hypothesis is extended, so the statistics of all prefixes are
cumulative sums of one comparison: `prefixes=True`.

NIST and NM use the n-gram counts of the metric (compute them with `metric.fit` from
`TokenBatch.from_ids` batches, on the same device), or the segment's own references with
`info="segment"`. Matches that are not in the counts add nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as padded

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import at_a_time, mix, on_cpu
from tensormt.kernels.ngrams import Order, compare, different, share
from tensormt.metric import Metric
from tensormt.ngram.base import NgramMetric
from tensormt.ngram.match_table import MatchTable
from tensormt.options import describe
from tensormt.train.special_tokens import Ids, SpecialIds, values_readable, warn_if_empty

__all__ = ["scores", "statistics"]

_CELLS, _BYTES = 1 << 20, 4  # cells compared at a time on a CPU, and bytes of one elsewhere
_MAX_RANGE = 1 << 21  # largest range of ids that are renumbered: larger than vocabularies


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
    """Compute the statistics of a metric on token ids.

    Args:
        metric: Metric of n-grams.
        hyp: Ids of hypotheses, int [B,T], or of K samples per segment, int [B,K,T].
        refs: Ids of references, int [B,R,T'].
        hyp_lengths: Lengths of hypotheses, int [B] or [B,K]; None: given by the special ids.
        ref_lengths: Lengths of references, int [B,R]; None: given by the special ids.
        pad: Ids of padding.
        eos: Ids of the end.
        bos: Ids of the beginning.
        skip: Ids that are left out everywhere.
        special: All special ids, instead of the four arguments before.
        prefixes: Whether statistics of the first 0…T tokens are computed; special ids are left
            out first, and prefixes longer than the segment are the whole segment.
        per_reference: Whether every reference is used alone.

    Returns:
        Statistics [B,X], or [B,K,X] for samples; with `prefixes` [B,T+1,X] or [B,K,T+1,X]; with
        `per_reference` [B,R,X] or [B,K,R,X].

    Raises:
        TensorMTError: If the metric cannot be computed from ids, or shapes or types are invalid.

    >>> from tensormt.ngram.bleu import BLEU
    >>> hyp, refs = torch.tensor([[5, 6, 7, 0]]), torch.tensor([[[5, 6, 8, 0]]])
    >>> statistics(BLEU(max_order=2), hyp, refs, pad=0).shape[0]
    1
    """
    counter = _check(metric, hyp, refs, hyp_lengths, ref_lengths)
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
    step = max(at_a_time(hyp, _CELLS, _BYTES) // max(step, 1), 1)
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
    # one more row below each reference separates its n-grams from those of the next
    rows = _columns(padded(refs, (0, 1)).flatten(0, 1), ref_lengths.flatten(), low + 1)
    rows = rows.view(refs.shape[2] + 1, *refs.shape[:2]).permute(2, 0, 1).contiguous()
    each = rows[..., None].expand(*rows.shape, number).flatten(-2)
    orders = compare(columns, each, metric.max_order)
    streams = refs.shape[1]
    times, lengths, ref_lengths = 1, lengths.flatten(), ref_lengths.t()
    if per_reference:
        # every reference has its own columns, reference by reference
        times, lengths, ref_lengths = streams, lengths.repeat(streams), ref_lengths.reshape(1, -1)
        rows = rows.transpose(0, 1).flatten(1)[None]
        orders = [_split_references(order) for order in orders]
    part = MatchTable(
        orders,
        lengths,
        _ReferenceStats(rows, ref_lengths, number),
        lambda: mix(columns.to(torch.int64)).repeat(1, times),
        by_shape=True,
        prefixes=prefixes,
    )
    found = metric.count(part, metric.counts if metric.needs_frequencies else None)
    found = found.view(times, size, number, *found.shape[1:])
    return found.movedim(0, 2) if per_reference else found[0]


def _split_references(order: Order) -> Order:
    """The columns [b] of an order repeated for each of R references alone: [R·b]."""
    counts = order.counts.transpose(0, 1)
    rank = order.rank[:, None].expand(counts.shape)
    return Order(rank.flatten(1), counts.flatten(1)[None])


class _ReferenceStats:
    """Lengths and diversity of references [R,T'+1,b], the same for each of K samples."""

    def __init__(self, refs: Tensor, lengths: Tensor, samples: int) -> None:
        self._refs, self._lengths, self._samples = refs, lengths, samples
        self.lengths = lengths.repeat_interleave(samples, 1, output_size=lengths.shape[1] * samples)
        self.number = (self.lengths > 0).sum(0)

    def diversity(self, max_order: int) -> Tensor:
        """Distinct n-grams over all n-grams of the references, float64 [b·K,N]; 0/0 is 1."""
        orders = torch.arange(max_order, device=self._refs.device)
        total = (self._lengths[..., None] - orders).clamp_min(0).sum(0)
        found = share(different(self._refs, self._lengths, max_order), total)
        return found[:, None].expand(-1, self._samples, -1).flatten(0, 1)


def _columns(ids: Tensor, lengths: Tensor, padding: int) -> Tensor:
    """Ids [b,T] as columns [T,b], with those beyond the lengths [b] replaced by `padding`."""
    beyond = torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]
    return ids.masked_fill(beyond, padding).t().contiguous()


def scores(
    metric: Metric[Any],
    hyp: Tensor,
    refs: Tensor,
    hyp_lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Compute segment scores of token ids.

    Args:
        metric: Metric of n-grams.
        hyp: Ids of hypotheses, int [B,T], or of K samples per segment, int [B,K,T].
        refs: Ids of references, int [B,R,T'].
        hyp_lengths: Lengths of hypotheses, int [B] or [B,K]; None: given by the special ids.
        ref_lengths: Lengths of references, int [B,R]; None: given by the special ids.
        options: `pad`, `eos`, `bos`, `skip`, `special`, `prefixes` and `per_reference` of
            `statistics`.

    Returns:
        Scores float64 [B] or [B,K], with the further dimensions of `statistics`.

    Raises:
        TensorMTError: As `statistics`.

    >>> from tensormt.ngram.bleu import BLEU
    >>> hyp, refs = torch.tensor([[5, 6, 7, 8, 0]]), torch.tensor([[[5, 6, 7, 8, 0]]])
    >>> round(float(scores(BLEU(), hyp, refs, pad=0)), 6)
    100.0
    """
    found = statistics(metric, hyp, refs, hyp_lengths, ref_lengths, **options)
    return metric.score(found, segment=True)


def _check(
    metric: Metric[Any],
    hyp: Tensor,
    refs: Tensor,
    lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
) -> NgramMetric:
    """The metric, if it counts n-grams and the tensors are as expected."""
    if not hasattr(metric, "count"):
        raise TensorMTError(
            f"{metric.name} cannot be computed from token ids: use an n-gram metric, or TextReward"
            " with a parser"
        )
    counter: Any = metric
    given = {"hypotheses": hyp, "references": refs, "lengths": lengths, "ref_lengths": ref_lengths}
    for name, value in given.items():
        if not isinstance(value, Tensor) and (value is not None or "lengths" not in name):
            raise TensorMTError(
                f"{name} are {describe(value)}, expected a tensor of integers: make one with "
                "torch.tensor(…)"
            )
    devices = {str(value.device) for value in given.values() if value is not None}
    if len(devices) > 1:
        raise TensorMTError(
            f"tensors are on several devices, {', '.join(sorted(devices))}: move them to one"
        )
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
            + (', or use info="segment"' if hasattr(metric, "info") else "")
        )
    return counter  # type: ignore[no-any-return]


def _narrow(hyp: Tensor, refs: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
    """The ids as int16, which CPUs compare twice as fast: renumbered, or unchanged with `keep`.

    This is done on the CPU only, since reading values causes a synchronization on other devices.
    What torch.compile makes of comparisons of int64 for a CPU with AVX2 is wrong (torch 2.13): it
    gets int32, in which ids have to fit.
    """
    if on_cpu(hyp) and torch.compiler.is_compiling():
        return hyp.to(torch.int32), refs.to(torch.int32)
    if not values_readable(hyp) or not (hyp.numel() and refs.numel()):
        return hyp, refs
    low = min(int(hyp.amin()), int(refs.amin()))
    high = max(int(hyp.amax()), int(refs.amax()))
    # the two smallest values of the type are reserved for padding
    least, most = torch.iinfo(torch.int16).min + 2, torch.iinfo(torch.int16).max
    if least <= low and high <= most:
        return hyp.to(torch.int16), refs.to(torch.int16)
    if keep or high - low >= _MAX_RANGE:
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
