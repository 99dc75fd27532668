"""Concurrent calls for one sample each, computed as a batch.

Reward loops and evaluation harnesses call a function for one sample at a time, hundreds of times
at once. A batch costs little more than a single sample, so calls are gathered for a moment:

    score = batched(TextReward("chrf"))          # a function of lists
    value = await score(text, refs)              # an async function of one element each

A thread waits `wait` seconds after the first call, takes what has come, calls the function with
lists, and gives each caller its own result, in whatever thread and event loop it waits; calls that
come while a batch is computed are the next batch. The thread ends when nothing is left. If a batch
raises an error, its halves are computed again, so that an error reaches only the caller whose
sample caused it. A call that was cancelled before its batch began is left out.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from tensormt.errors import TensorMTError
from tensormt.options import describe

__all__ = ["Batcher", "batched"]


class _Call(NamedTuple):
    values: tuple[Any, ...]
    future: Future[Any]


class Batcher:
    """Gathers concurrent calls for one sample into calls for a batch; see `batched`.

    Args:
        function: Function from lists [n], one for each argument, to n results.
        wait: Seconds that a first call waits for others.
        most: Largest batch.

    Raises:
        TensorMTError: If an argument is not valid.
    """

    def __init__(self, function: Callable[..., Any], wait: float = 0.002, most: int = 1024) -> None:
        if not callable(function):
            raise TensorMTError(f"batched() needs a function of lists: got {describe(function)}")
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= 60:
            raise TensorMTError(f"wait is {describe(wait)}: expected seconds, 0 to 60")
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise TensorMTError(f"most is {describe(most)}: expected a whole number from 1")
        self.function, self.wait, self.most = function, wait, most
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._pending: list[_Call] = []
        self._busy = False  # whether a thread takes care of what is pending

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "wait": self.wait, "most": self.most}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    async def call(self, *values: Any) -> Any:
        """Return the result of one sample, computed together with those of concurrent calls."""
        return await asyncio.wrap_future(self.submit(*values))

    def submit(self, *values: Any) -> Future[Any]:
        """Return a future of the result of one sample, for threads without an event loop."""
        if self._process != os.getpid():  # after a fork: the thread and the callers are elsewhere
            self._reset()
        call = _Call(values, Future())
        with self._changed:
            self._pending.append(call)
            start, self._busy = not self._busy, True
            self._changed.notify()
        if start:
            try:
                threading.Thread(target=self._work, name="tensormt-batcher").start()
            except RuntimeError as error:  # no more threads, or the interpreter is ending
                self._give_up(error)
        return call.future

    def _give_up(self, error: Exception) -> None:
        with self._changed:
            calls, self._pending, self._busy = self._pending, [], False
        for call in calls:
            call.future.set_exception(error)

    def _work(self) -> None:
        """Compute batches until no call is pending."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._pending) >= self.most, self.wait)
                calls, self._pending = self._pending[: self.most], self._pending[self.most :]
                if not calls:
                    self._busy = False
                    return
            self._compute([call for call in calls if call.future.set_running_or_notify_cancel()])

    def _compute(self, calls: Sequence[_Call]) -> None:
        """Give every caller its result, or the error of its own sample."""
        if not calls:
            return
        try:
            results = self._results([call.values for call in calls])
        except BaseException as error:
            if len(calls) == 1:
                # a future does not take StopIteration, and its caller would wait for ever
                stop = isinstance(error, StopIteration)
                calls[0].future.set_exception(RuntimeError(repr(error)) if stop else error)
                return
            half = len(calls) // 2
            self._compute(calls[:half])
            self._compute(calls[half:])
            return
        for call, result in zip(calls, results, strict=True):
            call.future.set_result(result)

    def _results(self, samples: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Results of samples, which are given as the arguments of one call each."""
        columns = [list(column) for column in zip(*samples, strict=True)]
        found = self.function(*columns)
        results = list(found.tolist() if hasattr(found, "tolist") else found)
        if len(results) != len(samples):
            raise TensorMTError(
                f"the function gave {len(results)} results for a batch of {len(samples)}: expected "
                "one for each"
            )
        return results


def batched(
    reward: Callable[..., Any], wait: float = 0.002, most: int = 1024
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an `async` function of one sample that computes concurrent calls as a batch.

    Args:
        reward: Function from lists [n], one for each argument, to n results: a `TextReward`, whose
            arguments are texts and references, or any other.
        wait: Seconds that a first call waits for others.
        most: Largest batch.

    Returns:
        An async function of one element of each list, which can be pickled if `reward` can, and
        used in several threads and event loops.

    Raises:
        TensorMTError: If an argument is not valid.

    >>> from tensormt.ngram.bleu import BLEU
    >>> from tensormt.train.text_reward import TextReward
    >>> score = batched(TextReward(BLEU()))
    >>> async def both():
    ...     return await asyncio.gather(score("a b c d", ["a b c d"]), score("x", ["a b c d"]))
    >>> [round(value, 6) for value in asyncio.run(both())]
    [100.0, 0.0]
    """
    return Batcher(reward, wait, most).call
