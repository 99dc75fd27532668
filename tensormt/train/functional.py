"""N-gram metrics on token-id tensors: no strings, no host sync, any device.

    hyp [B,T] or [B,K,T] (K samples a segment), refs [B,R,T']  →  statistics  →  metric.score

The numbers are those of the metric classes on the same tokens; only the way to them differs: every
size is known from the shapes, so nothing waits for the device. Hypotheses and references are
compared outright (ngram/compare.py) in chunks of segments, so memory is linear in the batch. Where
a segment ends is said by `lengths`, or by `pad`, an id (or several) of which the first ends it;
with neither every id is real. A reference of length 0 is absent; a segment without any reference
scores 0.

An n-gram is a clipped match when its rank among equal ones before it is below its largest count in
a reference. Rank and count do not change when the hypothesis goes on, so the statistics of all
prefixes are cumulative sums of one comparison: `prefixes=True`.

NIST and NM take their information from the metric's `counts` (gather them with `metric.fit` from
`TokenBatch.from_ids` batches, on the device where they are to be used), or from the segment's own
references with `info="segment"`. A match that the counts lack adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.ngram import BLEU, BM, NIST
from tensormt.ngram.base import NgramMetric, TestSetMetric
from tensormt.train.parts import Part

__all__ = ["lengths_of", "scores", "statistics"]

# cells compared at a time: what stays in a CPU's cache; elsewhere what fills the device
_CELLS = {"cpu": 1 << 20}
_MOST_CELLS = 1 << 28
_SPAN = 1 << 21  # widest range of ids that is numbered anew: larger than vocabularies are

Pad = int | Sequence[int] | None


def lengths_of(ids: Tensor, lengths: Tensor | None, pad: Pad) -> Tensor:
    """The lengths given, or the number of ids [...,T] before the first `pad`, int64 [...]."""
    if lengths is not None:
        if lengths.shape != ids.shape[:-1] or lengths.is_floating_point():
            raise TensorMTError(
                f"lengths are {lengths.dtype} {list(lengths.shape)} for ids of shape "
                f"{list(ids.shape)}: expected integers {list(ids.shape[:-1])}"
            )
        return lengths.to(torch.int64).clamp(0, ids.shape[-1])
    ends = [] if pad is None else [pad] if isinstance(pad, int) else list(pad)
    going = torch.ones(ids.shape, dtype=torch.int64, device=ids.device)
    for end in ends:
        going = going * (ids != end)
    return going.cumprod(-1).sum(-1)


def statistics(
    metric: NgramMetric,
    hyp: Tensor,
    refs: Tensor,
    hyp_lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    pad: Pad = None,
    prefixes: bool = False,
) -> Tensor:
    """What `metric.statistics` gives for token ids: [B,X], or [B,K,X] for samples hyp [B,K,T].

    refs [B,R,T'], lengths [B] or [B,K], and [B,R]. `prefixes`: of the first 0…T tokens of each,
    [B,T+1,X] or [B,K,T+1,X]; a prefix longer than the segment is the whole segment.
    """
    _check(metric, hyp, refs)
    samples = hyp if hyp.dim() == 3 else hyp[:, None]
    if hyp_lengths is not None and hyp.dim() == 2:
        hyp_lengths = hyp_lengths[:, None]
    ours = lengths_of(samples, hyp_lengths, pad)
    theirs = lengths_of(refs, ref_lengths, pad)
    keep = isinstance(metric, TestSetMetric) and metric.needs_table
    samples, refs = _narrow(samples, refs, keep)
    size, number, width = samples.shape
    streams, other = refs.shape[1:]
    step = number * max(width, 1) * (streams * (other + 1) + width)
    step = max(_CELLS.get(hyp.device.type, _MOST_CELLS) // max(step, 1), 1)
    parts = [
        Part(metric, samples[rows], refs[rows], ours[rows], theirs[rows], prefixes).statistics()
        for rows in (slice(k, k + step) for k in range(0, max(size, 1), step))
    ]
    found = torch.cat(parts)
    return found if hyp.dim() == 3 else found[:, 0]


def scores(
    metric: NgramMetric,
    hyp: Tensor,
    refs: Tensor,
    hyp_lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    pad: Pad = None,
) -> Tensor:
    """Segment scores of token ids, float64 [B] or [B,K]; see `statistics`."""
    found = statistics(metric, hyp, refs, hyp_lengths, ref_lengths, pad=pad)
    return metric.score(found, segment=True)


def _check(metric: NgramMetric, hyp: Tensor, refs: Tensor) -> None:
    if not isinstance(metric, BLEU | NIST | BM):
        raise TensorMTError(
            f"{metric.name} does not work on token ids: use BLEU, NIST, BM, BMA or NM here, "
            "or a text reward with a parser"
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
    if isinstance(metric, TestSetMetric) and metric.needs_table:
        table = metric.counts
        if table is None or table.kind not in (None, ("ids", False)):
            raise TensorMTError(
                f"{metric.name} needs n-gram counts of token ids: call metric.fit with "
                "TokenBatch.from_ids batches of all references first"
                + (', or take info="segment"' if isinstance(metric, NIST) else "")
            )


def _narrow(hyp: Tensor, refs: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
    """The ids as int16, which the CPU compares twice as fast: numbered anew, or `keep` as they are.

    Only there, and where they fit: looking at the values would be a host sync on other devices.
    """
    if hyp.device.type != "cpu" or not (hyp.numel() and refs.numel()):
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
