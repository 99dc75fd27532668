"""The metrics as torchmetrics: update, compute, synchronised over processes, usable in Lightning.

    bleu = TorchScore("bleu")                      # any specification or metric of the package
    bleu.update(texts, refs); bleu.compute()       # texts [n], refs [n][R]
    collection(parser="default")                   # a MetricCollection of all ten

States are integers, so that the result does not depend on how segments were spread over processes
and batches. Counts are summed as they are. Statistics that are not whole (BM's weights, kernels)
are cut into words of a fixed-point number and each word is summed (tensormt.kernels.fixed_point).

Scores are on the scales of the package: BLEU and chrF count to 100, where torchmetrics' own count
to 1; `TorchScore.scale` is the largest score.

NIST, NM and Zipf's weights need the counts of all references before the first score. Where the
metric was not given them, the state keeps the tokens (as 64-bit content hashes) and `compute`
counts and scores all of them at once.

This is the only module that imports torchmetrics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric as Base
from torchmetrics import MetricCollection

from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.kernels.fixed_point import from_words, to_words
from tensormt.metric import Metric
from tensormt.registry import METRICS, make
from tensormt.text.tokens import TokenBatch
from tensormt.train.naming import label
from tensormt.train.text_reward import Source, text_segments
from tensormt.trees.batch import TreeBatch

__all__ = ["TorchScore", "collection"]

# what is kept where all tokens are needed: of hypotheses, and of references segment by segment
_PARTS = ("tokens", "lengths", "ref_tokens", "ref_lengths", "ref_numbers")


class TorchScore(Base):
    """A metric of the package as a torchmetrics metric; the corpus score is its value."""

    full_state_update = False
    is_differentiable = False
    plot_lower_bound: float = 0.0

    def __init__(self, metric: Metric[Any] | str, parser: Source = None, **kwargs: Any) -> None:
        """`parser` as for TextReward; kwargs are those of every torchmetrics metric."""
        super().__init__(**kwargs)
        self.metric = make(metric) if isinstance(metric, str) else metric
        self.evaluator = Evaluator({self.metric.name: self.metric}, parser)
        self.scale = self.metric.scale
        # collections share the states of metrics that look alike: names keep ours apart
        self._name = re.sub(r"\W+", "_", self.metric.signature.rpartition("|")[0])
        self._keeps = self.metric.needs_fit
        if self._keeps:
            for part in _PARTS:
                self.add_state(f"{self._name}_{part}", [], dist_reduce_fx="cat")
        else:
            self.add_state(self._name, self._zeros(), dist_reduce_fx="sum")

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchScore:
        """A copy that shares what makes trees: a parser and its memory are large."""
        memo[id(self.evaluator.trees)] = self.evaluator.trees
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new.__setstate__(deepcopy(self.__getstate__(), memo))
        return new

    def _zeros(self) -> Tensor:
        """The state before the first update: words of as many statistics as the metric has."""
        none = self.metric.reads.empty()
        return to_words(self.metric.statistics(none, [none])).sum(0)

    def update(
        self,
        preds: str | Sequence[str] | TokenBatch | TreeBatch,
        target: str | Sequence[str | Sequence[str]] | Sequence[TokenBatch] | Sequence[TreeBatch],
    ) -> None:
        """Add n texts with their references [n][R] or [n]; or a batch with its R streams.

        One text may come as it is, with its reference or the list of them.
        """
        others: Any = target
        if isinstance(preds, str):
            preds, others = [preds], [others]
        if not len(preds):
            return
        if isinstance(preds, TokenBatch | TreeBatch):
            hyp, refs = preds, list(others)
        elif isinstance(others, str):
            raise TensorMTError(f"{len(preds)} texts but one reference: give one for each text")
        else:
            rows = [[row] if isinstance(row, str) else row for row in others]
            texts = self.evaluator.prepare(text_segments(preds, rows), self.device)
            (hyp,), refs = texts.sides(self.metric.reads)
        if self._keeps:
            self._keep(hyp, refs)
            return
        words = to_words(self.metric.statistics(hyp, refs))
        state = getattr(self, self._name)
        setattr(self, self._name, state + words.sum(0).to(state.device))

    def _keep(self, hyp: Any, refs: Sequence[Any]) -> None:
        """Keep the hashes of the tokens: of a segment's references one after the other."""
        metric: Any = self.metric
        if metric.lowercase:
            hyp, refs = hyp.lowered, [ref.lowered for ref in refs]
        number = len(refs) * torch.ones_like(hyp.lengths)
        index = torch.arange(len(hyp) * len(refs), device=hyp.device)
        rows = index.view(len(refs), len(hyp)).t().reshape(-1)
        flat = TokenBatch.concat([_hashed(ref) for ref in refs])[rows]
        hyp = _hashed(hyp)
        kept = (hyp.tokens, hyp.lengths, flat.tokens, flat.lengths, number)
        for part, value in zip(_PARTS, kept, strict=True):
            getattr(self, f"{self._name}_{part}").append(value.to(self.device))

    def compute(self) -> Tensor:
        """The corpus score, float64 []; 0 before the first segment."""
        total = from_words(self._kept() if self._keeps else getattr(self, self._name))
        return torch.where(total[0] > 0, self.metric.score(total, segment=False), 0.0)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """The score, or a list of scores over time, drawn by torchmetrics (needs matplotlib)."""
        return self._plot(val, ax)

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override,unused-ignore]
        """Whether a higher score is better."""
        return self.metric.higher_is_better

    @property
    def plot_upper_bound(self) -> float | None:  # type: ignore[override,unused-ignore]
        """The largest score."""
        return self.metric.scale

    def _kept(self) -> Tensor:
        """The summed words of all segments kept, scored as one test set."""
        tokens, lengths, ref_tokens, ref_lengths, numbers = (self._joined(part) for part in _PARTS)
        if not lengths.shape[0]:
            return self._zeros().to(lengths.device)
        hyp = TokenBatch(tokens, lengths, None, "ids")
        # one empty segment at the end stands for references that a segment lacks
        flat = TokenBatch(
            ref_tokens, torch.cat([ref_lengths, ref_lengths.new_zeros(1)]), None, "ids"
        )
        first = numbers.cumsum(0) - numbers
        streams = [
            flat[torch.where(k < numbers, first + k, ref_lengths.shape[0])]
            for k in range(int(numbers.max()))
        ]
        return to_words(self.metric.statistics(hyp, streams)).sum(0)

    def _joined(self, part: str) -> Tensor:
        """A list state, or the tensor that synchronising made of it, as one tensor."""
        state = getattr(self, f"{self._name}_{part}")
        none = torch.zeros(0, dtype=torch.int64, device=self.device)
        return state if isinstance(state, Tensor) else torch.cat([none, *state])

    def _sync_dist(self, *args: Any, **kwargs: Any) -> None:
        """Synchronise; a process that saw no segment takes part with empty tensors of our type."""
        for part in _PARTS if self._keeps else ():
            setattr(self, f"{self._name}_{part}", [self._joined(part)])
        super()._sync_dist(*args, **kwargs)


def _hashed(batch: TokenBatch) -> TokenBatch:
    """The batch with the content hashes of its tokens as their ids."""
    tokens = batch.tokens.to(torch.int64) if batch.dictionary is None else batch.hashes
    return TokenBatch(tokens, batch.lengths, None, "ids")


def collection(
    metrics: Sequence[Metric[Any] | str] = tuple(METRICS), parser: Source = "default", **kwargs: Any
) -> MetricCollection:
    """A MetricCollection of metrics (default: all), which share one memory of parses.

    Metrics go by what they were typed as, or by their name and options. Dots, which torch does not
    take in names, become underscores: `tkm:decay=0.4` is found under `tkm:decay=0_4`.
    """
    made = [make(metric) if isinstance(metric, str) else metric for metric in metrics]
    names = [m if isinstance(m, str) else label(m) for m in metrics]
    trees = Evaluator(dict(zip(names, made, strict=True)), parser).trees
    scores: dict[str, Any] = {}
    for name, metric in zip(names, made, strict=True):
        key = name.replace(".", "_")
        if key in scores:
            raise TensorMTError(f"metric {name!r} is given twice: give metrics that differ")
        scores[key] = TorchScore(metric, trees, **kwargs)
    return MetricCollection(scores, compute_groups=False)
