"""Every kind of job on a CPU and on a device: are the results equal, and how long does each take?

    python -m tensormt.devcheck [--device cuda] [--size 2000]

No GPU was at hand when tensormt was written. The first people who have one are asked to run this
and to send the table back. Counts have to be equal, scores equal within 1e-12, trees equal; the
exit status is 1 if something differs. The data is random and the same in every run.
"""

from __future__ import annotations

import argparse
import platform
import random
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt import qarla
from tensormt.devices import resolve_device
from tensormt.errors import TensorMTError
from tensormt.kernels import charts
from tensormt.metric import Metric
from tensormt.ngram import BLEU, BM, NIST, ChrF
from tensormt.parser import Parser
from tensormt.syntax import DSTM, DTKM, HWCM, STM, TKM
from tensormt.text.tokens import TokenBatch
from tensormt.train import Reward, mbr
from tensormt.trees.batch import TreeBatch
from tensormt.version import __version__

TOLERANCE = 1e-12
LABELS = ["S", "NP", "VP", "PP", "SBAR", "NP", "VP"]
TAGS = ["NN", "NNS", "VBD", "DT", "JJ", "IN", "CC", "PRP", "RB"]


class Job(NamedTuple):
    """A piece of work: inputs, made on the host, and a function of them and a device."""

    prepare: Callable[[], Any]
    run: Callable[[Any, torch.device], list[Tensor]]


class Outcome(NamedTuple):
    """The result of a job: largest difference between devices, and seconds on each."""

    name: str
    difference: float
    on_cpu: float
    on_device: float
    error: str = ""

    @property
    def good(self) -> bool:
        """Whether the job ran and gave the numbers of the CPU."""
        return not self.error and self.difference <= TOLERANCE


def _words(rng: random.Random, count: int) -> list[str]:
    """A vocabulary with Zipf's distribution, as a list to draw from."""
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(count)]
    return rng.choices(words, [1 / (rank + 3) for rank in range(count)], k=4 * count)


def _texts(size: int) -> list[list[str]]:
    """Hypotheses and two streams of references, which share most words with them."""
    rng = random.Random(1)
    words = _words(rng, 5000)

    def noisy(text: list[str], rate: float) -> str:
        drawn = [rng.choice(words) if rng.random() < rate else word for word in text]
        return " ".join(drawn) + "."

    hidden = [rng.choices(words, k=max(3, int(rng.lognormvariate(2.95, 0.5)))) for _ in range(size)]
    return [[noisy(text, rate) for text in hidden] for rate in (0.3, 0.1, 0.2)]


def _tree(rng: random.Random, words: list[str]) -> str:
    """A random bracketing over words."""
    if len(words) == 1:
        return f"({rng.choice(TAGS)} {words[0]})"
    cuts = sorted(rng.sample(range(1, len(words)), min(rng.randint(1, 3), len(words) - 1)))
    parts = [words[a:b] for a, b in zip([0, *cuts], [*cuts, len(words)], strict=True)]
    return f"({rng.choice(LABELS)} {' '.join(_tree(rng, part) for part in parts)})"


def _trees(size: int) -> list[list[str]]:
    """Bracketings of hypotheses and two streams of references; every other one is equal."""
    rng = random.Random(2)
    words = _words(rng, 2000)
    hyp = [_tree(rng, rng.choices(words, k=rng.randint(4, 38))) for _ in range(size)]
    refs = [
        [tree if rng.random() < 0.5 else _tree(rng, rng.choices(words, k=21)) for tree in hyp]
        for _ in range(2)
    ]
    return [hyp, *refs]


def _ids(size: int) -> tuple[Tensor, Tensor]:
    """Token ids of 8 samples [B,8,24], ended by 1, and of one reference [B,1,24]."""
    rng = torch.Generator().manual_seed(3)
    refs = torch.randint(2, 400, (size, 1, 24), generator=rng)
    other = torch.randint(2, 32_000, (size, 8, 24), generator=rng)
    samples = torch.where(torch.rand(size, 8, 24, generator=rng) < 0.3, other, refs)
    lengths = torch.randint(10, 24, (size, 8, 1), generator=rng)
    return samples.masked_fill(torch.arange(24) >= lengths, 1), refs


def _scoring(metric: Metric[Any], read: Callable[[], Any]) -> Job:
    """Statistics and scores of batches of a hypothesis and its references."""

    def run(batches: Any, device: torch.device) -> list[Tensor]:
        there = type(batches[0]).send(batches, device)
        found = metric.statistics(there[0], there[1:])
        return [found, metric.score(found)]

    return Job(read, run)


def _on_ids(work: Callable[[Tensor, Tensor], Tensor], size: int) -> Job:
    """A function of samples and references as token ids."""
    return Job(
        lambda: _ids(size),
        lambda ids, device: [work(*(part.to(device) for part in ids))],
    )


def _similarities(count: int) -> list[Tensor]:
    """Similarities of 9 peers and 4 models to the models, by 10 metrics."""
    rng = torch.Generator().manual_seed(4)
    shapes = ((count, 9, 4, 10), (count, 4, 4, 10))
    return [torch.rand(*shape, generator=rng, dtype=torch.float64) for shape in shapes]


def _charts(size: int, kernel: bool) -> Job:
    """Best trees and marginals of sentences of up to 40 words, with or without Triton."""

    def prepare() -> tuple[Tensor, Tensor]:
        rng = torch.Generator().manual_seed(5)
        lengths = torch.randint(1, 41, (size,), generator=rng)
        return torch.randn(size, 41, 41, generator=rng), lengths

    def run(inputs: tuple[Tensor, Tensor], device: torch.device) -> list[Tensor]:
        scores, lengths = (part.to(device) for part in inputs)
        return [
            charts.best_trees(scores, lengths, kernel),
            charts.marginals(scores, lengths, kernel),
        ]

    return Job(prepare, run)


def _parsing(size: int, device: torch.device) -> Job:
    """Trees of the default parser, which is loaded before anything is timed."""
    parsers = {
        where: Parser.load("default", device=where) for where in {torch.device("cpu"), device}
    }
    for parser in parsers.values():
        _ = parser.network

    def run(texts: list[str], device: torch.device) -> list[Tensor]:
        nodes = parsers[device].parse(texts).nodes
        return [nodes.label, nodes.parent, nodes.word]

    return Job(lambda: _texts(size)[0], run)


def jobs(size: int, device: torch.device, *, parser: bool = True) -> dict[str, Job]:
    """Return all jobs by name.

    Args:
        size: Number of segments; rewards have a quarter of them, with 8 samples each.
        device: Device, for which the parser is loaded.
        parser: Whether parsing is one of the jobs.
    """

    def trees() -> list[TreeBatch]:
        return [TreeBatch.from_brackets(stream) for stream in _trees(size)]

    def words() -> list[TokenBatch]:
        return TokenBatch.from_texts(_texts(size))

    def characters() -> list[TokenBatch]:
        return TokenBatch.from_texts(_texts(size), ChrF().tokenize)

    reward = Reward(BLEU(effective_order=True), pad=0, eos=1)
    groups = max(size // 8, 2)
    found = {
        metric.name: _scoring(metric, trees) for metric in (STM(), HWCM(), DSTM(), TKM(), DTKM())
    }
    found |= {
        f"{metric.name} from text": _scoring(metric, words) for metric in (BLEU(), NIST(), BM())
    }
    return found | {
        "chrF from text": _scoring(ChrF(), characters),
        "rewards: BLEU": _on_ids(lambda samples, refs: reward(samples, refs), groups),
        "rewards: BLEU by token": _on_ids(
            lambda samples, refs: reward.shaped(samples, refs), groups
        ),
        "rewards: chrF": _on_ids(Reward(ChrF(), pad=0, eos=1), groups),
        "rewards: BM": _on_ids(Reward(BM(), pad=0, eos=1), groups),
        "rewards: NIST": _on_ids(Reward(NIST(info="segment"), pad=0, eos=1), groups),
        "rewards: NIST by token": _on_ids(
            lambda samples, refs: Reward(NIST(info="segment"), pad=0, eos=1).shaped(samples, refs),
            groups,
        ),
        "MBR: BLEU": _on_ids(lambda samples, refs: mbr(reward.utility(samples)), groups),
        "QUEEN, 1,023 sets": Job(
            lambda: _similarities(max(size // 20, 2)),
            lambda parts, device: [qarla.queen_sets(*(part.to(device) for part in parts))],
        ),
        "KING, 1,023 sets": Job(
            lambda: _similarities(max(size // 20, 2)),
            lambda parts, device: [qarla.king_sets(*(part.to(device) for part in parts))],
        ),
        "charts of the parser": _charts(size, True),
        "charts without Triton": _charts(size, False),
        **({"parser": _parsing(size, device)} if parser else {}),
    }


def _difference(here: list[Tensor], there: list[Tensor]) -> float:
    """The largest difference of two lists of results, relative for large floating-point numbers."""
    worst = 0.0
    for one, other in zip(here, there, strict=True):
        other = other.cpu()
        if one.shape != other.shape or one.dtype != other.dtype:
            return float("inf")
        if not one.is_floating_point():
            worst = max(worst, float((one != other).sum()))
            continue
        gap = (one - other).abs() / one.abs().clamp_min(1.0)
        gap = gap.masked_fill(one == other, 0.0).nan_to_num(nan=float("inf"))
        worst = max(worst, float(gap.max()) if gap.numel() else 0.0)
    return worst


def _seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """The median of several runs, the device's queue included; 0 without runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        if device != torch.device("cpu"):
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] if times else 0.0


def check(size: int, device: torch.device, repeats: int = 5, chosen: str = "") -> list[Outcome]:
    """Run all jobs on the CPU and on a device.

    Args:
        size: Number of segments.
        device: Device.
        repeats: Number of runs that are timed; 0: none.
        chosen: Part of the names of the jobs to run; empty: all.

    Returns:
        The outcome of each job; an error on the device is part of it.
    """
    found = []
    cpu = torch.device("cpu")
    for name, job in jobs(size, device).items():
        if chosen not in name:
            continue
        inputs = job.prepare()
        try:
            difference = _difference(job.run(inputs, cpu), job.run(inputs, device))
            found.append(
                Outcome(
                    name,
                    difference,
                    _seconds(partial(job.run, inputs, cpu), cpu, repeats),
                    _seconds(partial(job.run, inputs, device), device, repeats),
                )
            )
        except Exception as error:  # what fails on the device is what is looked for
            traceback.print_exc()
            cause = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            found.append(Outcome(name, float("inf"), 0.0, 0.0, cause))
    return found


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a Markdown table.

    >>> print(table([Outcome("STM", 0.0, 0.06, 0.004)]))
    | job | difference | CPU ms | device ms | faster | |
    | --- | --- | --- | --- | --- | --- |
    | STM | 0 | 60.0 | 4.0 | 15.0 | equal |
    """
    rows = ["| job | difference | CPU ms | device ms | faster | |", "| --- " * 6 + "|"]
    for o in outcomes:
        state = o.error or ("equal" if o.good else "DIFFERENT")
        faster = f"{o.on_cpu / o.on_device:.1f}" if o.on_device else "–"
        rows.append(
            f"| {o.name} | {o.difference:.2g} | {o.on_cpu * 1e3:.1f} | {o.on_device * 1e3:.1f} | "
            f"{faster} | {state} |"
        )
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tensormt.devcheck", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, auto (default)")
    parser.add_argument("--size", type=int, default=2000, help="segments (default: 2000)")
    parser.add_argument("--repeats", type=int, default=5, help="runs that are timed (default: 5)")
    parser.add_argument("--jobs", default="", help="only jobs whose name contains this")
    args = parser.parse_args(arguments)
    try:
        device = resolve_device(args.device)
    except TensorMTError as error:
        parser.error(str(error))
    name = platform.processor() or platform.machine()
    if device != torch.device("cpu"):
        name += f", {torch.cuda.get_device_name(device)}, CUDA {torch.version.cuda}"
    print(f"tensormt {__version__}, torch {torch.__version__}, {name}")
    print(f"{args.size:,} segments, {torch.get_num_threads()} threads on the CPU\n")
    outcomes = check(args.size, device, args.repeats, args.jobs)
    print(table(outcomes))
    bad = [outcome.name for outcome in outcomes if not outcome.good]
    print(f"\n{len(outcomes) - len(bad)} of {len(outcomes)} jobs give the results of the CPU.")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
