"""Reranking by minimum Bayes risk: of several candidates, the one most like all others.

    ŷ = argmax over candidates h of  Σ over pseudo-references r of  weight(r) · metric(h, r)

(Kumar & Byrne 2004; Eikema & Aziz 2020), argmin for error rates. The pseudo-references are the
candidates themselves or a pool of their own. Numbers of candidates may differ between segments.
Every different text is tokenised, parsed or encoded once for a chunk of segments, and every
different pair is scored once; tensors of equally many samples are decoded by `tensormt.train.mbr`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from tensormt.combined.similarity import PAIRS
from tensormt.data.coercion import as_lines, as_list
from tensormt.errors import SegmentError, TensorMTError, TensorMTWarning
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.segments import Segments
from tensormt.text_warnings import warn_of_texts
from tensormt.train.mbr import nbest
from tensormt.validation import integer

__all__ = ["Reranked", "as_groups", "check_pairwise", "rerank", "single_metric"]


@dataclass(frozen=True)
class Reranked:
    """The candidates of every segment, best first.

    Args:
        texts: The candidates.
        indices: Their places in the list that was given, from 0.
        scores: Their expected scores, on the scale of the metric.
        signature: What reproduces the scores.
    """

    texts: list[list[str]]
    indices: list[list[int]]
    scores: list[list[float]]
    signature: str

    @property
    def best(self) -> list[str]:
        """The best candidate of every segment."""
        return [own[0] for own in self.texts]

    def __len__(self) -> int:
        return len(self.texts)


def rerank(
    candidates: Any,
    metric: str | Metric[Any] = "chrf",
    references: Any = None,
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
    weights: Any = None,
    log_probabilities: Any = None,
    pairs: int = 1 << 18,
    progress: Callable[[int], object] = lambda segments: None,
) -> Reranked:
    """Order the candidates of each segment by their expected score (minimum Bayes risk).

    Args:
        candidates: The candidates of each segment, [B][H]; H may differ.
        metric: The utility: any metric, or its name with options.
        references: Pseudo-references of each segment, [B][R]; None: the candidates. Blank ones are
            left out.
        parser: Parser, or its name, for metrics that read trees.
        device: Device of the computation; None: the CPU.
        lang: Language of the text, such as "de".
        weights: Weight of each pseudo-reference, [B][R]; None: equal.
        log_probabilities: Log-probability of each pseudo-reference [B][R], not necessarily
            normalized, instead of weights.
        pairs: Pairs of texts at a time, which bounds memory.
        progress: Called with numbers of segments that were processed.

    Returns:
        Candidates, places and expected scores, best first; of equal ones the first.

    Raises:
        TensorMTError: If a segment has no candidate, numbers differ, a weight is not valid, a score
            is not a number, or the metric needs all references of a test set.

    >>> found = rerank([["a cat sat", "a dog sat", "a dog ran", "the dog sat"]], "chrf")
    >>> found.best, found.indices
    (['a dog sat'], [[1, 3, 2, 0]])
    """
    named, evaluator = single_metric(metric, parser, device, lang)
    if not named.penalizes_short_output:
        warnings.warn(
            TensorMTWarning(
                f"{named.name} does not fall when parts of an output are left out: short "
                "candidates win; take a metric such as chrF (STM, HWCM and DSTM also have "
                "balance=f1)"
            ),
            stacklevel=2,
        )
    groups = as_groups(candidates, "candidates", 1)
    pools = groups if references is None else as_groups(references, "references", 1)
    if len(pools) != len(groups):
        raise TensorMTError(
            f"{len(groups)} segments of candidates, {len(pools)} of references: they must align "
            "one to one"
        )
    if weights is not None and log_probabilities is not None:
        raise TensorMTError("weights and log_probabilities are both given: pass one of them")
    logs = log_probabilities is not None
    shares = _shares(log_probabilities if logs else weights, pools, logs)
    sign = 1.0 if named.higher_is_better else -1.0
    found = Reranked([], [], [], next(iter(evaluator.signatures(1).values())))
    for part in _parts(groups, pools, integer(1)(pairs, "pairs")):
        tables = _utilities(evaluator, named, groups[part], pools[part])
        rows = zip(groups[part], tables, shares[part], strict=True)
        for number, (own, table, share) in enumerate(rows, part.start + 1):
            if bool(table.isnan().any()):
                raise SegmentError(
                    number, f"has a score of {named.name} that is not a number (NaN): no order"
                )
            order = nbest(sign * table[None], len(own), share[None])
            places = order.indices[0].tolist()
            found.indices.append(places)
            found.texts.append([own[place] for place in places])
            found.scores.append((sign * order.scores[0] + 0.0).tolist())
        progress(part.stop - part.start)
    outputs, others = ([text for own in side for text in own] for side in (groups, pools))
    warn_of_texts(evaluator.metrics, outputs, others)
    return found


def single_metric(
    metric: Any, parser: Any, device: Any, lang: str | None
) -> tuple[Metric[Any], Evaluator]:
    """Return a metric with its evaluator, if it compares any two texts.

    Raises:
        TensorMTError: If the metric is unknown or needs all references of a test set.
    """
    evaluator = Evaluator([metric], parser, device, lang)
    (named,) = evaluator.metrics.values()
    check_pairwise(named)
    return named, evaluator


def check_pairwise(metric: Metric[Any]) -> None:
    """Raise unless a metric compares any two texts without anything else."""
    if metric.needs_fit or metric.reads.uses_sources:
        needed = "the source" if metric.reads.uses_sources else "all references of a test set"
        raise TensorMTError(
            f"{metric.name} needs {needed}, which several outputs of an input do not have: use "
            "another metric"
        )


def as_groups(values: Any, what: str, least: int) -> list[list[str]]:
    """Return the texts of each segment, at least some number of them; None is an empty text.

    Raises:
        TensorMTError: If a segment is no list, has too few texts, or a value is not text.
    """
    groups = []
    for number, row in enumerate(as_list(values, what), 1):
        if isinstance(row, str | bytes) or not hasattr(row, "__iter__"):
            raise TensorMTError(f"{what} are lists of texts, one for each segment: [B][K]")
        own = [text or "" for text in as_lines(row, f"{what} of segment {number}")]
        if len(own) < least:
            raise SegmentError(number, f"has {len(own)} {what}: expected at least {least}")
        groups.append(own)
    return groups


def _shares(values: Any, pools: Sequence[Sequence[str]], logs: bool) -> list[Tensor]:
    """The weights of each segment's references, float64 [R], which sum to 1; 0 for blank ones."""
    what = "log_probabilities" if logs else "weights"
    rows = [None] * len(pools) if values is None else as_list(values, what)
    if len(rows) != len(pools):
        raise TensorMTError(f"{what} of {len(rows)} segments for {len(pools)}: pass one list each")
    found = []
    for number, (row, pool) in enumerate(zip(rows, pools, strict=True), 1):
        try:
            own = torch.tensor([1.0] * len(pool) if row is None else row, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError):
            raise SegmentError(number, f"has {what} that are not numbers") from None
        if own.shape != (len(pool),):
            raise SegmentError(number, f"has {own.numel()} {what} for {len(pool)} texts")
        bad = own.isnan() | (own == torch.inf) if logs else ~own.isfinite() | (own < 0)
        if bool(bad.any()):
            wrong = own[bad][0].item()
            allowed = "log-probabilities" if logs else "numbers from 0 on"
            raise SegmentError(number, f"has {wrong:g} among its {what}: expected {allowed}")
        real = torch.tensor([bool(text.strip()) for text in pool])
        if logs:
            own = (own - own.max()).exp() if bool((own > -torch.inf).any()) else own.exp()
        own = torch.where(real, own, 0.0)
        if not bool(own.sum() > 0):
            if row is not None and bool(real.any()):
                raise SegmentError(number, f"has {what} that are all zero: one must be larger")
            own = torch.ones_like(own)
        found.append(own)
    return found


def _parts(
    groups: Sequence[Sequence[str]], pools: Sequence[Sequence[str]], most: int
) -> Iterator[slice]:
    """Consecutive segments that together have a bounded number of pairs."""
    low = total = 0
    for high, (own, pool) in enumerate(zip(groups, pools, strict=True)):
        size = len(own) * len(pool)
        if high > low and total + size > most:
            yield slice(low, high)
            low, total = high, 0
        total += size
    if low < len(groups):
        yield slice(low, len(groups))


def _utilities(
    evaluator: Evaluator,
    metric: Metric[Any],
    groups: Sequence[Sequence[str]],
    pools: Sequence[Sequence[str]],
) -> list[Tensor]:
    """The scores of every candidate with every reference, float64 [H,R] for each segment."""
    flat: list[str | None] = [text for own in (*groups, *pools) for text in own]
    texts = evaluator.prepare(Segments({}, [flat]))
    numbers = _split(texts.index[0].clamp(min=0), [len(own) for own in (*groups, *pools)])
    own, others = numbers[: len(groups)], numbers[len(groups) :]
    batch = metric.reads.unique(texts)
    width = len(batch)
    cells = torch.cat(
        [(h[:, None] * width + r).reshape(-1) for h, r in zip(own, others, strict=True)]
    )
    different, place = torch.unique(cells, return_inverse=True)
    scores = torch.zeros(len(different), dtype=torch.float64)
    real = (different % width > 0).nonzero()[:, 0]  # not with a blank reference
    for start in range(0, len(real), PAIRS):
        some = real[start : start + PAIRS]
        pair = different[some]
        hyp, ref = ((side).to(evaluator.device) for side in (pair // width, pair % width))
        scores[some] = metric(batch[hyp], [batch[ref]]).cpu()
    sizes = [len(h) * len(r) for h, r in zip(own, others, strict=True)]
    tables = _split(scores[place], sizes)
    return [table.view(len(h), -1) for table, h in zip(tables, own, strict=True)]


def _split(values: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    """Consecutive parts of the given sizes."""
    ends = [0, *accumulate(sizes)]
    return [values[low:high] for low, high in pairwise(ends)]
