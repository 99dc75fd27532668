"""Parser: text or tokens in, a TreeBatch out.

    segments → sentences → tokens → batches → span scores → best trees → labels → nodes → segments

Sentences are sorted by length and batched by a token budget; the nodes of all batches are put
back in input order by one permutation and the sentences of a segment are joined under one root.
The root is kept only where it has several children, as when brackets are read.
"""

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.data.lines import items_of
from tensormt.devices import device_named
from tensormt.errors import TensorMTError
from tensormt.given import flag, given, optional, whole
from tensormt.kernels.arrays import argsort, nonzero, repeat
from tensormt.kernels.nodes import Nodes
from tensormt.parser.decode import Forest
from tensormt.parser.dependency import DependencyNetwork, join
from tensormt.parser.network import Network
from tensormt.text import sentences as splitting
from tensormt.text.dictionary import Dictionary
from tensormt.trees.batch import TreeBatch
from tensormt.typed import described

__all__ = ["Parser"]

AnyNetwork = Network | DependencyNetwork

CUBIC = 10**8  # words³ of a batch: 130 MB for the shares of splits
DEFAULT = Path(__file__).with_name("english")
_RULES = given(
    trusted=flag,
    split=flag,
    max_length=whole(2),
    mbr=flag,
    batch_tokens=optional(whole(1)),
)


class Parser:
    """A supar parser on one device.

    split: cut segments into sentences; max_length: tokens of a sentence before it is cut;
    mbr: trees of least risk (supar's default), else those with the best score, a little faster;
    batch_tokens: size of a batch, which changes the speed and never the trees (None: chosen for
    the device).
    """

    @_RULES
    def __init__(
        self,
        network: AnyNetwork | Callable[[], AnyNetwork],
        name: str,
        *,
        hyphens: bool,
        split: bool = True,
        max_length: int = 400,
        mbr: bool = True,
        batch_tokens: int | None = None,
    ) -> None:
        """`network` may be a function that makes it: called when the first text is parsed."""
        self._network, self.name, self.hyphens = network, name, hyphens
        self.split, self.max_length, self.mbr = split, max_length, mbr
        self._batch_tokens = batch_tokens
        self._origin: tuple[Any, ...] | None = None

    @classmethod
    @_RULES
    def load(
        cls,
        name: str | PathLike[str] = "default",
        trusted: bool = False,
        device: str | torch.device | None = None,
        *,
        split: bool = True,
        max_length: int = 400,
        mbr: bool = True,
        batch_tokens: int | None = None,
    ) -> "Parser":
        """The embedded model ("default"), a folder of `train-parser`, or a supar checkpoint.

        A supar checkpoint is a pickle and is opened only with `trusted=True`. device: None is the
        CPU, "auto" is CUDA where there is one. The weights of a folder are read when the first
        text is parsed.
        """
        from tensormt.parser import model, store

        if not isinstance(name, str | PathLike) or "\0" in str(name):
            raise TensorMTError(f"a parser is named by 'default' or a path, got {described(name)}")
        path = DEFAULT if name == "default" else Path(name)
        where = device_named(device)
        network: AnyNetwork | Callable[[], AnyNetwork]
        if path.is_dir():
            settings = store.settings(path)
            hyphens = bool(settings.get("hyphens", False))
            digest = store.digest(path / store.WEIGHTS, path / store.SETTINGS)

            def network() -> AnyNetwork:
                loaded = store.load(path, settings)
                try:
                    return Network(loaded, settings, where, bool(settings["narrow"]))
                except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
                    raise store.damaged(path, error) from error

        elif path.is_file():
            parser, plain = model.open_checkpoint(path, trusted)
            digest, hyphens = store.digest(path), False
            network = (
                DependencyNetwork(parser, where)
                if parser.NAME == model.DEPENDENCY
                else Network(parser, plain, where, False)
            )
        else:
            raise TensorMTError(
                f"no parser at {str(name)!r}: give 'default', a folder made by "
                "'tensormt train-parser' or a supar checkpoint"
            )
        rules = {"split": split, "max_length": max_length, "mbr": mbr, "batch_tokens": batch_tokens}
        made = cls(network, f"{path.name}-{digest}", hyphens=hyphens, **rules)  # type: ignore[arg-type]
        made._origin = (name, trusted, where, rules)
        return made

    @property
    def network(self) -> AnyNetwork:
        """The weights at work, made when they are first asked for."""
        if not isinstance(self._network, Network | DependencyNetwork):
            self._network = self._network()
        return self._network

    @property
    def batch_tokens(self) -> int:
        """Tokens of a batch: as asked, or what suits the device."""
        return self._batch_tokens or (2500 if self.network.device.type == "cpu" else 10_000)

    def __reduce__(self) -> Any:
        """For pickling: a parser that was loaded goes by its name."""
        if self._origin is None:
            return super().__reduce__()
        return _again, (*self._origin,)

    @property
    def fingerprint(self) -> str:
        """What makes the trees, in short: name and hash of the model, and the text rules."""
        rules = f"{'split' if self.split else 'whole'}:{self.max_length}"
        return f"{self.name}+{rules}{'' if self.mbr else '+best'}"

    def parse(
        self,
        segments: Sequence[str | Sequence[str] | None],
        progress: Callable[[int], object] | None = None,
    ) -> TreeBatch:
        """Trees of segments, each raw text (str), a list of tokens, or None for no segment.

        An empty segment has an empty tree. `progress` hears how many more segments are done, in
        proportion to their sentences (which are parsed in order of length).
        """
        segments = _segments(segments)
        sentences = splitting.prepare(segments, self.split, self.hyphens, self.max_length)
        if sentences.cut:
            warnings.warn(
                f"{sentences.cut} sentences have more than {self.max_length} tokens: "
                "they were cut, parsed in parts and joined",
                stacklevel=2,
            )
        device = self.network.device
        flat = [token for sentence in sentences.tokens for token in sentence]
        ids, words = Dictionary.encode(flat)
        sizes = [len(sentence) for sentence in sentences.tokens]
        lengths = torch.tensor(
            sizes, dtype=torch.int64, device="cpu"
        )  # batches are cut on the host
        forest = self._forest(ids, words, lengths, _Share(progress, len(lengths), len(segments)))
        segment = torch.tensor(sentences.segment, dtype=torch.int64, device=device)
        if isinstance(self.network, DependencyNetwork):
            nodes = join(forest, segment, sentences.segments, ids.to(device))
            return TreeBatch.from_nodes(nodes, words, words, "dependency")
        starts = (lengths.cumsum(0) - lengths).to(device)
        nodes = _join(
            forest, segment, sentences.segments, starts, ids.to(device), self.network.table.root
        )
        return TreeBatch.from_nodes(nodes, Dictionary(self.network.table.names), words)

    def _forest(
        self,
        ids: Tensor,
        words: Dictionary,
        lengths: Tensor,
        share: "_Share",
    ) -> Forest:
        """Nodes of all sentences in input order, from token ids int64 [n] and lengths int64 [S]."""
        device = self.network.device
        if not len(lengths):
            none = torch.zeros(0, dtype=torch.int64, device=device)
            return Forest(none, none, none, none)
        lexicon = self.network.lexicon(words.strings)
        order = argsort(lengths)
        starts = lengths.cumsum(0) - lengths
        parts, tokens = [], ids.to(device)
        for members in _batches(order, lengths, self.batch_tokens):
            sizes = lengths[members].to(device)
            place = torch.arange(int(lengths[members[-1]]), device=device)
            cells = starts[members].to(device)[:, None] + place
            inside = place < sizes[:, None]
            rows = torch.where(inside, tokens[cells.clamp(max=len(ids) - 1)], -1)
            parts.append(self.network.parse(lexicon, rows, sizes, self.mbr))
            share(len(members))
        return _reorder(parts, order.to(device))


def _segments(given: Any) -> list[Any]:
    """Segments as a list of texts, of lists of tokens, and of None."""
    if isinstance(given, str | bytes):
        raise TensorMTError("expected a list of segments, got one string: put it in a list")
    segments = items_of(given, "segments")
    for number, segment in enumerate(segments, 1):
        tokens = segment if isinstance(segment, list | tuple) else [segment or ""]
        for token in tokens:
            if not isinstance(token, str):
                raise TensorMTError(
                    f"segment {number}: expected text or a list of tokens, got "
                    f"{type(token).__name__} {repr(token)[:40]}"
                )
    return segments


def _again(name: Any, trusted: bool, device: torch.device, rules: dict[str, Any]) -> Parser:
    """A parser loaded once more, elsewhere."""
    return Parser.load(name, trusted, device, **rules)


class _Share:
    """Turns sentences done into segments done for a progress bar."""

    def __init__(
        self, progress: Callable[[int], object] | None, sentences: int, segments: int
    ) -> None:
        self.progress, self.sentences, self.segments = progress, sentences, segments
        self.done = self.told = 0
        if progress is not None and not sentences:
            progress(segments)

    def __call__(self, sentences: int) -> None:
        self.done += sentences
        share = self.segments * self.done // self.sentences
        if self.progress is not None:
            self.progress(share - self.told)
        self.told = share


def _batches(order: Tensor, lengths: Tensor, budget: int) -> list[Tensor]:
    """Sentences in rising length, cut so that a padded batch holds about `budget` tokens.

    Decoding is cubic in the length of a sentence, so long ones come in smaller batches.
    """
    sizes = lengths[order].tolist()
    bounds = [0]
    for i, size in enumerate(sizes):
        count = i + 1 - bounds[-1]
        if count > 1 and (count * size > budget or count * size**3 > CUBIC):
            bounds.append(i)
    bounds.append(len(sizes))
    return [order[a:b] for a, b in pairwise(bounds)]


def _reorder(parts: list[Forest], order: Tensor) -> Forest:
    """The sentences of several forests, number `order[k]` being the k-th, in order of number."""
    counts = torch.cat([part.counts for part in parts])
    starts = counts.cumsum(0) - counts
    back = argsort(order)
    owner, place = repeat(counts[back])
    cells = starts[back][owner] + place
    return Forest(
        torch.cat([part.label for part in parts])[cells],
        torch.cat([part.parent for part in parts])[cells],
        torch.cat([part.word for part in parts])[cells],
        counts[back],
    )


def _join(
    forest: Forest, segment: Tensor, segments: int, starts: Tensor, ids: Tensor, root: int
) -> Nodes:
    """The sentences of each segment under one root, where there is more than one top node.

    segment int64 [S] rises; starts int64 [S] first token of a sentence; ids int64 [n] word ids.
    """
    device = segment.device
    owner, _ = repeat(forest.counts)
    of_node = segment[owner]
    zeros = torch.zeros(segments, dtype=torch.int64, device=device)
    tops = zeros.index_add(0, of_node, (forest.parent < 0).long())
    rooted = (tops > 1).long()
    lengths = zeros.index_add(0, segment, forest.counts) + rooted
    offsets = torch.cat((zeros[:1], lengths.cumsum(0))) if segments else zeros.new_zeros(1)
    before = forest.counts.cumsum(0) - forest.counts  # nodes of earlier sentences
    shift = before + rooted.cumsum(0)[segment]  # and of roots, this segment's among them
    place = torch.arange(len(owner), device=device) + rooted.cumsum(0)[of_node]

    size = len(owner) + int(rooted.sum())
    label = torch.full((size,), root, dtype=torch.int64, device=device)
    parent = torch.full_like(label, -1)
    word = torch.full_like(label, -1)
    above = torch.where(rooted[of_node] > 0, offsets[of_node], -1)
    label[place] = forest.label
    parent[place] = torch.where(forest.parent < 0, above, forest.parent + shift[owner])
    leaf = nonzero(forest.word >= 0)
    word[place[leaf]] = ids[starts[owner[leaf]] + forest.word[leaf]]
    return Nodes(parent, label, word, offsets, int(lengths.max()) if segments else 0)
