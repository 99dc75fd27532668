"""The metrics of the package as torchmetrics metrics, for distributed training and Lightning.

    bleu = TorchScore("bleu")                      # any name or metric of the package
    bleu.update(texts, refs); bleu.compute()       # texts [n], refs `[n][R]`
    collection(parser="default")                   # a MetricCollection of all metrics

States are integers, so results do not depend on how segments are distributed over processes and
batches. Counts are summed as they are; statistics that are not integers (BM's weights, kernels) are
split into words of fixed-point numbers, which are summed (tensormt.kernels.fixed_point).

Scores have the scales of the package: BLEU and chrF range from 0 to 100, those of torchmetrics from
0 to 1; `TorchScore.scale` is the largest score.

NIST, NM and Zipf weights need n-gram counts of all references. If the metric has none, the state
contains the tokens (as 64-bit hashes), and `compute` counts and scores all of them.

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
from tensormt.registry import EXTRA, METRICS, make
from tensormt.text.tokens import TokenBatch
from tensormt.train.naming import metric_label
from tensormt.train.text_reward import TreeSourceLike, fitted_evaluator, text_segments
from tensormt.trees.batch import TreeBatch

__all__ = ["TorchScore", "collection"]

# states of metrics without n-gram counts: tokens of hypotheses and of references by segment
_PARTS = ("tokens", "lengths", "ref_tokens", "ref_lengths", "ref_numbers")


class TorchScore(Base):
    """A metric of the package as a torchmetrics metric, whose value is the corpus score.

    Args:
        metric: Metric or its name.
        parser: Source of trees for metrics on trees, as for `TextReward`.
        fit_on: References that are counted once for metrics that need it, as for `TextReward`.
        kwargs: Arguments of `torchmetrics.Metric`.

    Raises:
        TensorMTError: If there is no such metric, or it needs trees without a parser.

    >>> bleu = TorchScore("bleu")
    >>> bleu.update(["the cat sat down"], [["the cat sat down"]])
    >>> bleu.compute().round(decimals=6)
    tensor(100., dtype=torch.float64)
    """

    full_state_update = False
    is_differentiable = False
    plot_lower_bound: float = 0.0

    def __init__(
        self,
        metric: Metric[Any] | str,
        parser: TreeSourceLike = None,
        fit_on: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        own = make(metric) if isinstance(metric, str) else metric
        self.evaluator = fitted_evaluator(own, parser, None, fit_on)
        self.metric = self.evaluator.metrics[own.name]
        self.scale = self.metric.scale
        # collections merge the states of metrics with equal states: unique names prevent this
        self._name = re.sub(r"\W+", "_", self.metric.signature.rpartition("|")[0])
        self._keeps = bool(self.metric.unfitted()) and not self.metric.reads.uses_encoder
        if self.metric.needs_fit and not self._keeps:
            raise TensorMTError(
                f"{self.metric.name} weights units by all references, which come batch by batch "
                "here: pass all references as fit_on, or set idf=no"
            )
        if self._keeps:
            for part in _PARTS:
                self.add_state(f"{self._name}_{part}", [], dist_reduce_fx="cat")
        else:
            self.add_state(self._name, self._zeros(), dist_reduce_fx="sum")

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchScore:
        """Return a copy that shares the source of trees, since a parser and its cache are large."""
        memo[id(self.evaluator.trees)] = self.evaluator.trees
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new.__setstate__(deepcopy(self.__getstate__(), memo))
        return new

    def _zeros(self) -> Tensor:
        """The state before the first update: words of all statistics."""
        none = self.metric.reads.empty()
        words: Tensor = to_words(self.metric.statistics(none, [none]))
        return words.sum(0)

    def update(
        self,
        preds: str | Sequence[str] | TokenBatch | TreeBatch,
        target: str | Sequence[str | Sequence[str]] | Sequence[TokenBatch] | Sequence[TreeBatch],
        sources: str | Sequence[str] | None = None,
    ) -> None:
        """Add segments.

        Args:
            preds: n texts, one text, or a batch of tokens or trees.
            target: References `[n][R]` or [n]; for one text, its reference or a list of them; for a
                batch, R batches.
            sources: The source of each text, for metrics that read it (`copied`).

        Raises:
            TensorMTError: If texts and references do not align.
        """
        others: Any = target
        if isinstance(preds, str):
            preds, others = [preds], [others]
            sources = [sources] if isinstance(sources, str) else sources
        if not len(preds):
            return
        if isinstance(preds, TokenBatch | TreeBatch):
            hyp, refs = preds, list(others)
        elif isinstance(others, str):
            raise TensorMTError(f"{len(preds)} texts but one reference: pass one for each text")
        else:
            rows = [[row] if isinstance(row, str) else row for row in others]
            segments = text_segments(preds, rows, sources=sources)
            texts = self.evaluator.prepare(segments, self.device)
            (hyp,), refs = texts.sides(self.metric.reads)
        if self._keeps:
            self._keep(hyp, refs)
            return
        words = to_words(self.metric.statistics(hyp, refs))
        state = getattr(self, self._name)
        setattr(self, self._name, state + words.sum(0).to(state.device))

    def _keep(self, hyp: Any, refs: Sequence[Any]) -> None:
        """Add the hashes of tokens to the state, references ordered by segment."""
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
        """Return the corpus score, float64 []; 0 before the first segment."""
        total = from_words(self._kept() if self._keeps else getattr(self, self._name))
        return torch.where(total[0] > 0, self.metric.score(total, segment=False), 0.0)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot the score, or a list of scores over time (needs matplotlib)."""
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
        """The summed words of all segments in the state, as one test set."""
        tokens, lengths, ref_tokens, ref_lengths, numbers = (self._joined(part) for part in _PARTS)
        if not lengths.shape[0]:
            return self._zeros().to(lengths.device)
        hyp = TokenBatch(tokens, lengths, None, "ids")
        # an empty segment at the end represents missing references
        flat = TokenBatch(
            ref_tokens, torch.cat([ref_lengths, ref_lengths.new_zeros(1)]), None, "ids"
        )
        first = numbers.cumsum(0) - numbers
        streams = [
            flat[torch.where(k < numbers, first + k, ref_lengths.shape[0])]
            for k in range(int(numbers.max()))
        ]
        words: Tensor = to_words(self.metric.statistics(hyp, streams))
        return words.sum(0)

    def _joined(self, part: str) -> Tensor:
        """A list state, which synchronization may have concatenated, as one tensor."""
        state = getattr(self, f"{self._name}_{part}")
        none = torch.zeros(0, dtype=torch.int64, device=self.device)
        return state if isinstance(state, Tensor) else torch.cat([none, *state])

    def _sync_dist(self, *args: Any, **kwargs: Any) -> None:
        """Synchronize; the state of a process without segments are empty int64 tensors."""
        for part in _PARTS if self._keeps else ():
            setattr(self, f"{self._name}_{part}", [self._joined(part)])
        super()._sync_dist(*args, **kwargs)


def _hashed(batch: TokenBatch) -> TokenBatch:
    """The batch with hashes of its tokens as ids."""
    tokens = batch.tokens.to(torch.int64) if batch.dictionary is None else batch.hashes
    return TokenBatch(tokens, batch.lengths, None, "ids")


_DEFAULT = tuple(name for name in METRICS if name not in (*EXTRA, "copied"))


def collection(
    metrics: Sequence[Metric[Any] | str] = _DEFAULT,
    parser: TreeSourceLike = "default",
    **kwargs: Any,
) -> MetricCollection:
    """Return a MetricCollection of metrics that share one parser and its cache.

    Metrics have the names that were passed, or their name and options. Dots, which torch does not
    allow in names, become underscores: `tkm:decay=0.4` has the key `tkm:decay=0_4`.

    Args:
        metrics: Metrics or their names; default: all metrics but those that need an extra or
            the source.
        parser: Source of trees for metrics on trees, as for `TextReward`.
        kwargs: Arguments of `TorchScore` (`fit_on`) and of `torchmetrics.Metric`.

    Raises:
        TensorMTError: If a metric is given twice.

    >>> sorted(collection(["bleu", "chrf"]).keys())
    ['bleu', 'chrf']
    """
    made = [make(metric) if isinstance(metric, str) else metric for metric in metrics]
    names = [m if isinstance(m, str) else metric_label(m) for m in metrics]
    trees = Evaluator(dict(zip(names, made, strict=True)), parser).trees
    scores: dict[str, Any] = {}
    for name, metric in zip(names, made, strict=True):
        key = name.replace(".", "_")
        if key in scores:
            raise TensorMTError(f"metric {name!r} is given twice: pass distinct metrics")
        scores[key] = TorchScore(metric, trees, **kwargs)
    return MetricCollection(scores, compute_groups=False)
