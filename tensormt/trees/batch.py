"""TreeBatch: B parse trees, as tensors with their dictionaries or, where they are few, as lists.

A few trees are held as plain Python lists, and the tensors are made when something asks for them:
metrics compare a few trees in plain Python (`tensormt.plain`).

Constituency trees hold their nodes in preorder; a preterminal carries its word. Dependency trees
hold one node a word, in sentence order, labelled with the word; where the arcs have names,
`relations` is their dictionary. Padding is -1.

    label, parent, position, height, production, word    int64 [B,N]      lengths    int64 [B]

`production` is a key of the label and the ordered child labels that agrees between batches (0 for a
leaf); parents are places in the same row. The engines read `nodes`, the real cells end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from tensormt.data import files
from tensormt.data.coercion import as_lines
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import at_a_time, nonzero, on_cpu, repeat, take_or
from tensormt.kernels.nodes import Nodes
from tensormt.plain import MAX_NODES, MAX_SEGMENTS, MAX_TEXT
from tensormt.text.dictionary import Dictionary
from tensormt.trees import bracketing, conllu, drawing, head_format, penn, transforms
from tensormt.trees.conversion import FlatTrees, flatten, unflatten
from tensormt.trees.head_rules import rules_named
from tensormt.trees.heads import to_dependencies
from tensormt.trees.plain_trees import PlainTree, read_brackets, read_heads
from tensormt.validation import (
    file_name,
    integer,
    list_of,
    on_device,
    resolve_index,
    resolve_places,
    string,
    validate,
)

T = TypeVar("T")

_DRAWN = 3  # trees that a notebook shows
# trees at a time where trees are made of trees, whose arrays stay in a CPU's cache; bytes of one on
# other devices
_CHUNK, _BYTES = 2048, 32_768


class TreeBatch:
    """A batch of constituency or dependency trees; immutable, on one device."""

    kind: str
    _flat: FlatTrees | None  # None: made from the plain trees on first use
    _plain: list[PlainTree] | None  # None: made from the tensors on first use, if few

    def __init__(
        self,
        label: Tensor,
        parent: Tensor,
        word: Tensor,
        lengths: Tensor,
        labels: Dictionary,
        words: Dictionary,
        kind: str = "constituency",
    ) -> None:
        """From padded int64 tensors [B,N] and lengths [B]: preorder, or sentence order."""
        width = label.shape[1]
        mask = torch.arange(width, device=label.device) < lengths[:, None]
        cells = nonzero(mask)
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        start = torch.repeat_interleave(offsets[:-1], lengths, output_size=cells.shape[0])
        above = parent.reshape(-1)[cells]
        nodes = Nodes(
            torch.where(above < 0, -1, above + start),
            label.reshape(-1)[cells].clamp(min=-1),
            word.reshape(-1)[cells].clamp(min=-1),
            offsets,
            width,
        )
        self._set(FlatTrees(nodes, labels, words), None, kind)

    def _set(self, flat: FlatTrees | None, plain: list[PlainTree] | None, kind: str) -> None:
        self._flat, self._plain, self.kind = flat, plain, kind
        self._memo: dict[object, Any] = {}
        # the batch that this one is a part of, and the number of its first tree there
        self._whole: TreeBatch | None = None
        self._first = self._count = 0

    @classmethod
    def from_nodes(
        cls,
        nodes: Nodes,
        labels: Dictionary,
        words: Dictionary,
        kind: str = "constituency",
        bare: bool = False,
        relations: Dictionary | None = None,
    ) -> TreeBatch:
        """From flat nodes, as the readers give them."""
        named = None if nodes.relation is None else relations
        return cls._from(FlatTrees(nodes, labels, words, bare, named), None, kind)

    @classmethod
    def from_plain_trees(cls, trees: Sequence[PlainTree], kind: str) -> TreeBatch:
        """From trees as lists; the tensors are made when they are asked for."""
        return cls._from(None, list(trees), kind)

    @classmethod
    def _from(cls, flat: FlatTrees | None, plain: list[PlainTree] | None, kind: str) -> TreeBatch:
        """From one form of the trees, or both."""
        batch = cls.__new__(cls)
        batch._set(flat, plain, kind)
        return batch

    @classmethod
    @validate(source=string, first=integer())
    def from_brackets(
        cls, lines: Sequence[str | None] | str, source: str = "", first: int = 1
    ) -> TreeBatch:
        """Constituency trees from one bracketing a line (or from a file's text).

        An empty line is an empty tree. In an error, `source` is put before the place, and lines are
        counted from `first`.

        >>> TreeBatch.from_brackets(["(S (NP (PRP I)) (VP (VBP run)))"]).lengths
        tensor([5])
        """
        lines = bracketing.split(lines) if isinstance(lines, str) else as_lines(lines)
        if 0 < len(lines) <= MAX_SEGMENTS and sum(map(len, filter(None, lines))) <= MAX_TEXT:
            plain = read_brackets(lines)
            if plain is not None:
                return cls._from(None, plain, "constituency")
        return cls._from(penn.read(lines, source, first), None, "constituency")

    @classmethod
    @validate(path=file_name)
    def from_file(cls, path: str | PathLike[str]) -> TreeBatch:
        """Trees from a file: CoNLL-U (`.conllu`, `.conll`), else brackets of one or more lines."""
        path = Path(path)
        text, source = files.text(str(path)), f"{path}, "
        if path.suffix in (".conllu", ".conll"):
            return cls.from_conllu(text, source)
        return cls.from_brackets(text, source)

    @classmethod
    def from_heads(
        cls,
        words: Sequence[Sequence[str]],
        heads: Sequence[Sequence[int]],
        relations: Sequence[Sequence[str]] | None = None,
    ) -> TreeBatch:
        """Dependency trees from the words of each segment and their heads (1-based, 0 the root).

        `relations` are the names of the arcs where they are known, one for each word.
        """
        if _few_words(words):
            plain = read_heads(words, heads, relations)
            if plain is not None:
                return cls._from(None, plain, "dependency")
        nodes, names = head_format.read(words, heads)
        if relations is None:
            return cls.from_nodes(nodes, names, names, "dependency")
        nodes, arcs = head_format.with_relations(nodes, relations)
        return cls.from_nodes(nodes, names, names, "dependency", relations=arcs)

    @classmethod
    @validate(text=string, source=string)
    def from_conllu(
        cls, text: str, source: str = "", counts: Sequence[int] | None = None
    ) -> TreeBatch:
        """Dependency trees from CoNLL-U text; multi-word tokens and empty nodes are passed over.

        Relations (column 8) are kept unless all of them are `_`. `counts`: how many sentences make
        a segment, whose trees are joined; each is one where not given.
        """
        found = conllu.read(text, source)
        if counts is not None and sum(counts) != len(found.words):
            raise TensorMTError(
                f"{source}{sum(counts)} sentences hold {len(found.words)} trees: expected one tree "
                "a sentence"
            )
        words, heads, relations, _ = found if counts is None else conllu.join(found, counts)
        named = any(name != "_" for row in relations for name in row)
        return cls.from_heads(words, heads, relations if named else None)

    @classmethod
    def concat(cls, batches: Sequence[TreeBatch]) -> TreeBatch:
        """The trees of several batches of one kind, one batch after the other."""
        batches = _BATCHES(batches, "batches")
        kinds = {batch.kind for batch in batches}
        if len(kinds) != 1:
            raise TensorMTError(f"batches of {' and '.join(sorted(kinds))} trees cannot be joined")
        kind = kinds.pop()
        if all(batch._flat is None for batch in batches):
            trees = [tree for batch in batches for tree in batch._plain or ()]
            alike = len({tree.relations is None for tree in trees}) == 1
            if alike and len(trees) <= MAX_SEGMENTS:
                return cls._from(None, trees, kind)
        first = batches[0]
        bare = any(batch._made().bare for batch in batches)
        if all(
            batch.words is first.words
            and batch.labels is first.labels
            and batch.relations is first.relations
            for batch in batches
        ):
            nodes = Nodes.join([batch.nodes for batch in batches])
            return cls.from_nodes(nodes, first.labels, first.words, kind, bare, first.relations)
        words, word_maps = Dictionary.merge([batch.words for batch in batches])
        labels, label_maps = (
            (words, word_maps)
            if kind == "dependency"
            else Dictionary.merge([batch.labels for batch in batches])
        )
        # the ids of the first batch stay as they are
        maps = zip(batches[1:], label_maps[1:], word_maps[1:], strict=True)
        parts = [first.nodes, *(transforms.renamed(batch.nodes, *new) for batch, *new in maps)]
        relations, parts = _one_naming(batches, parts)
        return cls.from_nodes(Nodes.join(parts), labels, words, kind, bare, relations)

    # --- batches on a device ----------------------------------------------------------------------

    @classmethod
    def send(cls, batches: Sequence[TreeBatch], device: torch.device | str) -> list[TreeBatch]:
        """Send batches to a device; those of one kind go in one copy and are parts of one batch."""
        target = torch.device(device)
        there = target == torch.device("cpu") or any(batch.device == target for batch in batches)
        if there or len({batch.kind for batch in batches}) > 1:
            return [batch.to(target) for batch in batches]
        return cls.concat(batches).to(target).split([len(batch) for batch in batches])

    def split(self, sizes: Sequence[int]) -> list[TreeBatch]:
        """The trees in parts of these sizes.

        What metrics compute of one of them, they compute of the whole batch, and once.
        """
        starts = accumulate(sizes, initial=0)
        return [self._part(first, size) for first, size in zip(starts, sizes, strict=False)]

    def _part(self, first: int, count: int) -> TreeBatch:
        """Some of the trees, whose tensors are made on first use."""
        new = TreeBatch._from(None, None, self.kind)
        new._whole, new._first, new._count = self, first, count
        return new

    @staticmethod
    def whole(batches: Sequence[TreeBatch]) -> TreeBatch | None:
        """The batch on a device of which these are all parts, in order; None: there is none."""
        found, end = batches[0]._whole, 0
        for batch in batches:
            if batch._whole is not found or batch._first != end:
                return None
            end += batch._count
        if found is None or on_cpu(found.lengths) or len(found) != end:
            return None
        return found

    def _derived(self, key: object, make: Callable[[TreeBatch], TreeBatch]) -> TreeBatch:
        """Trees made of these trees, once; of a part, together with all other parts."""
        if self._whole is None:
            return self.memo(key, lambda: make(self))
        made = self._whole._derived(key, make)
        return self.memo(key, lambda: made._part(self._first, self._count))

    # --- the two forms ----------------------------------------------------------------------------

    def _made(self) -> FlatTrees:
        """The tensors, made on first use."""
        if self._flat is None and self._whole is not None:
            nodes = self._whole.nodes.rows(self._first, self._first + self._count)
            self._flat = self._whole._made()._replace(nodes=nodes)
        if self._flat is None:
            self._flat = flatten(self._plain or (), self.kind)
        return self._flat

    def plain_trees(self) -> list[PlainTree] | None:
        """Return the trees as lists, if they are few.

        None for a batch of many trees, of large ones, or on another device than the CPU.
        """
        if self._plain is None and self._whole is None:
            flat = self._made()
            few = flat.nodes.trees <= MAX_SEGMENTS and len(flat.nodes) <= MAX_NODES
            if few and on_cpu(flat.nodes.parent):
                self._plain = unflatten(flat)
        return self._plain

    @property
    def nodes(self) -> Nodes:
        """The nodes of all trees, end to end."""
        return self._made().nodes

    @property
    def labels(self) -> Dictionary:
        """What the ids of labels stand for."""
        return self._made().labels

    @property
    def words(self) -> Dictionary:
        """What the ids of words stand for."""
        return self._made().words

    @property
    def relations(self) -> Dictionary | None:
        """What the ids of relations stand for, of dependency trees whose arcs have names."""
        return self._made().relations

    @property
    def size(self) -> int:
        """The number of nodes of all trees."""
        return len(self.nodes) if self._plain is None else sum(map(len, self._plain))

    @property
    def width(self) -> int:
        """The number of nodes of the largest tree, or more."""
        return (self._whole or self).nodes.width

    def __len__(self) -> int:
        if self._whole is not None:
            return self._count
        return self.nodes.trees if self._plain is None else len(self._plain)

    def __getitem__(self, index: int | slice | Sequence[int] | Tensor) -> TreeBatch:
        """Some of the trees: a number, a slice, a list or a tensor of numbers."""
        plain = self._plain
        if plain is not None:
            plain = [plain[k] for k in resolve_places(index, len(plain), "a batch")]
            if self._flat is None and plain:
                return TreeBatch._from(None, plain, self.kind)
        places = resolve_index(index, len(self), "a batch")
        return TreeBatch._from(self._made()._replace(nodes=self._rows(places)), plain, self.kind)

    def _rows(self, places: slice | Tensor) -> Nodes:
        """The nodes of some of the trees."""
        if isinstance(places, slice):
            return self.nodes.rows(places.start, places.stop)
        rows = places.to(self.device)
        nodes = self.nodes
        lengths = nodes.lengths[rows]
        owner, place = repeat(lengths)
        cells = nodes.offsets[rows][owner] + place
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        parent = nodes.parent[cells]
        shift = (offsets[:-1] - nodes.offsets[rows])[owner]
        return Nodes(
            torch.where(parent < 0, -1, parent + shift),
            nodes.label[cells],
            nodes.word[cells],
            offsets,
            nodes.width,
            None if nodes.known_depth is None else nodes.known_depth[cells],
            None if nodes.known_position is None else nodes.known_position[cells],
            None if nodes.relation is None else nodes.relation[cells],
        )

    @validate(size=integer(1))
    def chunks(self, size: int) -> list[TreeBatch]:
        """The batch in pieces of at most `size` trees; itself alone where it is no longer."""
        if len(self) <= size:
            return [self]
        return [self[start : start + size] for start in range(0, len(self), size)]

    def _like(self, nodes: Nodes) -> TreeBatch:
        return TreeBatch._from(self._made()._replace(nodes=nodes), None, self.kind)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        if self._whole is not None:
            return self._whole.device
        return torch.device("cpu") if self._flat is None else self._flat.nodes.parent.device

    @validate(device=on_device)
    def to(self, device: torch.device | str) -> TreeBatch:
        """The same trees on another device."""
        return self if self.device == torch.device(device) else self._like(self.nodes.to(device))

    @property
    def lengths(self) -> Tensor:
        """Number of nodes of every tree, int64 [B]."""
        if self._whole is not None:
            return self._whole.lengths.narrow(0, self._first, self._count)
        return self.nodes.lengths

    @cached_property
    def tokens(self) -> Tensor:
        """Number of words of every tree, int64 [B]."""
        if self._whole is not None:
            return self._whole.tokens.narrow(0, self._first, self._count)
        counts = torch.zeros(len(self), dtype=torch.int64, device=self.device)
        return counts.index_add_(0, self.nodes.segment, (self.nodes.word >= 0).long())

    @cached_property
    def mask(self) -> Tensor:
        """Which cells of the padded tensors are nodes, bool [B,N]."""
        width = torch.arange(self.nodes.width, device=self.device)
        return width < self.lengths[:, None]

    def padded(self, values: Tensor) -> Tensor:
        """Values of the flat nodes [n] as a padded tensor [B,N]; -1 in the padding."""
        shape = (len(self), self.nodes.width)
        cells = torch.full(shape, -1, dtype=values.dtype, device=self.device)
        nodes = self.nodes
        place = torch.arange(len(nodes), device=self.device) - nodes.offsets[nodes.segment]
        cells[nodes.segment, place] = values
        return cells

    @cached_property
    def label(self) -> Tensor:
        """Id of each node's label, int64 [B,N]."""
        return self.padded(self.nodes.label)

    @cached_property
    def word(self) -> Tensor:
        """Id of the word that a node holds, -1 where it holds none, int64 [B,N]."""
        return self.padded(self.nodes.word)

    @cached_property
    def parent(self) -> Tensor:
        """Place of each node's parent in its row, -1 at the root, int64 [B,N]."""
        nodes = self.nodes
        local = nodes.parent - nodes.offsets[nodes.segment]
        return self.padded(torch.where(nodes.parent < 0, -1, local))

    @cached_property
    def position(self) -> Tensor:
        """Place of each node among its siblings, int64 [B,N]."""
        return self.padded(self.nodes.position)

    @cached_property
    def height(self) -> Tensor:
        """Nodes on the longest way down, 1 at a leaf, int64 [B,N]."""
        return self.padded(self.nodes.height)

    @cached_property
    def production(self) -> Tensor:
        """Key of each node's label and ordered child labels, 0 for a leaf, int64 [B,N]."""
        return self.padded(self.nodes.productions(self.labels.hashes))

    def memo(self, key: object, make: Callable[[], T]) -> T:
        """What `make` gives, made once for this batch (derived trees, self-kernels)."""
        if key not in self._memo:
            self._memo[key] = make()
        value: T = self._memo[key]
        return value

    def skeleton(self) -> TreeBatch:
        """The trees without words: leaves are part-of-speech tags."""
        if not (self._whole or self)._made().bare:
            return self
        return self._derived("skeleton", TreeBatch._skeleton)

    def _skeleton(self) -> TreeBatch:
        nodes = transforms.without_bare_words(self.nodes)
        return TreeBatch.from_nodes(nodes, self.labels, self.words)

    def lexicalized(self) -> TreeBatch:
        """The trees with every word as a leaf of its own, labelled with the word."""
        return self._derived("lexicalized", TreeBatch._lexicalized)

    def _lexicalized(self) -> TreeBatch:
        nodes, labels = transforms.with_word_leaves(self.nodes, self.labels, self.words)
        return TreeBatch.from_nodes(nodes, labels, self.words)

    def dependencies(self, rules: str = "collins") -> TreeBatch:
        """The dependency trees that the head rules give; dependency trees stay as they are."""
        rules_named(rules)
        if self.kind == "dependency":
            return self
        return self._derived(("dependencies", rules), lambda batch: batch._dependencies(rules))

    def _dependencies(self, rules: str) -> TreeBatch:
        size = at_a_time(self.lengths, _CHUNK, _BYTES)
        parts = [to_dependencies(part.nodes, self.labels, rules) for part in self.chunks(size)]
        return TreeBatch.from_nodes(Nodes.join(parts), self.words, self.words, "dependency")

    def to_brackets(self) -> list[str]:
        """One bracketing a tree; reading it again gives the same trees."""
        if self.kind == "dependency":
            raise TensorMTError("dependency trees have no bracketing: use to_heads() instead")
        return bracketing.write(self.nodes.to("cpu"), self.labels, self.words)

    def to_heads(self) -> tuple[list[list[str]], list[list[int]]]:
        """Words and 1-based heads of dependency trees: the inverse of `from_heads`."""
        if self.kind != "dependency":
            raise TensorMTError("constituency trees have no head list: use dependencies() first")
        return head_format.write(self.nodes.to("cpu"), self.words)

    def to_relations(self) -> list[list[str]] | None:
        """The names of the arcs of dependency trees, one for each word; None without any."""
        if self.relations is None:
            return None
        return head_format.relations(self.nodes.to("cpu"), self.relations)

    def with_relations(self) -> TreeBatch:
        """Dependency trees whose labels are words with the names of their arcs."""
        if self.relations is None:
            raise TensorMTError(
                "the arcs of these trees have no names: take a dependency parser (ud, spacy:…, "
                "stanza:…) or CoNLL-U with relations in column 8",
                options="lang parser",
            )
        return self._derived("with relations", TreeBatch._with_relations)

    def _with_relations(self) -> TreeBatch:
        assert self.relations is not None
        nodes, names = transforms.with_relations(self.nodes, self.words, self.relations)
        return TreeBatch.from_nodes(nodes, names, self.words, "dependency", False, self.relations)

    def to_conllu(
        self, relations: Sequence[Sequence[str]] | None = None, first: int | None = None
    ) -> str:
        """Dependency trees as CoNLL-U text, which `from_conllu` reads back to the same trees.

        `relations` are the names of the arcs (column 8), one for each word, where they are not
        those of the trees themselves. With `first` trees are numbered from there, and empty ones
        left out.
        """
        named = self.to_relations() if relations is None else relations
        return conllu.write(*self.to_heads(), named, first)

    def draw(self, index: int = 0) -> str:
        """Return the drawing of a tree as text, a node a line.

        Args:
            index: Which tree.

        Raises:
            TensorMTError: If there is no such tree.

        >>> print(TreeBatch.from_heads([["dogs", "bark"]], [[2, 0]]).draw())
        bark
        └── dogs
        """
        return drawing.as_text(self._drawn(index))

    def _drawn(self, index: int) -> drawing.DrawnTree:
        tree = self[index]
        labels, words = tree.labels.strings, tree.words.strings
        own, above = tree.nodes.word.tolist(), tree.nodes.parent.tolist()
        shown = ["" if i < 0 or self.kind == "dependency" else words[i] for i in own]
        return drawing.DrawnTree(above, [labels[i] for i in tree.nodes.label.tolist()], shown)

    def _repr_html_(self) -> str:
        """The first trees as pictures, for notebooks."""
        pictures = [drawing.as_svg(self._drawn(place)) for place in range(min(len(self), _DRAWN))]
        more = len(self) - len(pictures)
        return "".join([*pictures, f"<p>… and {more} more trees</p>" if more else ""])

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: without what can be made again."""
        if self._plain is None:
            self._made()
        return TreeBatch._from, (self._flat, self._plain, self.kind)

    def __repr__(self) -> str:
        return f"TreeBatch({len(self)} {self.kind} trees, {self.size} nodes, {self.device})"


def _few_words(words: Any) -> bool:
    """Whether the words of segments are few enough to be read in plain Python."""
    if type(words) is not list or not 0 < len(words) <= MAX_SEGMENTS:
        return False
    size = 0
    for row in words:
        if type(row) is not list:
            return False
        size += len(row)
    return size <= MAX_NODES


def _one_naming(
    batches: Sequence[TreeBatch], parts: list[Nodes]
) -> tuple[Dictionary | None, list[Nodes]]:
    """The relations of several batches in one dictionary; none where a batch with words has none.

    `parts` are the nodes of the batches, and come back with their relations numbered anew.
    """
    if any(b.kind != "dependency" or (b.relations is None and len(b.nodes)) for b in batches):
        return None, [p if p.relation is None else replace(p, relation=None) for p in parts]
    known = [batch.relations or Dictionary([]) for batch in batches]
    merged, maps = Dictionary.merge(known)
    return merged, [
        replace(part, relation=take_or(table, part.label[:0] if ids is None else ids, -1))
        for part, ids, table in zip(parts, (p.relation for p in parts), maps, strict=True)
    ]


_BATCHES = list_of(TreeBatch, "a batch of TreeBatch.from_brackets or Parser.parse")
