"""Reward functions in the formats of trainers: TRL, verl, OpenRLHF.

    TRL        reward(prompts=…, completions=…, completion_ids=…, **columns) → list of floats, None
    verl       compute_score(data_sources, solution_strs, ground_truths, extra_infos) → floats
    OpenRLHF   reward_func(queries, prompts, labels) → {"rewards", "scores", "extra_logs"}

Rewards range from 0 to `scale` (default 1), so that BLEU, which ranges to 100, does not dominate
other rewards; NIST, which has no largest score, is multiplied by `scale`. The reward of an error
rate x, such as WER, is 1 - x, but at least 0, times `scale`. The reward of a row
without a reference is None for TRL, which ignores it, and 0 otherwise. All functions can be
pickled. The format of TRL is tested with TRL; those of verl and OpenRLHF follow their documentation
and were not tested with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.train.chat_format import completion_text, reference_texts
from tensormt.train.naming import identifier, metric_label

# arguments of TRL that are not columns of the data set
_TRAINER = ("completion_ids", "trainer_state", "log_extra", "log_metric", "environments")

Score = Callable[[Sequence[Any], Sequence[Sequence[Any]]], Tensor]


class _ScaledReward:
    """Scores of rows on the scale of a reward; None for rows without a reference."""

    def __init__(self, metric: Metric[Any], score: Score, scale: float) -> None:
        self.metric, self.score, self.scale = metric, score, scale

    def rewards(self, outputs: Sequence[Any], refs: Sequence[Sequence[Any]]) -> list[float | None]:
        """Compute rewards [n] of outputs [n] with references [n][R].

        Raises:
            TensorMTError: If numbers of rows differ.
        """
        if len(outputs) != len(refs):
            raise TensorMTError(
                f"{len(outputs)} completions but references for {len(refs)}: pass one row each"
            )
        present = [k for k, own in enumerate(refs) if own]
        found: list[float | None] = [None] * len(refs)
        if present:
            some = self.score([outputs[k] for k in present], [refs[k] for k in present])
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
        more: str = "",
        ids: bool = False,
    ) -> None:
        super().__init__(metric, score, scale)
        self.column, self.ids = column, ids
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
        if self.column not in columns:
            names = [k for k in columns if k not in _TRAINER]
            raise TensorMTError(
                f"the data set has no column {self.column!r} with references, it has "
                f"{', '.join(names) or 'none'}: set the column in grpo(column)"
            )
        rows = columns[self.column]
        if not self.ids:
            return self.rewards(
                [completion_text(each) for each in completions], [*map(reference_texts, rows)]
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
    """`compute_score` of verl's batch reward manager, which scores a batch per call.

    verl's other reward managers pass `data_source`, `solution_str` and `ground_truth` of one text.
    """

    def __call__(
        self,
        data_sources: Any = None,
        solution_strs: Sequence[str] | None = None,
        ground_truths: Sequence[Any] | None = None,
        extra_infos: Any = None,
        **more: Any,
    ) -> Any:
        """Compute rewards of solutions; ground truths are texts, lists of them, or messages."""
        if solution_strs is None:
            one, refs = more.get("solution_str"), more.get("ground_truth")
            if one is None:
                raise TensorMTError("verl passes no solution_strs: expected one text for each row")
            return self.rewards([one], [reference_texts(refs)])[0] or 0.0
        found = self.rewards(list(solution_strs), [*map(reference_texts, ground_truths or ())])
        return [value or 0.0 for value in found]


class OpenRLHFReward(_ScaledReward):
    """`reward_func` of OpenRLHF; a query is the prompt followed by the response."""

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **more: Any
    ) -> dict[str, Any]:
        """Compute tensors of rewards and scores [n], and the same for the log."""
        texts = [q.removeprefix(p) for q, p in zip(queries, prompts, strict=True)]
        found = self.rewards(texts, [*map(reference_texts, labels)])
        rewards = torch.tensor([value or 0.0 for value in found], dtype=torch.float32, device="cpu")
        return {"rewards": rewards, "scores": rewards, "extra_logs": {"score": rewards}}
