"""Parser: converts text or tokens to a TreeBatch.

    segments → sentences → tokens → batches → span scores → best trees → labels → nodes → segments

Sentences are sorted by length and batched by a token budget; the nodes of all batches are restored
to input order by one permutation, and the sentences of a segment are joined under one root. The
root is kept only if it has several children, as when brackets are read. Dependency models use the
same steps, with the tokenization of a language (`lang`); the roots of later sentences of a segment
are attached to the root of the first.
"""

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.devices import resolve_device
from tensormt.errors import TensorMTError, TensorMTWarning
from tensormt.kernels.backend import argsort, at_a_time, move, nonzero, owners, repeat
from tensormt.kernels.nodes import Nodes
from tensormt.options import describe
from tensormt.parser.char_features import known_scripts
from tensormt.parser.decode import Forest
from tensormt.parser.dependency import DependencyNetwork, join_sentences
from tensormt.parser.language_check import LanguageCheck, check_code
from tensormt.parser.network import ConstituencyNetwork
from tensormt.text import sentences as splitting
from tensormt.text.dictionary import Dictionary
from tensormt.text.words import Words, language_code, letters_of
from tensormt.trees.batch import TreeBatch
from tensormt.trees.conllu import LATER
from tensormt.validation import boolean, integer, optional, validate

AnyNetwork = ConstituencyNetwork | DependencyNetwork

# largest number of words of a batch on a CPU, and bytes of temporary tensors of one elsewhere; the
# same of words³, which take 1.3 bytes for the probabilities of splits
TOKENS, TOKEN_BYTES = 2500, 16_000
CUBIC, CUBIC_BYTES = 10**8, 2
DEFAULT = Path(__file__).with_name("english")
UNIVERSAL = Path(__file__).with_name("ud")
ENGLISH = {
    "default": DEFAULT,
    "english": DEFAULT,
    "english-large": Path(__file__).with_name("english_large"),
    "english-small": Path(__file__).with_name("english_small"),
}
EMBEDDED = {**ENGLISH, "ud": UNIVERSAL}
_RULES = validate(
    trusted=boolean,
    split=boolean,
    max_length=integer(2),
    mbr=optional(boolean),
    batch_tokens=optional(integer(1)),
)


class Parser:
    """A supar parser on one device; use `Parser.load`.

    Args:
        network: Network, or a function that makes it, called when the first text is parsed.
        name: Name in the fingerprint.
        hyphens: Whether words are split at hyphens, as in the treebank.
        split: Whether segments are split into sentences.
        max_length: Tokens of a sentence above which it is split.
        mbr: Whether trees minimize the Bayes risk (supar's default); otherwise they have the best
            score, which is faster.
        batch_tokens: Tokens per batch, which has no effect on trees; None: chosen for the device.
        kind: Kind of the trees, "constituency" or "dependency".
        language: The training data, with which the language of texts is compared, or a function
            that returns it; None: unknown.
        rules: Rules of tokenization and sentence splitting; None: those of the Penn treebank.

    >>> Parser.load("default").kind
    'constituency'
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
        language: LanguageCheck | Callable[[], LanguageCheck] | None = None,
        rules: splitting.Rules | None = None,
    ) -> None:
        self._network, self.name, self.hyphens = network, name, hyphens
        self.kind = getattr(network, "kind", kind)
        self.rules = splitting.Penn(hyphens) if rules is None else rules
        self.split, self.max_length, self.mbr = split, max_length, mbr
        self._batch_tokens, self._language = batch_tokens, language
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
        """Load a parser; weights are read when the first text is parsed.

        Args:
            name: "default", the small English constituency parser, or "ud" if `lang` is another
                language; "english-small", which takes a little more than half the time;
                "english-large", a teacher of both, which takes six times as long; "ud", the
                dependency parser of many languages; a folder of `train-parser`; or a supar
                checkpoint.
            trusted: Whether a supar checkpoint, a pickle that can execute arbitrary code, may be
                loaded.
            device: Device; None: CPU, "auto": CUDA if available.
            lang: Language of the text, for parsers of several languages.
            split: Whether segments are split into sentences.
            max_length: Tokens of a sentence above which it is split.
            mbr: Whether trees minimize the Bayes risk; None: as in the settings of the model.
            batch_tokens: Tokens per batch; None: chosen for the device.

        Raises:
            TensorMTError: If there is no such parser, it is damaged, or it lacks the language.

        >>> Parser.load("ud", lang="de").fingerprint.partition("-")[0]
        'ud'
        """
        from tensormt.parser import checkpoint, model

        if not isinstance(name, str | PathLike) or "\0" in str(name):
            raise TensorMTError(
                f"the name of a parser is 'default', 'ud' or a path, got {describe(name)}"
            )
        check_code(lang)
        path, requested = _location(name, lang), lang
        where = resolve_device(device)
        network: AnyNetwork | Callable[[], AnyNetwork]
        reading: dict[str, Any] = {"kind": "constituency"}
        if path.is_dir():
            settings = checkpoint.load_settings(path)
            mbr = bool(settings.get("mbr", True)) if mbr is None else mbr
            digest = checkpoint.digest(path / checkpoint.WEIGHTS, path / checkpoint.SETTINGS)
            if settings["format"] == checkpoint.DEPENDENCY_FORMAT:
                lang = _language(settings["languages"], lang, path)
                reading = {"kind": "dependency", "rules": Words(lang)}
                digest += f":{lang}" if lang else ""
            elif lang is None or (lang == "en" and path in ENGLISH.values()):
                reading["hyphens"] = bool(settings.get("hyphens", False))
            else:
                raise _no_language(path, lang)

            def language() -> LanguageCheck:
                words = frozenset(settings["words"]) if path in ENGLISH.values() else None
                return LanguageCheck(path.name, known_scripts(settings, lang or ""), words)

            reading["language"] = language

            def network() -> AnyNetwork:
                loaded = checkpoint.load_model(path, settings)
                try:
                    if settings["format"] == checkpoint.DEPENDENCY_FORMAT:
                        relations = settings["relations"]
                        return DependencyNetwork(loaded, relations, where, settings, lang or "")
                    return ConstituencyNetwork(loaded, settings, where, bool(settings["narrow"]))
                except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
                    raise checkpoint.damaged_error(path, error) from error

        elif path.is_file():
            if lang is not None:
                raise _no_language(path, lang)
            parser, plain = model.open_checkpoint(path, trusted)
            digest = checkpoint.digest(path)
            if parser.NAME == model.DEPENDENCY:
                names = parser.transform.DEPREL.vocab.itos
                network = DependencyNetwork(parser.model, names, where, parser=parser)
            else:
                network = ConstituencyNetwork(parser, plain, where, False)
        else:
            raise TensorMTError(
                f"no parser at {str(name)!r}: use 'default', 'ud', a folder of "
                "'tensormt train-parser' or a supar checkpoint"
            )
        mbr = mbr is not False
        rules = {"split": split, "max_length": max_length, "mbr": mbr, "batch_tokens": batch_tokens}
        made = cls(network, f"{path.name}-{digest}", **rules, **reading)  # type: ignore[arg-type]
        made._origin = (name, trusted, where, {"lang": requested, **rules})
        return made

    @property
    def network(self) -> AnyNetwork:
        """The network, whose weights are loaded at the first use."""
        if not isinstance(self._network, ConstituencyNetwork | DependencyNetwork):
            self._network = self._network()
        return self._network

    @property
    def language(self) -> LanguageCheck | None:
        """The training data, with which the language of texts is compared; None: unknown."""
        if callable(self._language):
            self._language = self._language()
        return self._language

    def __reduce__(self) -> Any:
        """Pickle the name only, if the parser was made by `load`."""
        if self._origin is None:
            return super().__reduce__()
        return _reload, (*self._origin,)

    @property
    def fingerprint(self) -> str:
        """Name and hash of the model, and the options that determine the trees."""
        rules = f"{'split' if self.split else 'whole'}:{self.max_length}"
        return f"{self.name}+{rules}{'' if self.mbr else '+best'}"

    def parse(
        self,
        segments: Sequence[str | Sequence[str] | None],
        progress: Callable[[int], object] | None = None,
    ) -> TreeBatch:
        """Parse segments.

        Args:
            segments: Texts, lists of tokens, or None for a missing segment.
            progress: Called with numbers of parsed segments, in proportion to their sentences
                (which are parsed in the order of length).

        Returns:
            One tree per segment; that of an empty or missing segment is empty.

        Raises:
            TensorMTError: If a segment is something else.
        """
        return self._parse(segments, self.split, progress)

    def parse_sentences(self, sentences: Sequence[Sequence[str]]) -> TreeBatch:
        """Parse tokenized sentences, which are not split: one tree per list of tokens."""
        return self._parse(sentences, False, None)

    def _parse(
        self, segments: Any, split: bool, progress: Callable[[int], object] | None
    ) -> TreeBatch:
        segments = _segments(segments)
        sentences = splitting.prepare(segments, split, self.rules, self.max_length)
        if sentences.cut:
            warnings.warn(
                f"{sentences.cut} sentences have more than {self.max_length} tokens: "
                "they were cut, parsed in parts and joined",
                stacklevel=3,
            )
        flat = [token for sentence in sentences.tokens for token in sentence]
        ids, words = Dictionary.encode(flat)
        # batches are made on the CPU
        lengths, segment = (
            torch.tensor(numbers, dtype=torch.int64, device="cpu")
            for numbers in ([len(sentence) for sentence in sentences.tokens], sentences.segment)
        )
        done = _SegmentProgress(progress, len(lengths), len(segments))
        there = _Sentences.on(self.network.device, ids, lengths, segment)
        forest = self._forest(there, words, lengths, done)
        self._check_script(ids, words, lengths)
        size = sentences.segments
        if isinstance(self.network, DependencyNetwork):
            arcs = Dictionary(self.network.relations)
            later = arcs.strings.index(LATER)
            nodes = join_sentences(forest, there.segment, size, there.ids, later)
            return TreeBatch.from_nodes(nodes, words, words, "dependency", relations=arcs)
        root = self.network.table.root
        nodes = _join(forest, there.segment, size, there.starts, there.ids, root)
        return TreeBatch.from_nodes(nodes, Dictionary(self.network.table.names), words)

    def _check_script(self, ids: Tensor, words: Dictionary, lengths: Tensor) -> None:
        """Warn if most words of a sentence are in a script that is not in the training data."""
        if self.language is None or not len(ids):
            return
        seen = self.language.scripts
        of_word = [letters_of(word) for word in words.strings]
        kinds = [[bool(name) and name not in seen for name in of_word], [*map(bool, of_word)]]
        # unseen letters, and letters at all, of every word and of every sentence
        of_type = torch.tensor(kinds, dtype=torch.float32, device="cpu")
        counts = of_type.new_zeros(2, len(lengths)).index_add(1, owners(lengths), of_type[:, ids])
        if bool((2 * counts[0] > counts[1]).any()):
            names = sorted({name for name in of_word if name and name not in seen})
            # without a number, so that the same warning is not printed for every batch
            trouble = (
                f"some sentences are in a script ({', '.join(names)}) that {self.name} was not "
                f"trained on ({', '.join(sorted(seen))}): their trees are unreliable; set the "
                "language, or use another parser"
            )
            warnings.warn(TensorMTWarning(trouble, options="lang parser"), stacklevel=4)

    def _forest(
        self,
        there: "_Sentences",
        words: Dictionary,
        lengths: Tensor,
        done: "_SegmentProgress",
    ) -> Forest:
        """Nodes of all sentences in input order; lengths int64 [S] on the CPU."""
        device, ids = self.network.device, there.ids
        if not len(lengths):
            none = torch.zeros(0, dtype=torch.int64, device=device)
            return Forest(none, none, none, none)
        lexicon = self.network.lexicon(words.strings)
        tokens = self._batch_tokens or at_a_time(ids, TOKENS, TOKEN_BYTES)
        sizes, parts = sorted(lengths.tolist()), []
        for first, end in _batches(sizes, tokens, at_a_time(ids, CUBIC, CUBIC_BYTES)):
            own = there.sizes[first:end]
            place = torch.arange(sizes[end - 1], device=device)
            cells = there.sorted_starts[first:end, None] + place
            inside = place < own[:, None]
            rows = torch.where(inside, ids[cells.clamp(max=len(ids) - 1)], -1)
            parts.append(self.network.parse(lexicon, rows, own, self.mbr))
            done(end - first)
        return _reorder(parts, there.back)


class _Sentences(NamedTuple):
    """What a device needs of S sentences; all int64, and sent in one copy."""

    ids: Tensor  # word types of all tokens [n]
    starts: Tensor  # first token of each sentence [S]
    segment: Tensor  # segment of each sentence [S]
    back: Tensor  # place of each sentence in the order of lengths [S]
    sizes: Tensor  # lengths in that order [S]
    sorted_starts: Tensor  # `starts` in that order [S]

    @classmethod
    def on(
        cls, device: torch.device, ids: Tensor, lengths: Tensor, segment: Tensor
    ) -> "_Sentences":
        order = argsort(lengths)
        starts = lengths.cumsum(0) - lengths
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device="cpu")
        fields = [ids, starts, segment, back, lengths[order], starts[order]]
        return cls(*move(fields, device))


def _location(name: str | PathLike[str], lang: str | None) -> Path:
    """The path of a parser; that of an embedded one follows from its name and the language."""
    if name == "default" and lang not in (None, "en"):
        return UNIVERSAL
    return (EMBEDDED.get(name) if isinstance(name, str) else None) or Path(name)


def _language(known: list[str], lang: str | None, path: Path) -> str:
    """The language of a dependency parser: the requested one, or its only one."""
    if lang is None and len(known) < 2:
        return known[0] if known else ""
    if lang not in known or lang is None:
        wanted = "a language" if lang is None else f"the language {lang!r}"
        if (meant := language_code(lang or "")) in known:
            wanted += f" (did you mean {meant}?)"
        raise TensorMTError(
            f"the parser {path.name} needs {wanted} among those of its training data: choose from "
            f"{', '.join(known)}, use another parser (docs/languages.md), or metrics without trees "
            "such as bleu and chrf"
            if known
            else f"the parser {path.name} has one language without a name: omit lang",
            options="lang parser" if known else "lang",
        )
    return lang


def _no_language(path: Path, lang: str) -> TensorMTError:
    return TensorMTError(
        f"lang is {lang!r}: the parser {path} has one language only: omit lang, or use the parser "
        "ud",
        options="lang parser",
    )


def _segments(given: Any) -> list[Any]:
    """Check segments and return them as a list of texts, lists of tokens, and None."""
    if isinstance(given, str | bytes):
        raise TensorMTError("expected a list of segments, got one string: pass a list")
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


def _reload(name: Any, trusted: bool, device: torch.device, rules: dict[str, Any]) -> Parser:
    """Load a pickled parser."""
    return Parser.load(name, trusted, device, **rules)


class _SegmentProgress:
    """Converts numbers of parsed sentences to numbers of segments for a progress bar."""

    def __init__(
        self, progress: Callable[[int], object] | None, sentences: int, segments: int
    ) -> None:
        self.progress, self.sentences, self.segments = progress, sentences, segments
        self.done = self.reported = 0
        if progress is not None and not sentences:
            progress(segments)

    def __call__(self, sentences: int) -> None:
        self.done += sentences
        share = self.segments * self.done // self.sentences
        if self.progress is not None:
            self.progress(share - self.reported)
        self.reported = share


def _batches(sizes: list[int], budget: int, cubic: int) -> list[tuple[int, int]]:
    """Bounds of batches of sentences in ascending length, of about `budget` tokens with padding.

    Decoding is cubic in the length of a sentence, so batches of long ones are smaller.
    """
    bounds = [0]
    for i, size in enumerate(sizes):
        count = i + 1 - bounds[-1]
        if count > 1 and (count * size > budget or count * size**3 > cubic):
            bounds.append(i)
    bounds.append(len(sizes))
    return list(pairwise(bounds))


def _reorder(parts: list[Forest], back: Tensor) -> Forest:
    """The sentences of several forests in input order; sentence k is the back[k]-th of them."""
    counts = torch.cat([part.counts for part in parts])
    starts = counts.cumsum(0) - counts
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
    """Join the sentences of each segment under a root, if there is more than one top node.

    segment int64 [S], ascending; starts int64 [S]: first token of each sentence; ids int64 [n]:
    word ids.
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
    shift = before + rooted.cumsum(0)[segment]  # and roots, including that of this segment
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
