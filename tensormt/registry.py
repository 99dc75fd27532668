"""Metrics by name, and metrics with options as users type them: `stm:max_depth=3,balance=f1`.

A metric is a class of this package, listed in `METRICS`, or of another one, which names it as an
entry point:

    [project.entry-points."tensormt.metrics"]
    mine = "package.module:Mine"

Options come from the class (`Metric.options`), so the command line offers them without further
code. Classes are imported when they are asked for; importing a metric does not import torch.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTError
from tensormt.options import describe, format_value

if TYPE_CHECKING:
    from tensormt.metric import Metric

__all__ = [
    "DEFAULT_METRICS",
    "MEANS",
    "METRICS",
    "REPORT_METRICS",
    "find",
    "is_combined",
    "make",
    "metrics",
    "parse_spec",
    "split_specs",
]

GROUP = "tensormt.metrics"

_ROUGE = re.compile("rouge[-_ ]?([1-9]|l|lsum|w|s|su)")  # as other packages name its variants

# name → module and class
METRICS = {
    "bleu": "tensormt.ngram.bleu:BLEU",
    "nist": "tensormt.ngram.nist:NIST",
    "bm": "tensormt.ngram.bm:BM",
    "bma": "tensormt.ngram.bm:BMA",
    "nm": "tensormt.ngram.nist:NM",
    "chrf": "tensormt.ngram.chrf:ChrF",
    "ter": "tensormt.edit.ter:TER",
    "wer": "tensormt.edit.wer:WER",
    "cer": "tensormt.edit.wer:CER",
    "per": "tensormt.edit.wer:PER",
    "rouge": "tensormt.rouge.rouge:ROUGE",
    "offtarget": "tensormt.ngram.offtarget:OffTarget",
    "copied": "tensormt.ngram.copied:Copied",
    "bertscore": "tensormt.contextual.bertscore:BERTScore",
    "stm": "tensormt.syntax.stm:STM",
    "tkm": "tensormt.syntax.tkm:TKM",
    "hwcm": "tensormt.syntax.hwcm:HWCM",
    "dstm": "tensormt.syntax.stm:DSTM",
    "dtkm": "tensormt.syntax.tkm:DTKM",
}

# metrics that need an extra of the package, and models of their own
EXTRA = ("bertscore",)

# options of theirs that means with a name of their own take: blend-context:encoder=FOLDER
ENCODER_OPTIONS = ("encoder", "layer", "idf", "trusted", "cache")
_NO_OPTIONS: Mapping[str, Any] = {}

# means with a name of their own
MEANS = {
    # words and their order; chosen by experiments/blend_search.py
    "blend": "bleu:max_order=1,lowercase=yes+rouge:tokenize=13a,stem=yes",
    # words, and words with their heads, matched by contextual vectors; English, by its encoder
    "blend-context": "bertscore:layer=4,units=words,matching=one_to_one,idf=yes"
    "+bertscore:layer=4,units=pairs,matching=one_to_one,idf=yes",
}


# other names of metrics with settings
ALIASES = {"chrf++": "chrf:word_order=2"}

_BUILT_IN = frozenset((*METRICS, *MEANS, *ALIASES, "queen"))

# what commands and `tm.score` compute if no metric is named: none of them rewards missing output
DEFAULT_METRICS = ("bleu", "chrf", "blend")
# a report draws trees, of constituents or dependencies
REPORT_METRICS = (*DEFAULT_METRICS, "hwcm:balance=f1")

# languages whose words are not separated by white space → tokeniser, as `sacrebleu -l` chooses it
TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}


@lru_cache(maxsize=1)
def _installed() -> dict[str, Any]:
    """Entry points of other packages by name; names of this package cannot be replaced."""
    from importlib.metadata import entry_points

    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: point for name, point in found.items() if name not in (*METRICS, *MEANS)}


def metrics() -> Iterator[tuple[str, type[Metric[Any]]]]:
    """Iterate over all single metrics, those of other packages last.

    A metric of another package that cannot be loaded is left out with a warning.
    """
    for name in METRICS:
        yield name, find(name)
    for name in _installed():
        try:
            yield name, find(name)
        except TensorMTError as error:
            warnings.warn(str(error), stacklevel=2)


def find(name: str) -> type[Metric[Any]]:
    """Return the class of a metric.

    Args:
        name: A name of `METRICS`, or an entry point of another package.

    Raises:
        TensorMTError: If there is no metric of that name, or its package cannot be imported.
    """
    found: Any
    if name in METRICS:
        module, _, attribute = METRICS[name].partition(":")
        found = getattr(import_module(module), attribute)
        return found  # type: ignore[no-any-return]
    if name in MEANS:
        raise TensorMTError(f"{name} is a mean of metrics and has no options: {MEANS[name]}")
    if name not in _installed():
        raise TensorMTError(f"no metric named {name!r}: {_suggestion(name)}")
    from tensormt.metric import Metric

    try:
        found = _installed()[name].load()
    except Exception as error:  # whatever another package raises while it is imported
        raise TensorMTError(
            f"metric {name!r} of {_installed()[name].value} cannot be loaded: {error}"
        ) from None
    if not (isinstance(found, type) and issubclass(found, Metric)):
        raise TensorMTError(f"metric {name!r}: {_installed()[name].value} is no Metric class")
    return found


def _suggestion(name: str) -> str:
    """Which metric a misspelt name may mean, or else all names."""
    if rouge := _ROUGE.fullmatch(name.lower()):
        return f"did you mean rouge:variant={rouge[1]}?"
    known = (*METRICS, *MEANS, *ALIASES, *_installed())
    close = difflib.get_close_matches(name.lower(), known, n=1)
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"


def _known(name: str) -> str:
    """The name as it is registered: case is ignored where it is no other metric's."""
    if name in _BUILT_IN or name.lower() not in _BUILT_IN or name in _installed():
        return name
    return name.lower()


def split_specs(text: str) -> list[str]:
    """Split metrics that are separated by commas; a comma within options does not separate.

    >>> split_specs("bleu,stm:max_depth=3,balance=f1,chrf")
    ['bleu', 'stm:max_depth=3,balance=f1', 'chrf']
    """
    found: list[str] = []
    for piece in text.split(","):
        name = _known(piece.strip().partition(":")[0].partition("+")[0])
        if found and name not in (*_BUILT_IN, "learned") and name not in _installed():
            found[-1] += f",{piece}"
        else:
            found.append(piece.strip())
    return found


def _read_options(name: str, text: str) -> dict[str, Any]:
    """The options of a metric as they are typed behind its name, each parsed by its type."""
    known = {option.name: option for option in find(name).options()}
    found: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or key not in known or key in found:
            trouble = "given twice" if key in found else f"no option of {name}"
            example = next(iter(known.values()), None)
            advice = (
                f"write for example {name}:{example.name}={format_value(example.default)} "
                f"(options: {', '.join(known)})"
                if example
                else f"{name} has no options"
            )
            raise TensorMTError(f"metric '{name}:{text}': {item!r} is {trouble}, {advice}")
        try:
            found[key] = known[key].parse(value)
        except TensorMTError as error:
            raise TensorMTError(f"metric '{name}:{text}': {error}") from None
    return found


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Return name and options of a single metric as a user types it.

    >>> parse_spec("stm:max_depth=3,balance=f1,lexical=no")
    ('stm', {'max_depth': 3, 'balance': 'f1', 'lexical': False})
    """
    if not isinstance(spec, str):
        raise TensorMTError(f"a metric is named by a text such as 'bleu', got {describe(spec)}")
    name, _, rest = spec.partition(":")
    name = _known(name.strip())
    return name, _read_options(name, rest)


def make(spec: str, lang: str | None = None, **more: Any) -> Metric[Any]:
    """Make the metric that a specification names.

    Args:
        spec: A name with options. Names joined by + are their mean, `queen:` before them is
            QARLA's QUEEN, `blend` is the recommended mean (`blend-context:encoder=FOLDER` with
            vectors of that encoder), `learned:FILE` has the weights of a file.
        lang: Language of the text: sets the tokeniser of Chinese, Japanese and Korean, unless
            the specification names one.
        more: Further options of a single metric.

    Raises:
        TensorMTError: If the name or an option is unknown, or a value is not valid.

    >>> make("chrf+hwcm:max_length=2,balance=f1").signature.split("|")[1][:24]
    'of:chrF(chars:6,words:0,'
    """
    if isinstance(spec, str):
        name = _known(spec.strip().partition(":")[0])
        if name in MEANS:
            given = _mean_options(name, spec.strip()[len(name) :], more)
            own = MEANS[name].replace(
                "tokenize=13a", f"tokenize={TOKENIZERS.get(lang or '', '13a')}"
            )
            return _combined("Mean", own, lang, given)
        if name == "queen" and ("+" not in spec or more):
            raise TensorMTError(
                f"metric {spec!r}: queen combines metrics, type for example queen:chrf+stm"
            )
        if not more:
            if name == "queen":
                return _combined("Queen", spec.partition(":")[2], lang)
            if "+" in spec.replace("++", ""):
                return _combined("Mean", spec, lang)
            if spec.startswith("learned:"):
                return _learned(spec.removeprefix("learned:"), lang)
        if name in ALIASES:
            rest = spec.partition(":")[2]
            spec = f"{ALIASES[name]},{rest}" if rest else ALIASES[name]
    name, found = parse_spec(spec)
    options = {**found, **more}
    kind = find(name)
    if lang in TOKENIZERS and "tokenize" in {option.name for option in kind.options()}:
        options = {"tokenize": TOKENIZERS[lang], **options}
    try:
        return kind(**options)
    except TypeError as error:
        raise TensorMTError(f"metric {spec!r}: {error}") from None


def is_combined(spec: str) -> bool:
    """Whether a specification is of several metrics: a mean, with a name or without, or QUEEN."""
    name = _known(spec.strip().partition(":")[0])
    return "+" in spec.replace("++", "") or name in (*MEANS, "queen")


def _mean_options(name: str, text: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """The options behind the name of a mean: which encoder its contextual members use."""
    if not text and not more:
        return {}
    members = [part.partition(":")[0] for part in MEANS[name].split("+")]
    contextual = [member for member in members if member in EXTRA]
    if not contextual:
        raise TensorMTError(
            f"metric '{name}{text}': {name} is a mean of metrics with their settings, and takes no "
            f"options: type {name}, or the mean that you want, as {MEANS[name]}"
        )
    found = {**_read_options(contextual[0], text.removeprefix(":")), **more}
    for option in found:
        if option not in ENCODER_OPTIONS:
            raise TensorMTError(
                f"metric '{name}{text}': {option} is no option of {name}, which takes "
                f"{', '.join(ENCODER_OPTIONS)}; other settings are those of {MEANS[name]}"
            )
    if "encoder" in found:
        found.setdefault("layer", None)  # the number of a layer holds for one encoder
    return found


def _combined(
    kind: str, spec: str, lang: str | None, contextual: Mapping[str, Any] = _NO_OPTIONS
) -> Metric[Any]:
    """A metric of the metrics that + joins; those on contextual vectors have further options."""
    members = []
    for part in spec.replace("++", "\0").split("+"):
        own = contextual if part.partition(":")[0] in EXTRA else _NO_OPTIONS
        members.append(make(part.replace("\0", "++"), lang, **own))
    found: Metric[Any] = getattr(import_module("tensormt.combined"), kind)(members)
    return found


def _learned(path: str, lang: str | None) -> Metric[Any]:
    """A metric with the weights of a file that tensormt.train.Learned wrote."""
    from tensormt.syntax.learned_weights import LearnedMetric, load_weights

    spec, theta = load_weights(path)
    return LearnedMetric(make(spec, lang), theta)
