"""What a metric reads of a text: tokens of a tokeniser, trees of a kind, or contextual vectors.

    Tokens("13a", lowercase=False)      a TokenBatch; the metric itself compares in lower case
    Trees("constituency")               a TreeBatch of bracketed trees
    Trees("dependency")                 a TreeBatch of either kind; head rules convert constituents
    SourceTokens("13a")                 a SourceBatch: tokens of a hypothesis and of its source
    Contextual("minilm", layer=5)       a VectorBatch of an encoder's contextual vectors; with
                                        uses_trees, also the trees of the same texts
    CompositeInput((…, …))              a CompositeBatch: the same segments in each of these forms

A metric declares its input (`metric.reads`). `tensormt.prepared.PreparedTexts` holds texts and asks
the input for the batches, so that no other module needs to know the class of a metric or its input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTError
from tensormt.text.tokens import TokenBatch

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from tensormt.prepared import PreparedTexts
    from tensormt.trees.batch import TreeBatch
    from tensormt.vectors.batch import VectorBatch

__all__ = [
    "CompositeBatch",
    "CompositeInput",
    "CompositeReferences",
    "Contextual",
    "Input",
    "SourceBatch",
    "SourceTokens",
    "Tokens",
    "Trees",
]


class Input(ABC):
    """What a metric reads; subclasses are immutable and hashable."""

    uses_trees: bool = False
    uses_encoder: bool = False
    uses_sources: bool = False

    @property
    def word_tokenizer(self) -> str | None:
        """Name of the tokeniser that gives the words; None if words are not read."""
        return None

    def load(self, device: torch.device) -> None:
        """Load what reads the texts, so that what is missing is reported before any work."""
        return

    @abstractmethod
    def check(self, metric: str, batch: Any) -> None:
        """Raise a TensorMTError that names the metric unless the batch fits."""

    @abstractmethod
    def empty(self) -> Any:
        """Return a batch without segments."""

    def read(self, texts: PreparedTexts) -> None:
        """Let texts do what needs no device, before batches are asked for."""
        return

    @abstractmethod
    def batches(self, texts: PreparedTexts) -> list[Any]:
        """Return a batch for each stream of the texts."""

    @abstractmethod
    def unique(self, texts: PreparedTexts) -> Any:
        """Return one batch of all different texts; the first is the empty text."""

    @abstractmethod
    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return the first `hyps` streams as hypotheses and the others as prepared references."""


@dataclass(frozen=True)
class Tokens(Input):
    """Tokens of a tokeniser.

    Args:
        tokenize: Name of the tokeniser.
        lowercase: Whether the metric compares tokens in lower case.
    """

    tokenize: str = "13a"
    lowercase: bool = False

    @property
    def word_tokenizer(self) -> str | None:
        """Name of the tokeniser; None if it cuts characters."""
        from tensormt.text.plain_tokens import CHARACTERS

        return None if self.tokenize in CHARACTERS else self.tokenize

    @property
    def cut(self) -> tuple[str, bool]:
        """Tokeniser, and whether the text itself is put in lower case before it is cut.

        Tokens are those of the text in lower case, as in sacrebleu. Where it makes no difference,
        they are cut from the text as it is, which metrics then share, and lowered one by one.
        """
        return self.tokenize, self.lowercase and self.tokenize not in ("13a", "none", "spaced")

    def _cut(self, texts: PreparedTexts) -> tuple[str, bool]:
        """`cut` for these texts: with 13a it depends on them."""
        name, lower = self.cut
        return name, lower or (self.lowercase and name == "13a" and texts.case_matters_to_13a)

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds tokens; a batch brings its own tokenisation."""
        if not isinstance(batch, TokenBatch):
            raise TensorMTError(
                f"{metric} compares tokens but got {_kind(batch)}: make a batch with "
                "TokenBatch.from_text(lines)"
            )

    def empty(self) -> TokenBatch:
        """Return a batch without segments."""
        return TokenBatch.from_text([], *self.cut)

    def read(self, texts: PreparedTexts) -> None:
        """Tokenise the texts."""
        texts.read_tokens(*self._cut(texts))

    def batches(self, texts: PreparedTexts) -> list[TokenBatch]:
        """Return a TokenBatch for each stream."""
        return texts.token_batches(*self._cut(texts))

    def unique(self, texts: PreparedTexts) -> TokenBatch:
        """Return a TokenBatch of all different texts."""
        return texts.unique_tokens(*self._cut(texts))

    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return hypotheses, and References that are prepared once for all systems."""
        return self.batches(texts)[:hyps], texts.token_references(*self._cut(texts), hyps)


@dataclass(frozen=True)
class SourceTokens(Tokens):
    """Tokens of a tokeniser, those of hypotheses together with those of their sources."""

    uses_sources = True

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds tokens, with or without those of the source."""
        for part in (batch.text, batch.source) if isinstance(batch, SourceBatch) else (batch,):
            super().check(metric, part)

    def empty(self) -> Any:
        """Return a batch without segments."""
        return SourceBatch(super().empty(), super().empty())

    def read(self, texts: PreparedTexts) -> None:
        """Tokenise the texts and the sources."""
        super().read(texts)
        texts.read_sources(*self._cut(texts))

    def unique(self, texts: PreparedTexts) -> TokenBatch:
        """Raise: a text has a source only as the output of a segment."""
        raise TensorMTError(
            "a metric that reads the source compares outputs with references, not any two texts"
        )

    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return hypotheses with their sources, and references."""
        own, refs = super().sides(texts, hyps)
        source = texts.source_tokens(*self._cut(texts))
        return [SourceBatch(hyp, source) for hyp in own], refs


@dataclass(frozen=True)
class Trees(Input):
    """Trees of a kind: "constituency", or "dependency" (made by head rules from constituents)."""

    kind: str = "constituency"
    uses_trees = True

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds trees of the kind."""
        if not isinstance(batch, _tree_batch()):
            raise TensorMTError(
                f"{metric} compares trees but got {_kind(batch)}: make a batch with "
                "Parser.load().parse(lines) or TreeBatch.from_brackets(lines)"
            )
        if self.kind == "constituency" and batch.kind == "dependency":
            raise TensorMTError(
                f"{metric} compares constituency trees but the batch holds dependency trees: "
                "use HWCM, DSTM or DTKM, or give bracketings"
            )

    def empty(self) -> TreeBatch:
        """Return a batch without segments."""
        from tensormt.trees.batch import TreeBatch

        return TreeBatch.from_brackets([])

    def read(self, texts: PreparedTexts) -> None:
        """Read trees that are text."""
        texts.read_trees()

    def batches(self, texts: PreparedTexts) -> list[TreeBatch]:
        """Return a TreeBatch for each stream."""
        return texts.tree_batches()

    def unique(self, texts: PreparedTexts) -> TreeBatch:
        """Return a TreeBatch of all different texts."""
        return texts.unique_trees()

    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return hypotheses and references."""
        streams = self.batches(texts)
        return streams[:hyps], streams[hyps:]


@dataclass(frozen=True)
class Contextual(Input):
    """Contextual vectors of an encoder.

    Args:
        encoder: Name or folder of the encoder.
        layer: Layer of the vectors, from 1; None: the last.
        trusted: Whether weights in a pickle may be loaded.
        uses_trees: Whether the trees of the texts are read too.
        cache: Folder in which vectors are kept for later runs; None: nowhere.
        vectors: Whether vectors are computed; False: the pieces alone, which can be counted.
    """

    encoder: str = "minilm"
    layer: int | None = None
    trusted: bool = False
    uses_trees: bool = False
    cache: str | None = None
    vectors: bool = True
    uses_encoder = True

    def load(self, device: torch.device) -> None:
        """Load the encoder."""
        from tensormt.vectors.encoder import load_encoder

        load_encoder(self.encoder, self.layer, device, self.trusted)

    def encode(
        self,
        lines: Sequence[str],
        device: torch.device | str = "cpu",
        trees: TreeBatch | None = None,
    ) -> VectorBatch:
        """Return the vectors of B lines, with their trees where these are given."""
        import torch

        from tensormt.vectors.batch import VectorBatch
        from tensormt.vectors.cache import encode_cached
        from tensormt.vectors.encoder import load_encoder
        from tensormt.vectors.folder import fingerprint

        encoder = load_encoder(self.encoder, self.layer, device, self.trusted)
        if not self.vectors:
            found = encoder.pieces(lines)
        elif self.cache is None:
            found = encoder.encode(lines)
        else:
            named = f"{fingerprint(self.encoder)}, layer {self.layer or 'last'}"
            found = encode_cached(encoder, lines, self.cache, named)
        found = found if trees is None else found.with_trees(trees.to(device))
        return VectorBatch(found, torch.arange(len(lines), device=device))

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds contextual vectors."""
        from tensormt.vectors.batch import VectorBatch

        if not isinstance(batch, VectorBatch):
            raise TensorMTError(
                f"{metric} compares contextual vectors but got {_kind(batch)}: score text with "
                "tm.score, or make a batch with metric.reads.encode(lines)"
            )

    def empty(self) -> VectorBatch:
        """Return a batch without segments."""
        import torch

        from tensormt.trees.batch import TreeBatch
        from tensormt.vectors.batch import TextVectors, VectorBatch

        none = torch.zeros(0, dtype=torch.int64)
        source = TextVectors([], torch.zeros(0, 1), none, none, none, none.view(0, 2))
        return VectorBatch(source.with_trees(TreeBatch.from_heads([], [])), none)

    def batches(self, texts: PreparedTexts) -> list[VectorBatch]:
        """Return a VectorBatch for each stream."""
        return texts.vector_batches(self)

    def unique(self, texts: PreparedTexts) -> VectorBatch:
        """Return a VectorBatch of all different texts."""
        return texts.unique_vectors(self)

    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return hypotheses and references."""
        streams = self.batches(texts)
        return streams[:hyps], streams[hyps:]


@dataclass(frozen=True)
class CompositeInput(Input):
    """Several inputs side by side, one for each member of a combined metric."""

    parts: tuple[Input, ...]

    @property
    def word_tokenizer(self) -> str | None:
        """Name of the tokeniser of the first member that reads words."""
        return next(filter(None, (part.word_tokenizer for part in self.parts)), None)

    @property
    def uses_trees(self) -> bool:  # type: ignore[override]
        """Whether a member reads trees."""
        return any(part.uses_trees for part in self.parts)

    @property
    def uses_encoder(self) -> bool:  # type: ignore[override]
        """Whether a member reads contextual vectors."""
        return any(part.uses_encoder for part in self.parts)

    @property
    def uses_sources(self) -> bool:  # type: ignore[override]
        """Whether a member reads the source."""
        return any(part.uses_sources for part in self.parts)

    def load(self, device: torch.device) -> None:
        """Load what the members read with."""
        for part in self.parts:
            part.load(device)

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch has all forms, or is one that fits every member."""
        for number, part in enumerate(self.parts):
            part.check(metric, member_batch(batch, number))

    def empty(self) -> CompositeBatch:
        """Return a batch without segments."""
        return CompositeBatch(part.empty() for part in self.parts)

    def read(self, texts: PreparedTexts) -> None:
        """Read what the members need."""
        for part in self.parts:
            part.read(texts)

    def batches(self, texts: PreparedTexts) -> list[CompositeBatch]:
        """Return a CompositeBatch for each stream."""
        parts = [part.batches(texts) for part in self.parts]
        return [CompositeBatch(stream) for stream in zip(*parts, strict=True)]

    def unique(self, texts: PreparedTexts) -> CompositeBatch:
        """Return a CompositeBatch of all different texts."""
        return CompositeBatch(part.unique(texts) for part in self.parts)

    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return hypotheses and references."""
        sides = [part.sides(texts, hyps) for part in self.parts]
        own = [CompositeBatch(stream) for stream in zip(*(hyp for hyp, _ in sides), strict=True)]
        return own, CompositeReferences(refs for _, refs in sides)


@dataclass(frozen=True)
class SourceBatch:
    """Hypotheses with their sources.

    Args:
        text: Tokens of B hypotheses.
        source: Tokens of their B sources.

    Raises:
        TensorMTError: If the numbers of segments differ.
    """

    text: TokenBatch
    source: TokenBatch

    def __post_init__(self) -> None:
        if len(self.text) != len(self.source):
            raise TensorMTError(
                f"{len(self.text)} hypotheses, {len(self.source)} sources: they must align one to "
                "one"
            )

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, index: Any) -> SourceBatch:
        return SourceBatch(self.text[index], self.source[index])

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.text.device

    @property
    def lengths(self) -> Tensor:
        """Lengths of the hypotheses, int64 [B]."""
        return self.text.lengths


class CompositeBatch:
    """The same segments in several forms: `parts`, a batch each."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> CompositeBatch:
        return CompositeBatch(part[index] for part in self.parts)

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        device: torch.device = self.parts[0].device
        return device

    @property
    def lengths(self) -> Tensor:
        """Lengths of the segments in the first form, int64 [B]; 0 where there is no text."""
        lengths: Tensor = self.parts[0].lengths
        return lengths


class CompositeReferences(Sequence[CompositeBatch]):
    """References in several forms: `parts`, a list of R prepared streams each."""

    def __init__(self, parts: Iterable[Sequence[Any]]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> Any:
        return CompositeBatch(part[index] for part in self.parts)


@cache
def _tree_batch() -> type[TreeBatch]:
    """The class of batches of trees, whose module imports torch."""
    from tensormt.trees.batch import TreeBatch

    return TreeBatch


def is_batch(value: Any) -> bool:
    """Whether a value is a batch of segments."""
    from tensormt.trees.batch import TreeBatch
    from tensormt.vectors.batch import VectorBatch

    kinds = TokenBatch | TreeBatch | VectorBatch | CompositeBatch | SourceBatch
    return isinstance(value, kinds)


def member_batch(batch: Any, number: int) -> Any:
    """Return what member `number` of a combined metric reads of a batch."""
    return batch.parts[number] if isinstance(batch, CompositeBatch | CompositeReferences) else batch


def member_batches(batches: Sequence[Any], number: int) -> Sequence[Any]:
    """Return what member `number` of a combined metric reads of several batches."""
    if isinstance(batches, CompositeReferences):
        part: Sequence[Any] = batches.parts[number]
        return part
    return [member_batch(batch, number) for batch in batches]


def _kind(batch: Any) -> str:
    from tensormt.trees.batch import TreeBatch
    from tensormt.vectors.batch import VectorBatch

    names = {
        TokenBatch: "a batch of tokens",
        TreeBatch: "a batch of trees",
        VectorBatch: "a batch of vectors",
        CompositeBatch: "a composite batch",
        SourceBatch: "hypotheses with their sources",
    }
    return names.get(type(batch), f"{type(batch).__name__}")
