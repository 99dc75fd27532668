"""What every job asks of a CUDA device: operations, synchronisations, copies, bytes.

    python bench/device.py [--size 2000] [--jobs NAME] [--lines]

Counted on the stand-in of the tests (tests/fake_cuda.py), without a GPU, in the second of two runs.
Results are compared with the CPU's first. The lower bound takes 5 µs an operation (a launch) or the
time for which memory and arithmetic of a card are busy, whichever is more, and 15 µs a
synchronisation and 10 µs a copy. --lines prints
the lines of the package with the most operations and all that wait for the device. Jobs that use
kernels in Triton have a second row without them; if Triton is not installed, only that.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import torch
from fake_cuda import CUDA, FakeCuda

from tensormt import devcheck

OPERATION, SYNC, COPY = 5e-3, 15e-3, 10e-3  # ms
CARDS = {  # bytes and operations in float32 (no TF32) per ms, by the makers' data sheets
    "A100": (1.555e9, 19.5e9),
    "H100": (3.35e9, 67e9),
    "RTX 4090": (1.008e9, 82.6e9),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--jobs", default="")
    parser.add_argument("--lines", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with FakeCuda(strict=False):
        jobs = devcheck.jobs(args.size, CUDA)
    print(
        "| job | operations | syncs | copies | MB copied | MB on the device | "
        f"MB read and written | GFLOP | at least ms on {', '.join(CARDS)} | CPU ms |"
    )
    print("| --- " * 10 + "|")
    cpu = torch.device("cpu")
    for name, job in jobs.items():
        if args.jobs not in name:
            continue
        inputs, again = job.prepare(), job.prepare()  # batches remember what was computed of them
        here = job.run(inputs, cpu)
        start = time.process_time()
        job.run(again, cpu)
        spent = (time.process_time() - start) * 1e3
        for triton in (True, False) if find_spec("triton") else (False,):
            with FakeCuda(strict=False, triton=triton) as cuda:
                job.run(inputs, CUDA)
                cuda.clear()
                there = job.run(inputs, CUDA)
            difference = devcheck._difference(here, [tensor.host for tensor in there])
            assert difference <= devcheck.TOLERANCE, f"{name}: {difference}"
            if triton and not any(what.startswith("kernel ") for what in cuda.operations):
                continue
            title = f"{name} (Triton)" if triton else name
            operations, syncs = sum(cuda.operations.values()), sum(cuda.syncs.values())
            copies = [copy for copy in cuda.copies if copy.to_device]
            waits = syncs * SYNC + len(copies) * COPY
            least = [
                max(operations * OPERATION, cuda.traffic / speed, cuda.flops / rate) + waits
                for speed, rate in CARDS.values()
            ]
            size = sum(copy.size for copy in cuda.copies) / 1e6
            print(
                f"| {title} | {operations:,} | {syncs} | {len(copies)} | {size:.1f} | "
                f"{cuda.peak / 1e6:,.0f} | {cuda.traffic / 1e6:,.0f} | {cuda.flops / 1e9:,.0f} | "
                f"{', '.join(f'{ms:.1f}' for ms in least)} | {spent:,.0f} |",
                flush=True,
            )
            if args.lines:
                lines: Counter[str] = Counter()
                for what, times in cuda.operations.items():
                    lines[what.split()[-1]] += times
                print(
                    "  operations:", *(f"{line} ×{times}" for line, times in lines.most_common(15))
                )
                print("  syncs:", *(f"{what} ×{times}" for what, times in cuda.syncs.most_common()))
                print("  copies:", Counter(copy.where for copy in copies).most_common(12))


if __name__ == "__main__":
    main()
