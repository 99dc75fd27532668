"""Explanation: what a metric matched in a batch, as returned by `Metric.explain`.

The items of an explanation have one kind:

    n-gram     place: its first token, among the tokens that the metric compared
    subtree    place: its root node; order: its depth
    chain      place: its lowest node; order: its length
    character  place: its first character; orders of words (chrF++) follow those of characters
    word       place: its token; matched in the alignment of least edits, or in the longest common
               subsequence; `edits` has what the alignment changes; of BERTScore, matched with
               the most similar word, which `partners` has
    skip-bigram  place: its first token; order: 1 + distance of its second token
    pair       pairs of nodes with equal productions, with their contributions to the tree kernel
    mean       no items: `parts` has the explanations of the members with their weights

`hyp` and `refs` are the batches that the metric compared, such as lower-cased tokens, trees without
words or dependency trees. Places are indices of tokens or nodes (in preorder, or in sentence order)
within one segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from tensormt.kernels.matches import Items, NodePairs
from tensormt.options import format_value
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

_NAMES = {
    "n-gram": "{}-grams",
    "character": "character {}-grams",
    "subtree": "subtrees of depth {}",
    "chain": "headword chains of {}",
    "pair": "pairs of nodes",
    "word": "aligned words",
}


def display_name(metric: Any) -> str:
    """Return the name of a metric with the settings that differ from the defaults.

    >>> from tensormt import BLEU, HWCM
    >>> display_name(HWCM(max_length=1, balance="f1")), display_name(BLEU(lowercase=True))
    ('HWCM-1 F1', 'BLEU lowercase')
    """
    name, words = metric.name, []
    for option in metric.options():
        value = getattr(metric, option.name)
        if value == option.default:
            continue
        if option.name.startswith("max_"):
            name += f"-{value}"
        elif option.name == "variant":
            name += f"-{value.upper()}"
        elif option.name == "balance":
            words.append("F1" if value == "f1" else value)
        elif isinstance(value, bool):
            words.append(f"{'' if value else 'no '}{option.name.replace('_', ' ')}")
        else:
            words.append(f"{option.name}={format_value(value)}")
    return " ".join([name, *words])


def display_names(metrics: Sequence[Any]) -> list[str]:
    """Return a different name for each of some metrics; equal metrics are numbered.

    >>> from tensormt import HWCM
    >>> display_names([HWCM(), HWCM(max_length=3), HWCM()])
    ['HWCM (1)', 'HWCM-3', 'HWCM (2)']
    """
    names = [display_name(metric) for metric in metrics]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: k + 1].count(name)})"
        for k, name in enumerate(names)
    ]


class Edit(NamedTuple):
    """An edit of the alignment of a hypothesis with its reference.

    Attributes:
        kind: "substitution"; "insertion", a word that the reference lacks; "deletion", a word that
            the hypothesis lacks; "shift", words that stand elsewhere in the reference.
        place: Token of the hypothesis; of a deletion, the token before which the word is missing.
        words: What stands in the hypothesis; "" for a deletion.
        other: What stands in the reference; "" for an insertion or a shift.
        target: Of a shift, the token that the words stand before once they are shifted.

    >>> str(Edit("substitution", 2, "cat", "dog"))
    'substitution at 3: cat → dog'
    """

    kind: str
    place: int
    words: str
    other: str = ""
    target: int | None = None

    def __str__(self) -> str:
        where = f"{self.kind} at {self.place + 1}"
        if self.target is not None:
            return f"{where} to {self.target + 1}: {self.words}"
        return f"{where}: {' → '.join(filter(None, (self.words, self.other)))}"


class Part(NamedTuple):
    """What a member of a mean matched; the mean is Σ weight · score of the member.

    The weight of an error rate is negative; its share of the mean is 1/k + weight · score.

    Attributes:
        name: Name of the member.
        weight: Its weight.
        metric: The member.
        columns: Its statistics among those of the mean.
        found: What it matched.
    """

    name: str
    weight: float
    metric: Any
    columns: Sequence[int]
    found: Explanation


@dataclass(frozen=True)
class Explanation:
    """What a metric matched in B segments.

    Args:
        kind: Kind of the items; see the module.
        hyp: The hypotheses that were compared, a TokenBatch or TreeBatch.
        refs: The references that were compared.
        items: The items; None for tree kernels and means.
        pairs: For each reference the pairs of nodes of a tree kernel.
        columns: For each order the columns of the statistics that count its matches.
        best: The reference that gave each segment its score, int64 [B]; None if all are used.
        parts: Members of a mean.
        words: For chrF++ the words of the hypotheses and of the references.
        characters: For chrF the number of orders of characters.
        edits: For error rates the edits of each segment; their number is the metric's.
        evenly: Whether all matches of a segment add the same to its score.
        adds: What each item adds to the score of its segment, float64 [n], where the metric says.
        partners: For BERTScore, the unit of the best reference that each unit of a segment matched
            and their cosine; None where nothing.

    >>> from tensormt import BLEU, TokenBatch
    >>> batch = TokenBatch.from_text(["a cat sat"])
    >>> found = BLEU(max_order=2).explain(batch, [batch])
    >>> found.kind, found.names(), found.text(0)(2, 1)
    ('n-gram', ['1-grams', '2-grams'], 'cat sat')
    """

    kind: str
    hyp: Any
    refs: Sequence[Any]
    items: Items | None = None
    pairs: Sequence[NodePairs] = ()
    columns: Sequence[Sequence[int]] = ()
    best: Tensor | None = None
    parts: Sequence[Part] = ()
    words: Sequence[TokenBatch] = ()
    characters: int = 0
    edits: Sequence[Sequence[Edit]] = ()
    evenly: bool = False
    adds: Tensor | None = None
    partners: Sequence[Sequence[tuple[int, float] | None]] = ()

    def names(self) -> list[str]:
        """Return the names of the items of all orders."""
        return [self.name(order) for order in range(1, len(self.columns) + 1)]

    def name(self, order: int) -> str:
        """Return the name of the items of an order, such as "subtrees of depth 2"."""
        if self.characters and order > self.characters:
            return f"word {order - self.characters}-grams"
        if self.kind == "skip-bigram":
            return f"pairs of words at a distance of {order - 1}" if order > 1 else "words"
        return _NAMES[self.kind].format(order)

    def text(self, segment: int) -> Callable[[int, int], str]:
        """Return a function (order, place) → text for the items of the hypothesis in one segment.

        Subtrees are bracketed; chains are written from the highest word to the lowest.
        """
        if isinstance(self.hyp, TreeBatch):
            tree = _Tree(self.hyp, segment)
            return lambda order, place: tree.text(self.kind, order, place)
        tokens = self.hyp[segment].to_tokens()[0]
        if self.partners and self.best is not None:
            other = self.refs[int(self.best[segment])][segment].to_tokens()[0]
            partners = self.partners[segment]

            def with_partner(_: int, place: int) -> str:
                found = partners[place]
                more = f" ~ {other[found[0]]} ({found[1]:.2f})" if found else ""
                return f"{tokens[place]}{more}"

            return with_partner
        if self.kind == "skip-bigram":
            return lambda order, place: " … ".join(
                tokens[place : place + order : max(order - 1, 1)]
            )
        if not self.characters:
            return lambda order, place: " ".join(tokens[place : place + order])
        words = self.words[0][segment].to_tokens()[0] if self.words else []

        def cut(order: int, place: int) -> str:
            if order <= self.characters:
                return "".join(tokens[place : place + order])
            return " ".join(words[place : place + order - self.characters])

        return cut


class _Tree:
    """A tree with the children of every node."""

    def __init__(self, batch: TreeBatch, segment: int) -> None:
        tree = batch[segment]
        names = batch.labels.strings
        self.labels = [names[i] if i >= 0 else "" for i in tree.nodes.label.tolist()]
        self.parents = tree.nodes.parent.tolist()
        self.children: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(node)

    def text(self, kind: str, order: int, place: int) -> str:
        if kind == "chain":
            chain = [place]
            while len(chain) < order:
                chain.append(self.parents[chain[-1]])
            return " → ".join(self.labels[node] for node in reversed(chain))
        return self._bracket(place, 2 if kind == "pair" else order)

    def _bracket(self, node: int, depth: int) -> str:
        if depth == 1 or not self.children[node]:
            return self.labels[node]
        below = " ".join(self._bracket(child, depth - 1) for child in self.children[node])
        return f"({self.labels[node]} {below})"
