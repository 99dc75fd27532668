"""Rewards of sampled text, by any of the ten metrics: a parser in the loop where they read trees.

    reward = TextReward(tm.STM(balance="f1"), parser="default", device="cuda")
    reward(texts, refs)                          # texts [n], refs [n][R]       → float64 [n]
    reward.samples(texts, refs)                  # texts [B][K], refs [B][R]    → float64 [B,K]
    reward.ids(samples, refs, tokenizer.batch_decode)       # ids [B,K,T]       → float64 [B,K]
    GRPOTrainer(reward_funcs=[reward.grpo("references")], …)

The parser works in batches on its device; trees are kept by sentence (tensormt.cache.Forester), so
references and repeated samples are parsed once in a run. Text is what is compared, so samples of
any tokenizer can be rewarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.ngram.base import NgramMetric, TestSetMetric
from tensormt.parser import Parser
from tensormt.scoring import Forest
from tensormt.text.tokens import TokenBatch

__all__ = ["TextReward", "batches", "forest_of", "needs_counts"]

Source = Forest | Parser | str | PathLike[str] | None


def forest_of(parser: Source, device: str | torch.device | None = None) -> Forest | None:
    """What makes trees of text: a callable as it is, a parser (or its name) with a memory."""
    from tensormt.parser.cache import Forester

    if parser is None or callable(parser):
        return parser
    return Forester(parser if isinstance(parser, Parser) else Parser.load(parser, device=device))


def needs_counts(metric: Metric[Any]) -> bool:
    """Whether the metric has yet to be given n-gram counts of the whole test set."""
    return isinstance(metric, TestSetMetric) and metric.needs_table and metric.counts is None


def batches(
    metric: Metric[Any],
    forest: Forest | None,
    texts: Sequence[str | None],
    refs: Sequence[Sequence[str | None]],
    device: str | torch.device | None = None,
) -> list[Any]:
    """Texts [n] and their references [n][R] as the metric reads them: hypothesis, R streams."""
    if isinstance(texts, str) or any(isinstance(row, str) for row in refs):
        raise TensorMTError("texts is a list of strings, refs a list of lists: got one string")
    if len(texts) != len(refs):
        raise TensorMTError(
            f"{len(texts)} texts but references for {len(refs)}: give one list of references a text"
        )
    number = max((len(row) for row in refs), default=1)
    streams = [[row[k] if k < len(row) else None for row in refs] for k in range(max(number, 1))]
    where = torch.device("cpu" if device is None else device)
    if isinstance(metric, NgramMetric):
        made = TokenBatch.from_texts([texts, *streams], metric.tokenize)
        return [batch.to(where) for batch in made]
    if forest is None:
        raise TensorMTError(f"{metric.name} compares trees: name a parser, for example 'default'")
    trees = forest([line for stream in (texts, *streams) for line in stream]).to(where)
    size = len(texts)
    return [trees[k * size : (k + 1) * size] for k in range(1 + len(streams))]


class TextReward:
    """A metric as a reward for text; `parser` is a Parser, its name or path, or a Forester."""

    def __init__(
        self,
        metric: Metric[Any],
        parser: Source = None,
        device: str | torch.device | None = None,
    ) -> None:
        if needs_counts(metric):
            raise TensorMTError(
                f"{metric.name} needs n-gram counts that do not change from batch to batch: "
                "call metric.fit with all references first"
            )
        self.metric, self.device = metric, device
        self.forest = None if isinstance(metric, NgramMetric) else forest_of(parser, device)

    def __call__(self, texts: Sequence[str], refs: Sequence[Sequence[str | None]]) -> Tensor:
        """Segment scores, float64 [n], of texts [n] with references [n][R]."""
        if not texts:
            return torch.zeros(0, dtype=torch.float64, device=self.device)
        hyp, *streams = batches(self.metric, self.forest, texts, refs, self.device)
        return self.metric(hyp, streams)

    def samples(
        self, texts: Sequence[Sequence[str]], refs: Sequence[Sequence[str | None]]
    ) -> Tensor:
        """Float64 [B,K] of texts [B][K] with references [B][R]."""
        number = {len(row) for row in texts}
        if len(number) != 1 or len(texts) != len(refs):
            raise TensorMTError(
                f"{len(texts)} segments with {sorted(number)} samples, references for {len(refs)}: "
                "expected texts [B][K] with one K, and refs [B][R]"
            )
        flat = [text for row in texts for text in row]
        every = [row for row, own in zip(refs, texts, strict=True) for _ in own]
        return self(flat, every).view(len(texts), -1)

    def ids(
        self,
        samples: Tensor,
        refs: Sequence[Sequence[str | None]],
        decode: Callable[[list[list[int]]], Sequence[str]],
    ) -> Tensor:
        """Float64 [B,K] of token ids [B,K,T], made text by a tokenizer's `batch_decode`."""
        size, number = samples.shape[:2]
        flat = list(decode(samples.flatten(0, 1).tolist()))
        return self.samples([flat[b * number : (b + 1) * number] for b in range(size)], refs)

    def utility(self, texts: Sequence[Sequence[str]]) -> Tensor:
        """Every sample [B][K] with every other as its reference, float64 [B,K,K]: see `mbr`.

        [b,i,j] has i as the hypothesis and j as the reference; an empty sample scores 0.
        """
        pairs = [[(i, j) for i in row for j in row] for row in texts]
        flat = [pair for row in pairs for pair in row]
        real = torch.tensor([bool(j.strip()) for _, j in flat], device=self.device)
        found = torch.zeros(len(flat), dtype=torch.float64, device=self.device)
        there = [pair for pair in flat if pair[1].strip()]
        found[real] = self([i for i, _ in there], [[j] for _, j in there])
        return found.view(len(texts), -1, len(texts[0]) if texts else 0)

    def grpo(self, column: str = "references") -> Callable[..., list[float]]:
        """A reward function as TRL's GRPOTrainer calls it.

        `column` of the data set holds each prompt's reference, or a list of them. Completions are
        strings or, in chat format, lists of messages, of which the last is scored.
        """

        def reward(
            prompts: Sequence[Any] = (), completions: Sequence[Any] = (), **columns: Any
        ) -> list[float]:
            if column not in columns:
                raise TensorMTError(
                    f"the data set has no column {column!r} with references, it has "
                    f"{', '.join(columns) or 'none'}: name the right one in grpo(column)"
                )
            refs = [[row] if isinstance(row, str) else list(row) for row in columns[column]]
            scores: list[float] = self([_text(each) for each in completions], refs).tolist()
            return scores

        # the trainer logs rewards by the function's name
        reward.__name__ = f"{self.metric.name.lower()}_reward"
        return reward

    def __repr__(self) -> str:
        return f"TextReward({self.metric!r})"


def _text(completion: Any) -> str:
    """The text of a completion: a string, or the content of the last message of a chat."""
    if isinstance(completion, str):
        return completion
    return str(completion[-1]["content"]) if completion else ""
