"""Rewards in the shapes that trainers call: TRL, verl, OpenRLHF.

    TRL        reward(prompts=…, completions=…, completion_ids=…, **columns) → list of floats, None
    verl       compute_score(data_sources, solution_strs, ground_truths, extra_infos) → floats
    OpenRLHF   reward_func(queries, prompts, labels) → {"rewards", "scores", "extra_logs"}

Rewards lie on 0–1 (`scale`), so that BLEU, which counts to 100, does not drown another reward; NIST
has no largest score and is multiplied by `scale` as it is. A row without a reference has no reward:
None for TRL, which leaves it out, and 0 elsewhere. All are objects that can be pickled. TRL's shape
is tested with TRL itself; those of verl and OpenRLHF follow descriptions of their shapes and
were not run with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.train.chat_format import references, text_of
from tensormt.train.naming import identifier, label

# what TRL gives besides the columns of the data set
_TRAINER = ("completion_ids", "trainer_state", "log_extra", "log_metric", "environments")

Score = Callable[[Sequence[Any], Sequence[Sequence[Any]]], Tensor]


class _Scaled:
    """Scores of rows on the scale of a reward, None for rows without a reference."""

    def __init__(self, metric: Metric[Any], score: Score, scale: float) -> None:
        self.score, self.factor = score, scale / (metric.scale or 1.0)

    def rewards(self, outputs: Sequence[Any], refs: Sequence[Sequence[Any]]) -> list[float | None]:
        """Rewards [n] of outputs [n] with references [n][R]."""
        if len(outputs) != len(refs):
            raise TensorMTError(
                f"{len(outputs)} completions but references for {len(refs)}: give one row each"
            )
        present = [k for k, own in enumerate(refs) if own]
        found: list[float | None] = [None] * len(refs)
        if present:
            some = self.score([outputs[k] for k in present], [refs[k] for k in present])
            for k, value in zip(present, (some * self.factor).tolist(), strict=True):
                found[k] = value
        return found


class GrpoReward(_Scaled):
    """A reward function for TRL's trainers; `__name__` is what they log it by."""

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
        """`column` of the data set holds references; `more` makes the name of a variant."""
        super().__init__(metric, score, scale)
        self.column, self.ids = column, ids
        where = "" if column == "references" else column
        size = "" if scale == 1.0 else f"times {scale:g}"
        kind = "ids" if ids else ""
        self.__name__ = name or identifier(label(metric), where, more, size, kind, "reward")

    def __call__(
        self, prompts: Any = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        """Rewards of completions, text or chats; or of their ids, where ids are compared."""
        if self.column not in columns:
            names = [k for k in columns if k not in _TRAINER]
            raise TensorMTError(
                f"the data set has no column {self.column!r} with references, it has "
                f"{', '.join(names) or 'none'}: name the right one in grpo(column)"
            )
        rows = columns[self.column]
        if not self.ids:
            return self.rewards([text_of(each) for each in completions], [*map(references, rows)])
        if columns.get("completion_ids") is None:
            raise TensorMTError(
                "the trainer gives no completion_ids: use TextReward.grpo, which reads text"
            )
        return self.rewards(columns["completion_ids"], [_ids_or_text(row) for row in rows])

    def asynchronous(self) -> AsyncReward:
        """The same as an `async` function, which works in a thread while others wait."""
        return AsyncReward(self)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


class AsyncReward:
    """A reward function that is awaited, with the name of the one that does the work."""

    def __init__(self, reward: GrpoReward) -> None:
        self.reward, self.__name__ = reward, reward.__name__

    async def __call__(self, *args: Any, **kwargs: Any) -> list[float | None]:
        """What the reward gives, worked out in another thread."""
        return await asyncio.to_thread(self.reward, *args, **kwargs)


def _ids_or_text(row: Any) -> list[Any]:
    """The references of a row, where they may be ids as well: [int], or [[int]]."""
    if isinstance(row, Sequence) and not isinstance(row, str) and len(row):
        if isinstance(row[0], int):
            return [row]
        if isinstance(row[0], Sequence) and row[0] and isinstance(row[0][0], int):
            return [each for each in row if len(each)]
    return list(references(row))


class VerlReward(_Scaled):
    """`compute_score` of verl's batch reward manager; one call scores the whole batch.

    verl's other managers call with `data_source`, `solution_str`, `ground_truth`: one text.
    """

    def __call__(
        self,
        data_sources: Any = None,
        solution_strs: Sequence[str] | None = None,
        ground_truths: Sequence[Any] | None = None,
        extra_infos: Any = None,
        **more: Any,
    ) -> Any:
        """Rewards of solutions with their ground truths: text, a list of them, or messages."""
        if solution_strs is None:
            one, refs = more.get("solution_str"), more.get("ground_truth")
            if one is None:
                raise TensorMTError("verl gives no solution_strs: expected one text for each row")
            return self.rewards([one], [references(refs)])[0] or 0.0
        found = self.rewards(list(solution_strs), [*map(references, ground_truths or ())])
        return [value or 0.0 for value in found]


class OpenRLHFReward(_Scaled):
    """`reward_func` of OpenRLHF: a query is the prompt with the response behind it."""

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **more: Any
    ) -> dict[str, Any]:
        """Tensors of rewards and scores [n], and the same for the log."""
        texts = [q.removeprefix(p) for q, p in zip(queries, prompts, strict=True)]
        found = self.rewards(texts, [*map(references, labels)])
        rewards = torch.tensor([value or 0.0 for value in found], dtype=torch.float32, device="cpu")
        return {"rewards": rewards, "scores": rewards, "extra_logs": {"score": rewards}}
