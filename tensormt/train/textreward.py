"""Rewards of sampled text, by any of the ten metrics: a parser in the loop where they read trees.

    reward = TextReward(tm.STM(balance="f1"), parser="default", device="cuda")
    reward(texts, refs)                          # texts [n], refs [n][R]       → float64 [n]
    reward.samples(texts, refs)                  # texts [B][K], refs [B][R]    → float64 [B,K]
    reward.ids(samples, refs, tokenizer.batch_decode)       # ids [B,K,T]       → float64 [B,K]
    GRPOTrainer(reward_funcs=[reward.grpo("references")], …)

The parser works in batches on its device; trees are kept by text (parser/cache.py), so
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
from tensormt.parser import Parser
from tensormt.parser.cache import tree_source
from tensormt.texts import Texts
from tensormt.trees.sources import TreeSource

__all__ = ["Source", "TextReward", "batches", "source_for"]

Source = TreeSource | Parser | str | PathLike[str] | None


def source_for(metric: Metric[Any], parser: Source, device: Any = None) -> TreeSource | None:
    """What makes the trees that a metric reads; None where it reads tokens."""
    return tree_source(parser, device) if metric.reads_trees else None


def batches(
    metric: Metric[Any],
    trees: TreeSource | None,
    texts: Sequence[str | None],
    refs: Sequence[Sequence[str | None]],
    device: str | torch.device | None = None,
) -> tuple[Any, Any]:
    """Texts [n] and their references [n][R] as the metric reads them: hypothesis, R streams."""
    if isinstance(texts, str) or any(isinstance(row, str) for row in refs):
        raise TensorMTError("texts is a list of strings, refs a list of lists: got one string")
    if len(texts) != len(refs):
        raise TensorMTError(
            f"{len(texts)} texts but references for {len(refs)}: give one list of references a text"
        )
    number = max((len(row) for row in refs), default=1)
    streams = [[row[k] if k < len(row) else None for row in refs] for k in range(max(number, 1))]
    if trees is None and metric.reads_trees:
        raise TensorMTError(f"{metric.name} compares trees: name a parser, for example 'default'")
    (hyp,), others = Texts([texts, *streams], trees, device).sides(metric.reads)
    return hyp, others


class TextReward:
    """A metric as a reward for text; `parser`: a Parser, its name or path, or a tree source."""

    def __init__(
        self,
        metric: Metric[Any],
        parser: Source = None,
        device: str | torch.device | None = None,
    ) -> None:
        if metric.awaits_counts:
            raise TensorMTError(
                f"{metric.name} needs n-gram counts that do not change from batch to batch: "
                "call metric.fit with all references first"
            )
        self.metric, self.device = metric, device
        self.trees = source_for(metric, parser, device)

    def __call__(self, texts: Sequence[str], refs: Sequence[Sequence[str | None]]) -> Tensor:
        """Segment scores, float64 [n], of texts [n] with references [n][R]."""
        if not texts:
            return torch.zeros(0, dtype=torch.float64, device=self.device)
        return self.metric(*batches(self.metric, self.trees, texts, refs, self.device))

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
        present = [pair for pair in flat if pair[1].strip()]
        found[real] = self([i for i, _ in present], [[j] for _, j in present])
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
