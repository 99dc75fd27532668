"""What the syntactic metrics share: the trees that they compare.

STM and TKM compare constituency trees, the others dependency trees (made by head rules where the
batch holds constituents). Empty reference trees are absent references.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.inputs import Trees
from tensormt.metric import Metric
from tensormt.options import Boolean, Choice, Integer
from tensormt.plain import MAX_NODES, MAX_SEGMENTS, overridden

if TYPE_CHECKING:
    from tensormt.trees.batch import TreeBatch
    from tensormt.trees.plain_trees import PlainTree

MaxDepth = Annotated[int, Integer("Deepest subtrees that count", 1, 1000)]
Lexical = Annotated[bool, Boolean("Compare the words too, not the labels alone")]
HeadRules = Annotated[
    str, Choice("Head rules that make dependencies", ("collins", "yamada"), "a file of your own")
]


_READS = {kind: Trees(kind) for kind in ("constituency", "dependency")}


class TreeMetric(Metric["TreeBatch"]):
    """A metric on trees."""

    kind: ClassVar[str]

    @property
    def reads(self) -> Trees:
        """Trees of the metric's kind."""
        return _READS[self.kind]

    @abstractmethod
    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Return the trees that this metric compares."""

    @abstractmethod
    def _plain_trees(self, batch: TreeBatch) -> list[PlainTree] | None:
        """Return the same as lists; None where there are too many for the plain path."""

    def _plain_segments(
        self, hyp: TreeBatch, refs: Sequence[TreeBatch]
    ) -> list[tuple[PlainTree, ...]] | None:
        """The tree of each segment and those of its references, as the metric compares them.

        None where there are too many for the plain path, or where the engine is to raise an error.
        """
        if not 0 < len(hyp) <= MAX_SEGMENTS or overridden(type(self), "_plain_trees", "trees"):
            return None
        sides, size = [], 0
        for batch in (hyp, *refs):
            whole = batch.plain_trees()
            trees = whole and self._plain_trees(batch)
            if whole is None or trees is None:
                return None
            size += sum([len(tree) for tree in whole])
            if size > MAX_NODES:
                return None
            sides.append(trees)
        segments = list(zip(*sides, strict=True))
        # where a segment has no reference, the engine raises
        return segments if all(any(refs) for _, *refs in segments) else None

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

    def _plain_trees(self, batch: TreeBatch) -> list[PlainTree] | None:
        trees = batch.plain_trees()
        if trees is None or not self.lexical:
            return trees and [tree.skeleton() for tree in trees]
        return batch.memo("plain lexicalized", lambda: [tree.lexicalized() for tree in trees])

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

    def _plain_trees(self, batch: TreeBatch) -> list[PlainTree] | None:
        trees = batch.plain_trees()
        if trees is None or batch.kind == "dependency":
            return trees
        from tensormt.trees.plain_heads import to_dependencies

        return batch.memo(
            ("plain dependencies", self.rules),
            lambda: [to_dependencies(tree, self.rules) for tree in trees],
        )

    def tree_settings(self) -> dict[str, object]:
        """Return the head rules."""
        return {"rules": self.rules}
