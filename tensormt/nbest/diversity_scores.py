"""Diversity of several outputs for one input.

    self-metric   the mean score of an output with all others of the same input as its references
                  (self-BLEU, Zhu et al. 2018); lower is more diverse, higher for error rates
    distinct-n    different n-grams of all outputs of an input / their n-grams (Li et al. 2016)
    unique        different outputs / outputs

All are computed for every input; the mean over inputs is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tensormt.data.tables import format_table
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.nbest.reranking import as_groups, check_pairwise
from tensormt.ngram.keys import occurrences
from tensormt.registry import TOKENIZERS
from tensormt.result import format_score, lower_is_better
from tensormt.segments import Segments
from tensormt.text.tokens import TokenBatch
from tensormt.text_warnings import warn_of_texts
from tensormt.validation import integer

__all__ = ["Diversity", "diversity"]


@dataclass(frozen=True)
class Diversity:
    """Diversity by measure: self-metrics, distinct n-grams, unique outputs.

    Args:
        segments: Values of every input, float64 [B]; NaN: an input without text.
        metrics: The metrics of the self-scores.
        signatures: What reproduces the self-scores.
    """

    segments: dict[str, Tensor]
    metrics: dict[str, Metric[Any]]
    signatures: dict[str, str]

    @property
    def means(self) -> dict[str, float]:
        """The mean over all inputs that have a value; NaN: none has."""
        return {name: float(values.nanmean()) for name, values in self.segments.items()}

    def rows(self) -> list[list[str]]:
        """Return the means as rows of a table, the head first."""
        digits = {f"self-{name}": metric.digits for name, metric in self.metrics.items()}
        cells = [format_score(value, digits.get(name, 4)) for name, value in self.means.items()]
        return [list(self.segments), cells]

    def __str__(self) -> str:
        return "\n".join([format_table(self.rows(), "text", left=0), *self.notes])

    @property
    def higher_is_more_diverse(self) -> list[str]:
        """The self-scores by error rates, of which higher ones are more diverse."""
        return [f"self-{name}" for name in lower_is_better(self.metrics)]

    @property
    def notes(self) -> list[str]:
        """A line that names these, if there are any."""
        higher = self.higher_is_more_diverse
        return [f"higher is more diverse: {', '.join(higher)}"] if higher else []


def diversity(
    outputs: Any,
    metrics: Iterable[str | Metric[Any]] = ("bleu", "stm"),
    max_order: int = 2,
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
    tokenize: str | None = None,
    pairs: int = 1 << 16,
    progress: Callable[[int], object] = lambda segments: None,
) -> Diversity:
    """Measure how much several outputs for one input differ.

    Args:
        outputs: The outputs for each input, [B][K], at least two; K may differ.
        metrics: Metrics of the self-scores.
        max_order: Largest n of distinct-n.
        parser: Parser, or its name, for metrics that read trees.
        device: Device of the computation; None: the CPU.
        lang: Language of the text, such as "de".
        tokenize: Tokeniser of distinct-n; None: that of the language, 13a for most.
        pairs: Pairs of outputs at a time, which bounds memory.
        progress: Called with numbers of inputs that were processed.

    Returns:
        Values of every input, and their means.

    Raises:
        TensorMTError: If an input has fewer than two outputs, or a metric cannot be used.

    >>> print(diversity([["a dog ran", "a dog sat"], ["a cat", "a cat"]], ["chrf"]))
    self-chrf  distinct-1  distinct-2  unique
        65.54      0.5833      0.6250  0.7500
    """
    orders = integer(1, 9)(max_order, "max_order")
    pairs = integer(1)(pairs, "pairs")
    groups = as_groups(outputs, "outputs", 2)
    evaluator = Evaluator(metrics, parser, device, lang)
    chosen = dict(evaluator.metrics)
    for metric in chosen.values():
        check_pairwise(metric)
    if tokenize is None:
        tokenize = TOKENIZERS.get(lang or "", "13a")
    parts: list[dict[str, Tensor]] = []
    low = 0
    while low < len(groups):
        high, total = low + 1, len(groups[low]) ** 2
        while high < len(groups) and total + len(groups[high]) ** 2 <= pairs:
            total += len(groups[high]) ** 2
            high += 1
        some = groups[low:high]
        found = _self_scores(evaluator, some)
        parts.append({**found, **_distinct(some, orders, tokenize), "unique": _unique(some)})
        progress(high - low)
        low = high
    texts = [text for own in groups for text in own]
    warn_of_texts(chosen, texts, texts)
    measures = [f"self-{name}" for name in chosen]
    measures += [*(f"distinct-{n}" for n in range(1, orders + 1)), "unique"]
    empty = torch.zeros(0, dtype=torch.float64)
    joined = {name: torch.cat([empty, *(part[name] for part in parts)]) for name in measures}
    most = max(map(len, groups), default=2)
    return Diversity(joined, chosen, evaluator.signatures(most - 1))


def _self_scores(evaluator: Evaluator, groups: list[list[str]]) -> dict[str, Tensor]:
    """The mean score of the outputs of each input with the others as references, float64 [B]."""
    texts, others, owner = [], [], []
    for number, own in enumerate(groups):
        for place, text in enumerate(own):
            rest = [*own[:place], *own[place + 1 :]]
            if any(other.strip() for other in rest):
                texts.append(text)
                others.append(rest)
                owner.append(number)
    index = torch.tensor(owner, dtype=torch.int64)
    count = torch.zeros(len(groups), dtype=torch.float64)
    count.index_add_(0, index, torch.ones(len(owner), dtype=torch.float64))
    if not texts:
        return {f"self-{name}": count / count for name in evaluator.metrics}
    scores = evaluator.segment_scores(Segments.from_rows({"": texts}, others))
    return {
        f"self-{name}": torch.zeros_like(count).index_add_(0, index, table[0].cpu()) / count
        for name, table in scores.items()
    }


def _distinct(groups: list[list[str]], max_order: int, tokenize: str) -> dict[str, Tensor]:
    """The share of different n-grams among those of each input, float64 [B] by order."""
    batch = TokenBatch.from_text([text for own in groups for text in own], tokenize)
    owner = torch.repeat_interleave(torch.tensor([len(own) for own in groups]))
    found = occurrences(batch, max_order)
    shares = {}
    for order in range(1, max_order + 1):
        here = found.order == order
        group, key = owner[found.segment[here]], found.key[here]
        number = torch.bincount(group, minlength=len(groups)).double()
        rows = torch.unique(torch.stack([group, key], 1), dim=0)
        different = torch.bincount(rows[:, 0], minlength=len(groups)).double()
        shares[f"distinct-{order}"] = different / number
    return shares


def _unique(groups: list[list[str]]) -> Tensor:
    """The share of different outputs of each input, float64 [B]."""
    return torch.tensor([len(set(own)) / len(own) for own in groups], dtype=torch.float64)
