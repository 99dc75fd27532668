"""Two source trees against each other: BLEU, chrF, STM, HWCM and TKM of 1, 64 and 2,000 segments.

    python bench/before_after.py BEFORE AFTER [--rounds 7]

BEFORE and AFTER are folders that contain the package `tensormt`. Each round starts one process for
each of them, in turn; a process scores every batch several times from text, bracketings or head
lists and reports the median of the processor time. The medians over the rounds are compared. Both
read the same text, which this source tree's benchmarks make, and their scores are compared first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIZES = (1, 64, 2000)
# One thread; and the allocator keeps its memory: what the kernel takes to give back freed pages
# would otherwise be up to a third of the time of 2,000 segments, and differ from run to run.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}


def jobs(size: int, texts: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """What is timed, each from the first `size` segments: a metric's scores."""
    import tensormt as tm

    text, read, make = tm.TokenBatch.from_text, tm.TreeBatch.from_brackets, tm.TreeBatch.from_heads
    bleu, chrf, stm, hwcm, tkm = tm.BLEU(), tm.ChrF(), tm.STM(4), tm.HWCM(4), tm.TKM()
    lines, trees = ([side[:size] for side in texts[name]] for name in ("lines", "trees"))
    heads = [[part[:size] for part in side] for side in texts["heads"]]
    return {
        "BLEU": lambda: bleu(text(lines[0]), [text(lines[1])]),
        "chrF": lambda: chrf(text(lines[0], "char"), [text(lines[1], "char")]),
        "STM-4": lambda: stm(read(trees[0]), [read(trees[1])]),
        "HWCM-4": lambda: hwcm(make(*heads[0]), [make(*heads[1])]),
        "TKM": lambda: tkm(read(trees[0]), [read(trees[1])]),
    }


def measure(path: str) -> None:
    """In a process of its own: print times (ms) and a checksum of the scores of every job."""
    import torch

    torch.set_num_threads(1)
    texts = json.loads(Path(path).read_text())
    found = {}
    for size in SIZES:
        for name, work in jobs(size, texts).items():
            checksum = float(work().sum())
            # about the same time for all sizes
            repeats = {1: 200, 64: 60}.get(size, 9)
            times = []
            for _ in range(repeats):
                start = time.process_time()
                work()
                times.append(time.process_time() - start)
            found[f"{name}, {size}"] = (statistics.median(times) * 1e3, checksum)
    print(json.dumps(found))


def made(path: Path) -> None:
    """Write the text, trees and head lists that both sides read."""
    sys.path.insert(0, str(HERE))
    import ngram
    import syntax

    import tensormt as tm

    size = max(SIZES)
    systems, refs = ngram.made(size)
    trees = [syntax.sentences(size, 20, seed) for seed in (1, 2)]
    heads = [tm.TreeBatch.from_brackets(side).dependencies().to_heads() for side in trees]
    path.write_text(json.dumps({"lines": [systems[0], refs[0]], "trees": trees, "heads": heads}))


def main() -> None:
    """Run both sides in turn and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "texts.json"
        made(data)
        rounds: list[list[dict[str, list[float]]]] = [[], []]
        for _ in range(args.rounds):
            for side, source in enumerate((args.before, args.after)):
                environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(source)}
                command = [sys.executable, __file__, "--measure", str(data)]
                done = subprocess.run(
                    command, env=environment, stdout=subprocess.PIPE, text=True, check=True
                )
                rounds[side].append(json.loads(done.stdout))
    print("| metric | batch | before, ms | after, ms | before / after |")
    print("|" + " --- |" * 5)
    for job, (_, checksum) in rounds[0][0].items():
        again = rounds[1][0][job][1]
        assert abs(again - checksum) <= 1e-9 * abs(checksum), (job, checksum, again)
        before, after = (statistics.median(each[job][0] for each in side) for side in rounds)
        name, size = job.split(", ")
        print(f"| {name} | {int(size):,} | {before:.3f} | {after:.3f} | {before / after:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        main()
