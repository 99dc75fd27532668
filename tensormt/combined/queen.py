"""QARLA's QUEEN of a segment against its references (Amigó et al. 2005): metrics combined without
weights or scales.

    QUEEN(a) = P over triples of references ( for all metrics x: x(a, m) ≥ x(m′, m″) )

The hypothesis is the peer, the references are the models; m is any model, m′ and m″ two different
ones, x(a, m) the segment score of a against m alone, negated for error rates. A segment needs three
references. Documents and corpora take the mean of their segments. Statistics: segments, QUEEN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tensormt.combined.base import CombinedMetric
from tensormt.errors import NoExplanation, SegmentError
from tensormt.formulas import as_float64, namespace, round_for_ties
from tensormt.inputs import member_batch, member_batches

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.metric import Metric

_LEAST = 3  # references of a segment


class Queen(CombinedMetric):
    """QUEEN of metrics, 0 to 1; typed `queen:chrf+hwcm+stm`; at least three references.

    Args:
        metrics: At least two metrics.
    """

    name = "QUEEN"
    summary: ClassVar[str] = "QARLA's QUEEN of metrics, for at least three references"

    @property
    def width(self) -> int:
        """The number of statistics: two."""
        return 2

    def _statistics(self, hyp: Any, refs: Sequence[Any]) -> Tensor:
        import torch

        from tensormt.kernels.queen_counts import set_counts, triple_weights

        present = torch.stack([ref.lengths > 0 for ref in refs], 1)
        number = present.sum(1)
        if bool((number < _LEAST).any()):
            segment = int((number < _LEAST).int().argmax())
            raise SegmentError(
                segment + 1,
                f"has {int(number[segment])} references: QUEEN needs at least {_LEAST}, "
                "give more or use another metric",
            )
        some = torch.ones(len(hyp), 1, dtype=torch.bool, device=present.device)
        am, mm = [], []
        for k, metric in enumerate(self.metrics):
            own = list(member_batches(refs, k))
            am.append(_table(metric, [member_batch(hyp, k)], own, present[:, None]))
            pairs = present[:, :, None] & present[:, None, :]
            others = ~torch.eye(len(own), dtype=torch.bool, device=present.device)
            mm.append(_table(metric, own, own, pairs & others))
        weight = triple_weights(some, present, "pairs")
        peers, models = (round_for_ties(torch.stack(parts, -1)) for parts in (am, mm))
        passed = set_counts(peers, models, weight, "pairs", 2)
        score = passed[:, 0, 1] / weight.sum((1, 2, 3)).clamp_min(1).to(torch.float64)
        return torch.stack([torch.ones_like(score), score], 1)

    def _explain(self, hyp: Any, refs: Sequence[Any]) -> Explanation:
        names = ", ".join(metric.name for metric in self.metrics)
        raise NoExplanation(
            f"QUEEN compares the scores of {names} with those among references, it counts no items "
            "of its own: explain one of them"
        )

    def _score(self, rows: Any, segment: bool | None) -> Any:
        return as_float64(rows[..., 1] / namespace(rows).clip(rows[..., 0], 1, None))


def _table(metric: Metric[Any], candidates: list[Any], models: list[Any], wanted: Tensor) -> Tensor:
    """x(candidate i, model j) of every segment, float64 [B,A,M]; 0 where it is not wanted.

    wanted bool [B,A,M].
    """
    import torch

    from tensormt.kernels.backend import nonzero

    out = torch.zeros(wanted.shape, dtype=torch.float64, device=wanted.device)
    sign = 1.0 if metric.higher_is_better else -1.0  # the lower an error rate, the more alike
    for i, candidate in enumerate(candidates):
        for j, model in enumerate(models):
            rows = nonzero(wanted[:, i, j])
            if rows.shape[0]:
                out[rows, i, j] = sign * metric(candidate[rows], [model[rows]])
    return out
