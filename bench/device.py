"""What every job asks of a CUDA device: operations, synchronisations, copies, bytes.

    python bench/device.py [--size 2000] [--jobs NAME] [--lines]

Counted on the stand-in of the tests (tests/fake_cuda.py), without a GPU, in the second of two runs.
Results are compared with the CPU's first. The lower bound takes 5 µs an operation (a launch), 15 µs
a synchronisation and 10 µs a copy; the time of the kernels themselves is not in it. --lines prints
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
        "| job | operations | syncs | copies | MB copied | MB on the device | at least ms | "
        "CPU ms |"
    )
    print("| --- " * 8 + "|")
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
            least = operations * OPERATION + syncs * SYNC + len(copies) * COPY
            size = sum(copy.size for copy in cuda.copies) / 1e6
            print(
                f"| {title} | {operations:,} | {syncs} | {len(copies)} | {size:.1f} | "
                f"{cuda.peak / 1e6:,.0f} | {least:.1f} | {spent:,.0f} |",
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
