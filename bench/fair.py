"""A fair race: both sides from the same input, as many runs each, in turn, in processor time.

    row = race("STM-4 from brackets", "lean Python", ours, peer, batch=2000)

The median of the runs counts on both sides. What is raced has been compared before.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One job: microseconds a segment on both sides, and how many segments a batch had."""

    job: str
    peer: str
    batch: int
    ours_us: float
    peer_us: float

    @property
    def ratio(self) -> float:
        """How many times as long the peer takes."""
        return self.peer_us / self.ours_us

    @property
    def shown(self) -> str:
        """The ratio with two digits."""
        return f"{self.ratio:.0f}" if self.ratio >= 9.95 else f"{self.ratio:.1f}"

    def each(self, number: int) -> Row:
        """The same where a run did the job so many times."""
        return replace(self, ours_us=self.ours_us / number, peer_us=self.peer_us / number)

    def data(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "ratio": self.shown}


def race(
    job: str,
    peer_name: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    batch: int,
    peer_batch: int | None = None,
    runs: int = 5,
) -> Row:
    """Run both sides in turn, after one run each to warm up; the peer may take fewer segments."""
    ours()
    peer()
    own, other = (spent * 1e6 for spent in in_turn(ours, peer, runs=runs))
    return Row(job, peer_name, batch, own / batch, other / (peer_batch or batch))


def processor_time() -> float:
    """Processor time of this process and of the processes that it started and that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def in_turn(
    *works: Callable[[], object], runs: int, before: Callable[[], object] | None = None
) -> list[float]:
    """The median processor time of each, run in turn, as often each, `before` ahead of each run.

    Processes that a work starts count if they have ended.
    """
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, spent in zip(works, times, strict=True):
            if before is not None:
                before()
            start = processor_time()
            work()
            spent.append(processor_time() - start)
    return [statistics.median(spent) for spent in times]


def forget() -> None:
    """Empty the caches of sacrebleu's tokenisers, so that they pay for every line once."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


def machine() -> str:
    """The processor, the number of cores, Python and torch, and how busy it all is."""
    import torch

    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        name = models[0].partition(":")[2].strip() if models else name
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    load = f"load average {os.getloadavg()[0]:.0f}"  # mostly of other work
    return f"{name}, {os.cpu_count()} cores, one thread, {versions}, {load}"
