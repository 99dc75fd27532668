"""What combined metrics share: their members, what these read, counts, settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from typing import Any, TypeVar

from tensormt.errors import TensorMTError
from tensormt.inputs import CompositeInput, member_batches
from tensormt.metric import Metric
from tensormt.options import describe

Self = TypeVar("Self", bound="CombinedMetric")


class CombinedMetric(Metric[Any]):
    """A metric of metrics; batches are CompositeBatch, or one batch that all members read."""

    def __init__(self, metrics: Sequence[Metric[Any]]) -> None:
        if isinstance(metrics, str | Metric) or not isinstance(metrics, Iterable):
            raise TensorMTError(f"metrics is {describe(metrics)}, expected a list of metrics")
        try:
            found = list(metrics)
        except TypeError:  # a tensor of no dimension
            raise TensorMTError(f"metrics is {describe(metrics)}, expected a list") from None
        for place, member in enumerate(found):
            if not isinstance(member, Metric):
                raise TensorMTError(
                    f"metrics[{place}] is {describe(member)}, expected a metric, as tm.BLEU()"
                )
        if len(found) < 2:
            raise TensorMTError(f"metrics holds {len(found)}, expected at least 2: a metric each")
        self.metrics: list[Metric[Any]] = found
        self._unfitted = [metric.needs_fit for metric in self.metrics]

    def __copy__(self: Self) -> Self:
        """A copy with members of its own, so that what it counts stays with it."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__, metrics=[copy(metric) for metric in self.metrics])
        return new

    @property
    def reads(self) -> CompositeInput:
        """What the members read, side by side."""
        return CompositeInput(tuple(metric.reads for metric in self.metrics))

    @property
    def fit_reads(self) -> CompositeInput:
        """What the members read to be fitted."""
        return CompositeInput(tuple(metric.fit_reads for metric in self.metrics))

    @property
    def penalizes_short_output(self) -> bool:
        """Whether a member does."""
        return any(metric.penalizes_short_output for metric in self.metrics)

    @property
    def needs_fit(self) -> bool:
        """True if a member needs the references of the test set first."""
        return any(metric.needs_fit for metric in self.metrics)

    def unfitted(self) -> list[Any]:
        """Return the members that need counts of the test set and have none."""
        return [own for metric in self.metrics for own in metric.unfitted()]

    def _fit(self, refs: Sequence[Any]) -> None:
        for number, metric in enumerate(self.metrics):
            if self._unfitted[number]:
                metric.fit(member_batches(refs, number))

    def settings(self) -> dict[str, object]:
        """Return the members with their settings."""
        return self._signature_settings(())

    def _signature_settings(self, without: Collection[str]) -> dict[str, object]:
        members = (self._member_signature(metric, without) for metric in self.metrics)
        return {"of": "+".join(members)}

    def _member_signature(self, metric: Metric[Any], without: Collection[str]) -> str:
        """What the signature says of a member."""
        return metric.format_signature(without=without, short=True)
