"""What combined metrics share: their members, what these read, counts, options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

from tensormt.inputs import CompositeInput, views
from tensormt.metric import Metric
from tensormt.validation import list_of

__all__ = ["Combined"]

Self = TypeVar("Self", bound="Combined")


class Combined(Metric[Any]):
    """A metric of metrics; batches are Views, or one batch that all members read."""

    def __init__(self, metrics: Sequence[Metric[Any]]) -> None:
        self.metrics = list(list_of(Metric, "a metric, as tm.BLEU()", 2)(metrics, "metrics"))
        # for counts of all references
        self._waiting = [metric.needs_fit for metric in self.metrics]

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
    def needs_fit(self) -> bool:
        """Whether a member has yet to be given counts over all references."""
        return any(metric.needs_fit for metric in self.metrics)

    def fit(self: Self, refs: Sequence[Any]) -> Self:
        """Count what the members need of all references, or of one more piece of them."""
        for number, metric in enumerate(self.metrics):
            if self._waiting[number]:
                metric.fit(views(refs, number))
        return self

    def options(self) -> dict[str, object]:
        """The members with their options."""
        return self._members({})

    def signed(self, facts: Mapping[str, object]) -> str:
        """The signature with more facts; options that did not matter are taken from the members."""
        return super().signed({**self._members(facts), **facts})

    def _members(self, facts: Mapping[str, object]) -> dict[str, object]:
        return {"of": "+".join(metric.in_short(facts) for metric in self.metrics)}
