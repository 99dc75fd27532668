"""Parser: text or tokens in, a TreeBatch out.

    segments → sentences → tokens → batches → span scores → best trees → labels → nodes → segments

Sentences are sorted by length and batched by a token budget; the nodes of all batches are put
back in input order by one permutation and the sentences of a segment are joined under one root.
The root is kept only where it has several children, as when brackets are read. Dependency models
walk the same way; their words are those of a language (`lang`), and the later sentences of a
segment hang on the root of the first.
"""

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.devices import resolve_device
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import argsort, nonzero, owners, repeat
from tensormt.kernels.nodes import Nodes
from tensormt.options import describe
from tensormt.parser.char_features import scripts
from tensormt.parser.decode import Forest
from tensormt.parser.dependency import DependencyNetwork, join
from tensormt.parser.network import Network
from tensormt.text import sentences as splitting
from tensormt.text.dictionary import Dictionary
from tensormt.text.words import Words, letters_of
from tensormt.trees.batch import TreeBatch
from tensormt.trees.conllu import LATER
from tensormt.validation import boolean, integer, optional, validate

AnyNetwork = Network | DependencyNetwork

CUBIC = 10**8  # words³ of a batch: 130 MB for the shares of splits
DEFAULT = Path(__file__).with_name("english")
LARGE = Path(__file__).with_name("english_large")
UNIVERSAL = Path(__file__).with_name("ud")
_RULES = validate(
    trusted=boolean,
    split=boolean,
    max_length=integer(2),
    mbr=optional(boolean),
    batch_tokens=optional(integer(1)),
)


class Parser:
    """A supar parser on one device.

    split: cut segments into sentences; max_length: tokens of a sentence before it is cut;
    mbr: trees of least risk (supar's default), else those with the best score, which is faster;
    `load` takes what the model's settings say where it is not given;
    batch_tokens: size of a batch, which changes the speed and never the trees (None: chosen for
    the device).
    """

    @_RULES
    def __init__(
        self,
        network: AnyNetwork | Callable[[], AnyNetwork],
        name: str,
        *,
        hyphens: bool = False,
        split: bool = True,
        max_length: int = 400,
        mbr: bool = True,
        batch_tokens: int | None = None,
        kind: str = "constituency",
        rules: splitting.Rules | None = None,
    ) -> None:
        """`network` may be a function that makes it: called when the first text is parsed.

        rules: how text is read, as English of the Penn treebank where not given; kind: of the
        trees.
        """
        self._network, self.name, self.hyphens = network, name, hyphens
        self.kind = getattr(network, "kind", kind)
        self.rules = splitting.Penn(hyphens) if rules is None else rules
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
        lang: str | None = None,
        split: bool = True,
        max_length: int = 400,
        mbr: bool | None = None,
        batch_tokens: int | None = None,
    ) -> "Parser":
        """An embedded model ("default", "ud"), a folder of `train-parser`, or a supar checkpoint.

        "default" is the English parser of constituents, small and fast; "english-large" takes four
        times as long for half a point of F1; with another language, `lang="de"`, it is
        "ud", the parser of dependencies in many languages. A supar checkpoint is a pickle and is
        opened only with `trusted=True`. device: None is the CPU, "auto" is CUDA where there is one.
        The weights of a folder are read when the first text is parsed.
        """
        from tensormt.parser import checkpoint, model

        if not isinstance(name, str | PathLike) or "\0" in str(name):
            raise TensorMTError(
                f"a parser is named by 'default', 'ud' or a path, got {describe(name)}"
            )
        path, asked = _place(name, lang), lang
        where = resolve_device(device)
        network: AnyNetwork | Callable[[], AnyNetwork]
        reading: dict[str, Any] = {"kind": "constituency"}
        if path.is_dir():
            settings = checkpoint.settings(path)
            mbr = bool(settings.get("mbr", True)) if mbr is None else mbr
            digest = checkpoint.digest(path / checkpoint.WEIGHTS, path / checkpoint.SETTINGS)
            if settings["format"] == checkpoint.UNIVERSAL:
                lang = _language(settings["languages"], lang, path)
                reading = {"kind": "dependency", "rules": Words(lang)}
                digest += f":{lang}" if lang else ""
            elif lang is None or (lang == "en" and path in (DEFAULT, LARGE)):
                reading["hyphens"] = bool(settings.get("hyphens", False))
            else:
                raise _no_language(path, lang)

            def network() -> AnyNetwork:
                loaded = checkpoint.load(path, settings)
                try:
                    if settings["format"] == checkpoint.UNIVERSAL:
                        relations = settings["relations"]
                        return DependencyNetwork(loaded, relations, where, settings, lang or "")
                    return Network(loaded, settings, where, bool(settings["narrow"]))
                except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
                    raise checkpoint.damaged(path, error) from error

        elif path.is_file():
            if lang is not None:
                raise _no_language(path, lang)
            parser, plain = model.open_checkpoint(path, trusted)
            digest = checkpoint.digest(path)
            if parser.NAME == model.DEPENDENCY:
                names = parser.transform.DEPREL.vocab.itos
                network = DependencyNetwork(parser.model, names, where, parser=parser)
            else:
                network = Network(parser, plain, where, False)
        else:
            raise TensorMTError(
                f"no parser at {str(name)!r}: give 'default', 'ud', a folder made by "
                "'tensormt train-parser' or a supar checkpoint"
            )
        mbr = mbr is not False
        rules = {"split": split, "max_length": max_length, "mbr": mbr, "batch_tokens": batch_tokens}
        made = cls(network, f"{path.name}-{digest}", **rules, **reading)  # type: ignore[arg-type]
        made._origin = (name, trusted, where, {"lang": asked, **rules})
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
        sentences = splitting.prepare(segments, self.split, self.rules, self.max_length)
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
            self._check_script(ids, words, lengths)
            arcs = Dictionary(self.network.relations)
            later = arcs.strings.index(LATER)
            nodes = join(forest, segment, sentences.segments, ids.to(device), later)
            return TreeBatch.from_nodes(nodes, words, words, "dependency", relations=arcs)
        starts = (lengths.cumsum(0) - lengths).to(device)
        nodes = _join(
            forest, segment, sentences.segments, starts, ids.to(device), self.network.table.root
        )
        return TreeBatch.from_nodes(nodes, Dictionary(self.network.table.names), words)

    def _check_script(self, ids: Tensor, words: Dictionary, lengths: Tensor) -> None:
        """Warn of sentences most of whose words are in a script that the model never saw."""
        settings = self.network.settings
        if settings is None or not len(ids):
            return
        seen = scripts(settings, self.network.lang)  # type: ignore[union-attr]
        of_word = [letters_of(word) for word in words.strings]
        strange = torch.tensor([bool(name) and name not in seen for name in of_word])[ids]
        lettered = torch.tensor([bool(name) for name in of_word])[ids]
        owner = owners(lengths)
        counts = torch.zeros(2, len(lengths)).index_add(
            1, owner, torch.stack((strange, lettered)).float()
        )
        mostly = int((2 * counts[0] > counts[1]).sum())
        if mostly:
            names = sorted({name for name in of_word if name and name not in seen})
            warnings.warn(
                f"{mostly} of {len(lengths)} sentences are in a script ({', '.join(names)}) that "
                f"{self.name} never saw ({', '.join(sorted(seen))}): their trees are guesses; name "
                "the language (lang), or another parser",
                stacklevel=3,
            )

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


def _place(name: str | PathLike[str], lang: str | None) -> Path:
    """Where a parser lies; an embedded one is named, or follows from the language."""
    if name == "ud" or (name == "default" and lang not in (None, "en")):
        return UNIVERSAL
    embedded = {"default": DEFAULT, "english": DEFAULT, "english-large": LARGE}
    return embedded.get(str(name)) or Path(name)


def _language(known: list[str], lang: str | None, path: Path) -> str:
    """The language that a dependency parser is to read: the one asked for, or its only one."""
    if lang is None and len(known) < 2:
        return known[0] if known else ""
    if lang not in known or lang is None:
        wanted = "a language" if lang is None else f"the language {lang!r}"
        raise TensorMTError(
            f"the parser {path.name} needs {wanted} among those that it learnt: choose from "
            f"{', '.join(known)}, or name another parser (docs/languages.md)"
            if known
            else f"the parser {path.name} learnt one language without a name: leave lang out",
            options="lang parser" if known else "lang",
        )
    return lang


def _no_language(path: Path, lang: str) -> TensorMTError:
    return TensorMTError(
        f"lang is {lang!r}: the parser {path} reads one language as it is: leave lang out, or take "
        "the parser ud",
        options="lang parser",
    )


def _segments(given: Any) -> list[Any]:
    """Segments as a list of texts, of lists of tokens, and of None."""
    if isinstance(given, str | bytes):
        raise TensorMTError("expected a list of segments, got one string: put it in a list")
    segments = as_list(given, "segments")
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
    owner = owners(forest.counts)
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
