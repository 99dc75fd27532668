"""STM, HWCM or DSTM whose keys weigh what a table says: learned weights as a metric.

Each key g has a weight w(g) = exp θ(g), and

    P(n) = Σ over matched keys of order n of w / Σ over all keys of the hypothesis of order n of w

takes the place of clipped(n) / count(n); recall and F1 likewise. θ = 0 is the metric itself. Keys
are hashed into a table of buckets, so θ is one vector. Sums of weights add up over segments as
counts do: documents, corpora and bootstraps are the metric's own. Files are written by
tensormt.train.Learned, which learns θ from people's scores; `learned:FILE` reads them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.data.tensor_files import load_tensors, save_tensors
from tensormt.errors import TensorMTError
from tensormt.inputs import Trees
from tensormt.kernels.counts import Keys, occurrences
from tensormt.metric import Metric
from tensormt.syntax.clipped_engine import best_rows, check_references
from tensormt.syntax.clipped_precision import ClippedPrecisionMetric
from tensormt.trees.batch import TreeBatch

_FORMAT = "tensormt learned weights 1"
_MAX_THETA = 100  # largest |θ|
_CHUNK = 2048  # segments at a time, so that keys keep their bits in the counter


class Share(NamedTuple):
    """Keys of one side: group [n] = segment · orders + order, bucket [n], and whether matched."""

    group: Tensor
    bucket: Tensor
    matched: Tensor


class Features(NamedTuple):
    """What the weights need of B segments: the keys of the hypothesis against each reference, and
    the keys of the references. With `precision` there is one entry, against all references
    together, and nothing of the references."""

    segments: int
    hyp: list[Share]
    refs: list[Share]
    present: Tensor  # bool [R,B] or [1,B]: references that are there


def features_of(
    metric: ClippedPrecisionMetric, buckets: int, hyp: TreeBatch, refs: Sequence[TreeBatch]
) -> Features:
    """Hashed keys and matches of aligned trees; empty reference trees are absent."""
    metric._check_sides(hyp, refs)
    check_references(refs)
    batches = [metric.trees(batch) for batch in (hyp, *refs)]
    present = torch.stack([ref.lengths > 0 for ref in refs])
    if metric.balance == "precision":
        present = present.any(0, keepdim=True)
    parts = list(zip(*(batch.chunks(_CHUNK) for batch in batches), strict=True))
    starts = [k * _CHUNK * metric.orders for k in range(len(parts))]
    sides = zip(*(_chunk(metric, buckets, *part) for part in parts), strict=True)
    own, others = ([_joined(c, starts) for c in zip(*side, strict=True)] for side in sides)
    return Features(len(hyp), own, others, present)


def _chunk(
    metric: ClippedPrecisionMetric, buckets: int, hyp: TreeBatch, *refs: TreeBatch
) -> tuple[list[Share], list[Share]]:
    own, others = metric.keys(hyp), [metric.keys(ref) for ref in refs]
    groups = len(hyp) * metric.orders
    if metric.balance == "precision":
        return [_share(metric, buckets, own, others, groups)], []
    return (
        [_share(metric, buckets, own, [ref], groups) for ref in others],
        [_share(metric, buckets, ref, [own], groups) for ref in others],
    )


def _share(
    metric: ClippedPrecisionMetric, buckets: int, keys: Keys, others: list[Keys], groups: int
) -> Share:
    rank, counts = occurrences(keys, others, groups)
    # groups come order by order; here segment by segment, so that chunks can be joined
    size = max(groups // metric.orders, 1)
    segment, order = keys.group % size, keys.group // size
    # a key of two orders (a lone word) has a weight in each
    bucket = (keys.key + order * 0x9E3779B1) % buckets
    return Share(segment * metric.orders + order, bucket, rank < counts.amax(0))


def _joined(shares: Sequence[Share], starts: Sequence[int]) -> Share:
    """Chunks of one side one after the other, their groups moved to where each starts."""
    return Share(
        torch.cat([share.group + start for share, start in zip(shares, starts, strict=True)]),
        torch.cat([share.bucket for share in shares]),
        torch.cat([share.matched for share in shares]),
    )


def rows_of(metric: ClippedPrecisionMetric, features: Features, theta: Tensor) -> Tensor:
    """The metric's statistics with weights for counts, one row a segment and reference,
    [R,B,K]."""
    size = features.segments
    weights = theta.exp()

    def sums(share: Share, matched: bool) -> Tensor:
        weight = weights[share.bucket] * share.matched if matched else weights[share.bucket]
        cells = weight.new_zeros(size * metric.orders)
        return cells.index_add(0, share.group, weight).view(size, metric.orders)

    one = theta.new_ones(size, 1)
    rows = []
    for number, share in enumerate(features.hyp):
        columns = [one, sums(share, True), sums(share, False)]
        if features.refs:
            columns.append(sums(features.refs[number], False))
        rows.append(torch.cat(columns, 1))
    return torch.stack(rows)


class LearnedMetric(Metric[TreeBatch]):
    """STM, HWCM or DSTM with learned weights; typed `learned:FILE`.

    Args:
        metric: The metric whose counts are weighted.
        theta: Logarithms of the weights of the buckets, [buckets].
    """

    name = "Learned"
    summary = "learned weights for the subtrees or chains of another metric"

    def __init__(self, metric: Metric[Any], theta: Tensor) -> None:
        if getattr(metric, "balance", None) not in ("precision", "recall", "f1"):
            raise TensorMTError(
                f"{metric.name} has no weights to learn: use stm, hwcm or dstm with balance "
                "precision, recall or f1"
            )
        _check_weights(theta)
        fractions: Any = metric
        self.metric: ClippedPrecisionMetric = fractions
        self.theta = theta.detach()

    @property
    def reads(self) -> Trees:
        """The input of the metric."""
        return self.metric.reads

    @property
    def penalizes_short_output(self) -> bool:
        """That of the metric."""
        return self.metric.penalizes_short_output

    @property
    def width(self) -> int:
        """The number of statistics: that of the metric."""
        return self.metric.width

    def settings(self) -> dict[str, object]:
        """Return the metric, and a hash of the weights."""
        return self._signature_settings(())

    def _signature_settings(self, without: Collection[str]) -> dict[str, object]:
        data = self.theta.to("cpu", torch.float64).contiguous().numpy().tobytes()
        own = self.metric.format_signature(without=without, short=True)
        return {"of": own, "weights": hashlib.sha256(data).hexdigest()[:8]}

    def _statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        theta = self.theta.to(hyp.device)
        features = features_of(self.metric, theta.shape[0], hyp, refs)
        rows = rows_of(self.metric, features, theta)
        return best_rows(rows, self.score(rows, segment=True), features.present)[0]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        return self.metric._score(rows, segment)


def save_weights(path: str | Path, spec: str, signature: str, theta: Tensor) -> None:
    """Write weights and what they belong to: tensors and names, no pickle."""
    about = {"spec": spec, "buckets": theta.shape[0], "signature": signature}
    save_tensors(path, _FORMAT, {"theta": theta}, about)


def _check_weights(theta: Tensor) -> None:
    """Raise unless sums of the weights exp θ are finite numbers."""
    if not bool((theta.abs() <= _MAX_THETA).all()):  # false for NaN, too
        raise TensorMTError(
            f"learned weights must be finite, their logarithms within ±{_MAX_THETA}: learn them "
            "again"
        )


def load_weights(path: str | Path) -> tuple[str, Tensor]:
    """The specification of the metric, and its weights.

    Raises:
        TensorMTError: If the file has no finite weights, or those of a metric that is learned.
    """
    if not str(path):
        raise TensorMTError("metric 'learned:' names no file of weights: type learned:FILE")
    about, tensors = load_tensors(path, _FORMAT, "learned weights")
    theta = tensors.get("theta")
    fits = theta is not None and theta.dim() == 1 and len(theta)
    if not fits or not isinstance(about.get("spec"), str):
        raise TensorMTError(f"{path} cannot be read as learned weights: save them again")
    if "learned:" in about["spec"]:
        raise TensorMTError(
            f"{path} has weights of {about['spec'][:60]!r}, which is learned itself: expected stm, "
            "hwcm or dstm"
        )
    theta = tensors["theta"].to(torch.float64)
    try:
        _check_weights(theta)
    except TensorMTError as error:
        raise TensorMTError(f"{path}: {error}") from None
    return about["spec"], theta
