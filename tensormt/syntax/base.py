"""What the syntactic metrics share: which trees they compare, and the checks.

STM and TKM look at constituency trees, the others at dependency trees (made by head rules where
the batch holds constituents). Empty reference trees are absent references.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from tensormt.errors import SegmentError
from tensormt.inputs import Trees
from tensormt.metric import Metric, check_aligned
from tensormt.trees.batch import TreeBatch
from tensormt.trees.head_rules import rules_named
from tensormt.validation import boolean

__all__ = ["CHUNK", "ConstituencyMetric", "DependencyMetric", "TreeMetric"]

CHUNK = 2048  # segments at a time: the arrays of one chunk stay in the CPU's cache


class TreeMetric(Metric[TreeBatch]):
    """A metric on trees."""

    kind: ClassVar[str]

    @property
    def reads(self) -> Trees:
        """Trees of the metric's kind."""
        return Trees(self.kind)

    @abstractmethod
    def trees(self, batch: TreeBatch) -> TreeBatch:
        """The trees that this metric compares."""

    @abstractmethod
    def tree_options(self) -> dict[str, object]:
        """The options that choose the trees, for the signature."""

    def check(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> None:
        """Raise unless all are trees that fit, aligned, with a reference for every segment."""
        self._check_batches([hyp, *self._check_batches(refs)])
        check_aligned(hyp, refs)
        present = refs[0].lengths > 0
        for ref in refs[1:]:
            present = present | (ref.lengths > 0)
        if not bool(present.all()):
            number = int((~present).nonzero()[0]) + 1
            raise SegmentError(number, "has no reference: every segment needs at least one tree")


class ConstituencyMetric(TreeMetric):
    """Compares labels, or labels and words with `lexical`."""

    kind = "constituency"

    def __init__(self, lexical: bool) -> None:
        self.lexical: bool = boolean(lexical, "lexical")

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Bare labels, or labels with the words as leaves."""
        return batch.lexicalized() if self.lexical else batch.skeleton()

    def tree_options(self) -> dict[str, object]:
        """Whether words are compared."""
        return {"lexical": self.lexical}


class DependencyMetric(TreeMetric):
    """Compares words and their heads."""

    kind = "dependency"

    def __init__(self, rules: str) -> None:
        rules_named(rules)
        self.rules = rules

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Dependency trees, by the head rules where the batch holds constituents."""
        return batch.dependencies(self.rules)

    def tree_options(self) -> dict[str, object]:
        """The head rules."""
        return {"rules": self.rules}
