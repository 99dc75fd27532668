"""Reward functions in the formats of trainers: TRL, verl, OpenRLHF.

    TRL        reward(prompts=…, completions=…, completion_ids=…, **columns) → list of floats, None
    verl       compute_score(data_source, solution_str, ground_truth, extra_info) → float
    OpenRLHF   reward_func(queries, prompts, labels) → {"rewards", "scores", "extra_logs"}

Rewards range from 0 to `scale` (default 1), so that BLEU, which ranges to 100, does not dominate
other rewards; NIST, which has no largest score, is multiplied by `scale`. The reward of an error
rate x, such as WER, is 1 - x, but at least 0, times `scale`. The reward of a row
without a reference is None for TRL, which ignores it, and 0 otherwise. All functions can be
pickled, and are tested with TRL, verl and OpenRLHF themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.data.coercion import as_lines
from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.train.batcher import batched
from tensormt.train.chat_format import completion_text, reference_texts
from tensormt.train.naming import identifier, metric_label
from tensormt.train.query_answer import QueryAnswer

# arguments of TRL that are not columns of the data set
_TRAINER = ("completion_ids", "trainer_state", "log_extra", "log_metric", "environments")

Score = Callable[..., Tensor]  # of outputs [n], references [n][R], and sources [n] where named


class _ScaledReward:
    """Scores of rows on the scale of a reward; None for rows without a reference."""

    def __init__(self, metric: Metric[Any], score: Score, scale: float) -> None:
        self.metric, self.score, self.scale = metric, score, scale

    def rewards(
        self,
        outputs: Sequence[Any],
        refs: Sequence[Sequence[Any]],
        sources: Sequence[Any] | None = None,
    ) -> list[float | None]:
        """Compute rewards [n] of outputs [n] with references [n][R], and sources where needed.

        Raises:
            TensorMTError: If numbers of rows differ.
        """
        for column, what in ((refs, "references"), (sources, "source texts")):
            if column is not None and len(column) != len(outputs):
                raise TensorMTError(
                    f"{len(outputs)} completions but {what} for {len(column)}: pass one row each"
                )
        present = [k for k, own in enumerate(refs) if own]
        found: list[float | None] = [None] * len(refs)
        if present:
            columns = [outputs, refs, *([] if sources is None else [sources])]
            some = self.score(*([column[k] for k in present] for column in columns))
            rewards = self.scale * self.metric.on_unit_scale(some)
            for k, value in zip(present, rewards.tolist(), strict=True):
                found[k] = value
        return found


class GrpoReward(_ScaledReward):
    """A reward function for TRL's trainers, which log it under its `__name__`.

    Args:
        metric: The metric.
        score: Function from outputs [n] and references [n][R] to scores [n].
        column: Column of the data set with references.
        name: Name in logs; None: made from the metric and the options.
        scale: Largest reward.
        source: Column of the data set with the source text; None: the metric does not read it.
        more: Part of the name that distinguishes variants, such as the parser.
        ids: Whether token ids are compared instead of text.
    """

    def __init__(
        self,
        metric: Metric[Any],
        score: Score,
        column: str = "references",
        name: str | None = None,
        scale: float = 1.0,
        *,
        source: str | None = None,
        more: str = "",
        ids: bool = False,
    ) -> None:
        super().__init__(metric, score, scale)
        self.column, self.source, self.ids = column, source, ids
        where = "" if column == "references" else column
        size = "" if scale == 1.0 else f"times {scale:g}"
        kind = "ids" if ids else ""
        self.__name__ = name or identifier(metric_label(metric), where, more, size, kind, "reward")

    def __call__(
        self, prompts: Any = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        """Compute rewards of completions (texts or chats), or of `completion_ids`.

        Raises:
            TensorMTError: If the column of references or the ids are missing.
        """
        for column, what in ((self.column, "references"), (self.source, "source texts")):
            if column is not None and column not in columns:
                names = [k for k in columns if k not in _TRAINER]
                raise TensorMTError(
                    f"the data set has no column {column!r} with {what}, it has "
                    f"{', '.join(names) or 'none'}: set the column in grpo(column, source=…)"
                )
        rows = columns[self.column]
        if not self.ids:
            return self.rewards(
                [completion_text(each) for each in completions],
                [*map(reference_texts, rows)],
                None if self.source is None else columns[self.source],
            )
        if columns.get("completion_ids") is None:
            raise TensorMTError(
                "the trainer passes no completion_ids: use TextReward.grpo, which compares text"
            )
        return self.rewards(columns["completion_ids"], [_ids_or_text(row) for row in rows])

    def asynchronous(self) -> AsyncReward:
        """Return an `async` version, which computes rewards in a thread."""
        return AsyncReward(self)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


class AsyncReward:
    """An async version of a reward function, with the same name."""

    def __init__(self, reward: GrpoReward) -> None:
        self.reward, self.__name__ = reward, reward.__name__

    async def __call__(self, *args: Any, **kwargs: Any) -> list[float | None]:
        """Compute the rewards in another thread."""
        return await asyncio.to_thread(self.reward, *args, **kwargs)


def _ids_or_text(row: Any) -> list[Any]:
    """The references of a row: texts, ids ([int]) or lists of ids ([[int]])."""
    if isinstance(row, Sequence) and not isinstance(row, str) and len(row):
        if isinstance(row[0], int):
            return [row]
        if isinstance(row[0], Sequence) and row[0] and isinstance(row[0][0], int):
            return [each for each in row if len(each)]
    return list(reference_texts(row))


class VerlReward(_ScaledReward):
    """`compute_score` of verl, for one sample or, in its legacy batch reward manager, for many.

    Args:
        metric: The metric.
        score: Function from texts [n] and references [n][R] to scores [n].
        scale: Largest reward.
        source: Key of `extra_info` with the source text; None: the metric does not read it.
    """

    def __init__(
        self, metric: Metric[Any], score: Score, scale: float = 1.0, source: str | None = None
    ) -> None:
        super().__init__(metric, score, scale)
        self.source = source

    def __call__(
        self,
        data_source: Any = None,
        solution_str: str | Sequence[str] | None = None,
        ground_truth: Any = None,
        extra_info: Any = None,
        *,
        solution_strs: Sequence[str] | None = None,
        ground_truths: Sequence[Any] | None = None,
        extra_infos: Sequence[Any] | None = None,
        **more: Any,
    ) -> Any:
        """Compute the reward of a solution, or a list of rewards of a list of solutions.

        Ground truths are texts, lists of them, or messages.

        Raises:
            TensorMTError: If there is no solution, or numbers of rows differ.
        """
        texts = solution_str if solution_strs is None else solution_strs
        refs = ground_truth if solution_strs is None else ground_truths
        infos = extra_info if solution_strs is None else extra_infos
        if texts is None:
            raise TensorMTError(
                "verl passes neither solution_str nor solution_strs: expected the text of each "
                "solution"
            )
        if isinstance(texts, str):
            return self.several([texts], [refs], [infos])[0]
        return self.several(texts, () if refs is None else refs, infos)

    def several(
        self, texts: Sequence[str], refs: Sequence[Any], infos: Sequence[Any] | None = None
    ) -> list[float]:
        """Compute rewards [n] of n texts; a row without a reference has 0."""
        sources = None
        if self.source is not None:
            given = [None] * len(texts) if infos is None else infos
            sources = [(info or {}).get(self.source) for info in given]
            if any(source is None for source in sources):
                raise TensorMTError(
                    f"extra_info has no {self.source!r}, the source text that the metric reads: "
                    "add it to the data set, or name another key in verl(source=…)"
                )
        found = self.rewards(
            as_lines(texts, "solution_strs"), [*map(reference_texts, refs)], sources
        )
        return [value or 0.0 for value in found]


class VerlAsyncReward:
    """The `async` version of `VerlReward`, which scores concurrent samples as a batch.

    Args:
        reward: The reward.
        wait: Seconds that a first sample waits for others.
        most: Largest batch.
    """

    def __init__(self, reward: VerlReward, wait: float, most: int) -> None:
        self._score = batched(reward.several, wait, most)

    async def compute_score(
        self,
        data_source: Any = None,
        solution_str: str = "",
        ground_truth: Any = None,
        extra_info: Any = None,
        **more: Any,
    ) -> float:
        """Compute the reward of a solution, together with those of concurrent calls."""
        found: float = await self._score(solution_str, ground_truth, extra_info)
        return found


class OpenRLHFReward(_ScaledReward):
    """`reward_func` of OpenRLHF; a query is the prompt followed by the response.

    Args:
        metric: The metric.
        score: Function from texts [n] and references [n][R] to scores [n].
        scale: Largest reward.
        special: Hugging Face tokenizer, or a list of special tokens; see `QueryAnswer`.
        source: Function from a prompt to its source text; None: the metric does not read it.
    """

    def __init__(
        self,
        metric: Metric[Any],
        score: Score,
        scale: float = 1.0,
        special: Any = None,
        source: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(metric, score, scale)
        self.answer, self.source = QueryAnswer(special), source

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **more: Any
    ) -> dict[str, Any]:
        """Compute tensors of rewards and scores [n], and the same for the log.

        Raises:
            TensorMTError: If numbers of rows differ, or a query does not start with its prompt.
        """
        if len(queries) != len(prompts):
            raise TensorMTError(f"{len(queries)} queries, {len(prompts)} prompts: pass one each")
        texts = [self.answer(query, own) for query, own in zip(queries, prompts, strict=True)]
        sources = None if self.source is None else [*map(self.source, prompts)]
        found = self.rewards(texts, [*map(reference_texts, labels)], sources)
        rewards = torch.tensor([value or 0.0 for value in found], dtype=torch.float32, device="cpu")
        return {"rewards": rewards, "scores": rewards, "extra_logs": {"score": rewards}}
