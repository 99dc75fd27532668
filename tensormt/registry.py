"""The metrics by name, and metrics with options as they are typed: `stm:max_depth=3,balance=f1`.

Adding a metric: its class in `syntax` or `ngram`, one entry here, its test, one row in the README;
the command line finds it, with its options, by itself. Entries are plain data: a class (and torch
with it) is imported when the metric is made, so that `tensormt list` answers at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTError
from tensormt.options import Boolean, Choice, Integer, Number, Option, describe, format_value

if TYPE_CHECKING:
    from tensormt.metric import Metric

__all__ = [
    "ENTRIES",
    "MEANS",
    "METRICS",
    "Entry",
    "is_combined",
    "make",
    "options",
    "parse_spec",
    "read_options",
]


@dataclass(frozen=True)
class Entry:
    """A metric of the list: where its class is, what it does in a line, what can be set."""

    place: str  # room.CLASS
    summary: str
    options: tuple[Option, ...]

    def load(self) -> type[Metric[Any]]:
        """The class."""
        room, name = self.place.split(".")
        found: type[Metric[Any]] = getattr(import_module(f"tensormt.{room}"), name)
        return found


def _order(default: int) -> Option:
    return Integer("max_order", default, "the longest n-grams that count", 1, 100)


def _depth(name: str, default: int, meaning: str) -> Option:
    return Integer(name, default, meaning, 1, 1000)


def _text(lowercase: bool) -> tuple[Option, ...]:
    names = ("13a", "none", "char")
    return (
        Choice("tokenize", "13a", "how text is cut", names, "a tokeniser of sacrebleu"),
        Boolean("lowercase", lowercase, "compare in lower case"),
    )


_INFO = Choice("info", "testset", "whose references give the information", ("testset", "segment"))
_WEIGHTS = (
    Choice("weighting", "recurrence", "how n-grams are weighted", ("recurrence", "zipf")),
    Choice(
        "recurrence",
        "references",
        "what recurrence counts, references with the n-gram or all its occurrences",
        ("references", "occurrences"),
    ),
)
_BALANCE = Choice(
    "balance",
    "precision",
    "precision is the paper's, the others have a penalty for short output",
    ("precision", "recall", "f1", "brevity"),
)
_LEXICAL = Boolean("lexical", False, "compare the words too, not the labels alone")
_RULES = Choice(
    "rules", "collins", "head rules that make dependencies", ("collins", "yamada"), "your own"
)
_DECAY = Number("decay", 1.0, "how much larger subtrees weigh, 1 is the paper's", 0, 1, True)

ENTRIES: dict[str, Entry] = {
    "bleu": Entry(
        "ngram.BLEU",
        "BLEU with sacrebleu's numbers, 0 to 100",
        (
            _order(4),
            Choice(
                "smooth",
                "exp",
                "what a precision without a match becomes",
                ("none", "floor", "add-k", "exp", "epsilon"),
            ),
            Boolean(
                "effective_order",
                None,
                "leave out orders that the hypothesis is too short for, None: in single segments",
            ),
            Number("smooth_value", None, "the value of floor, add-k or epsilon, None is its usual"),
            *_text(False),
        ),
    ),
    "nist": Entry(
        "ngram.NIST", "NIST as mteval-v13a computes it", (_order(5), _INFO, *_text(True))
    ),
    "bm": Entry(
        "ngram.BM",
        "BLEU with matches weighted by what several references share",
        (_order(4), *_WEIGHTS, *_text(True)),
    ),
    "bma": Entry(
        "ngram.BMA",
        "BM with the arithmetic mean over the orders",
        (_order(4), *_WEIGHTS, *_text(True)),
    ),
    "nm": Entry(
        "ngram.NM",
        "NIST with matches weighted by what several references share",
        (_order(5), _INFO, *_WEIGHTS, *_text(True)),
    ),
    "chrf": Entry(
        "ngram.ChrF",
        "chrF and chrF++ with sacrebleu's numbers, 0 to 100",
        (
            Integer("char_order", 6, "the longest n-grams of characters that count", 1, 100),
            Integer(
                "word_order", 0, "the longest n-grams of words that count, 2 is chrF++", 0, 100
            ),
            Number("beta", 2, "how much recall weighs against precision", 0, 1000, True),
            Boolean("lowercase", False, "compare in lower case"),
            Boolean("whitespace", False, "count white space as characters"),
            Boolean("eps_smoothing", False, "average F over the orders, as Moses and nltk do"),
        ),
    ),
    "stm": Entry(
        "syntax.STM",
        "shared subtrees of the constituency trees",
        (_depth("max_depth", 4, "the deepest subtrees that count"), _BALANCE, _LEXICAL),
    ),
    "tkm": Entry(
        "syntax.TKM", "all shared subtrees at once, by the tree kernel", (_DECAY, _LEXICAL)
    ),
    "hwcm": Entry(
        "syntax.HWCM",
        "shared chains of head words in the dependency trees",
        (
            _depth("max_length", 4, "the longest chains that count"),
            _BALANCE,
            _RULES,
            Boolean("labels", False, "compare the names of arcs too, of dependency sources"),
        ),
    ),
    "dstm": Entry(
        "syntax.DSTM",
        "shared subtrees of the dependency trees",
        (_depth("max_depth", 3, "the deepest subtrees that count"), _BALANCE, _RULES),
    ),
    "dtkm": Entry("syntax.DTKM", "the tree kernel on dependency trees", (_DECAY, _RULES)),
}


# means with a name of their own
MEANS = {
    "blend": "chrf:beta=1,lowercase=yes,whitespace=yes+hwcm:max_length=1,balance=f1"
    "+hwcm:max_length=3,balance=brevity",
}


class _Classes(Mapping[str, "type[Metric[Any]]"]):
    """The classes by name, imported when they are asked for."""

    def __getitem__(self, name: str) -> type[Metric[Any]]:
        return ENTRIES[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)


METRICS: Mapping[str, type[Metric[Any]]] = _Classes()


def entry(name: str) -> Entry:
    """The entry of a metric."""
    if name in MEANS:
        raise TensorMTError(f"{name} is a mean of metrics and has no options: {MEANS[name]}")
    if name not in ENTRIES:
        known = ", ".join((*ENTRIES, *MEANS))
        raise TensorMTError(f"no metric named {name!r}: choose from {known}")
    return ENTRIES[name]


def options(name: str) -> dict[str, Any]:
    """The options of a metric and their defaults; those that cannot be typed are left out."""
    return {option.name: option.default for option in entry(name).options}


def read_options(name: str, text: str) -> dict[str, Any]:
    """The options of a metric as they are typed behind its name, each read by its type."""
    known = {option.name: option for option in entry(name).options}
    found: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or key not in known or key in found:
            first = entry(name).options[0]
            raise TensorMTError(
                f"metric '{name}:{text}': {item!r} is "
                f"{'given twice' if key in found else f'no option of {name}'}, write for example "
                f"{name}:{first.name}={format_value(first.default)} (options: {', '.join(known)})"
            )
        try:
            found[key] = known[key].read(value)
        except TensorMTError as error:
            raise TensorMTError(f"metric '{name}:{text}': {error}") from None
    return found


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and options of a single metric as it is typed.

    >>> parse_spec("stm:max_depth=3,balance=f1,lexical=no")
    ('stm', {'max_depth': 3, 'balance': 'f1', 'lexical': False})
    """
    if not isinstance(spec, str):
        raise TensorMTError(f"a metric is named by a text such as 'bleu', got {describe(spec)}")
    name, _, rest = spec.partition(":")
    return name, read_options(name, rest)


def make(spec: str, **more: Any) -> Metric[Any]:
    """The metric that a specification names, with more options.

    Names joined by + are their mean, `queen:` before them is QARLA's QUEEN, `blend` is the mean
    that we recommend, `learned:FILE` has the weights of a file.

    >>> make("chrf+hwcm:max_length=2,balance=f1").signature.split("|")[1][:24]
    'of:chrF(chars:6,words:0,'
    """
    if isinstance(spec, str):
        name = spec.partition(":")[0]
        if name in MEANS and (spec != name or more):
            raise TensorMTError(
                f"metric {spec!r}: {name} is a mean of metrics with their settings, and takes no "
                f"options: type {name}, or the mean that you want, as {MEANS[name]}"
            )
        if name == "queen" and ("+" not in spec or more):
            raise TensorMTError(
                f"metric {spec!r}: queen combines metrics, type for example queen:chrf+stm"
            )
    if isinstance(spec, str) and not more:
        spec = MEANS.get(spec, spec)
        if spec.startswith("queen:"):
            return _combined("Queen", spec.removeprefix("queen:"))
        if "+" in spec:
            return _combined("Mean", spec)
        if spec.startswith("learned:"):
            return _learned(spec.removeprefix("learned:"))
    name, found = parse_spec(spec)
    try:
        return METRICS[name](**{**found, **more})
    except TypeError as error:
        raise TensorMTError(f"metric {spec!r}: {error}") from None


def is_combined(spec: str) -> bool:
    """Whether a specification is of several metrics: a mean, with a name or without, or QUEEN."""
    return "+" in spec or spec.partition(":")[0] in (*MEANS, "queen")


def _combined(kind: str, spec: str) -> Metric[Any]:
    """A metric of the metrics that + joins."""
    members = [make(part) for part in spec.split("+")]
    found: Metric[Any] = getattr(import_module("tensormt.combined"), kind)(members)
    return found


def _learned(path: str) -> Metric[Any]:
    """A metric with the weights of a file that tensormt.train.Learned wrote."""
    from tensormt.syntax.learned_weights import Weighted, load_weights

    spec, theta = load_weights(path)
    return Weighted(make(spec), theta)
