"""What the syntactic metrics share: the trees that they compare.

STM and TKM compare constituency trees, the others dependency trees (made by head rules where the
batch holds constituents). Empty reference trees are absent references.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.inputs import Trees
from tensormt.metric import Metric
from tensormt.options import Boolean, Choice, Integer

if TYPE_CHECKING:
    from tensormt.trees.batch import TreeBatch

MaxDepth = Annotated[int, Integer("Deepest subtrees that count", 1, 1000)]
Lexical = Annotated[bool, Boolean("Compare the words too, not the labels alone")]
HeadRules = Annotated[
    str, Choice("Head rules that make dependencies", ("collins", "yamada"), "a file of your own")
]


class TreeMetric(Metric["TreeBatch"]):
    """A metric on trees."""

    kind: ClassVar[str]

    @property
    def reads(self) -> Trees:
        """Trees of the metric's kind."""
        return Trees(self.kind)

    @abstractmethod
    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Return the trees that this metric compares."""

    @abstractmethod
    def tree_settings(self) -> dict[str, object]:
        """Return the settings that choose the trees, for the signature."""


class ConstituencyMetric(TreeMetric):
    """A metric that compares labels, or labels and words with `lexical`."""

    kind = "constituency"
    lexical: bool

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Return the trees without words, or with the words as leaves."""
        return batch.lexicalized() if self.lexical else batch.skeleton()

    def tree_settings(self) -> dict[str, object]:
        """Return whether words are compared."""
        return {"lexical": self.lexical}


class DependencyMetric(TreeMetric):
    """A metric that compares words and their heads."""

    kind = "dependency"
    rules: str

    def _configure(self, values: Any) -> None:
        from tensormt.trees.head_rules import rules_named

        super()._configure(values)
        rules_named(self.rules)

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Return dependency trees, by the head rules where the batch holds constituents."""
        return batch.dependencies(self.rules)

    def tree_settings(self) -> dict[str, object]:
        """Return the head rules."""
        return {"rules": self.rules}
