"""Memory that NIST's counts take, over 10⁴ to 10⁶ different segments, and the time of counting.

    python bench/memory.py [--most 1000000] [--words 25]
    python bench/memory.py --streams chrf stm tkm hwcm dstm dtkm [--most 1000000]

Every size runs in a process of its own. Words are drawn by Zipf's law from 200,000, so that most
longer n-grams are new, as in real text. Shown are the different n-grams of orders 1 to 5, the bytes
that the tables take for each, the peak of the process less what it took before counting, and the
processor time; the counts of the first 2,000 segments are checked against a Counter.

`--streams` shows the peak of a whole run of `tensormt score -m METRIC --segments` instead, for each
metric alone on so many different segments with two references: sentences made of the examples, or
made-up trees of 21 words, read with `--trees`, for the metrics that read trees.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from end_to_end import different, high_water, parses, stream
from fair import machine

import tensormt as tm
from tensormt.inputs import Trees
from tensormt.registry import make

ROOT = Path(__file__).resolve().parent.parent
_CHUNK = 2000


def lines(rng: np.random.Generator, words: int) -> list[str]:
    """One chunk of segments."""
    ranks = np.minimum(rng.zipf(1.2, (_CHUNK, words)), 200_000)
    return [" ".join(map(str, row)) for row in ranks.tolist()]


def measure(segments: int, words: int) -> dict[str, float]:
    """Count the n-grams of so many different segments in this process."""
    torch.set_num_threads(1)
    check = tm.Frequencies(5)
    own = lines(np.random.default_rng(0), words)
    check.add([tm.TokenBatch.from_text(own)])
    for order, (_, counts) in enumerate(check.tables, 1):
        rows = [line.split() for line in own]
        plain = Counter(
            tuple(row[k : k + order]) for row in rows for k in range(len(row) - order + 1)
        )
        assert sorted(plain.values()) == sorted(counts.tolist()), order
    del check, own, plain

    rng = np.random.default_rng(1)
    table = tm.Frequencies(5)
    before, spent = high_water(), 0.0
    for _ in range(segments // _CHUNK):
        batch = tm.TokenBatch.from_text(lines(rng, words))
        start = time.process_time()
        table.add([batch])
        spent += time.process_time() - start
    start = time.process_time()
    number = sum(map(len, table.tables_by_order))
    spent += time.process_time() - start
    return {
        "segments": segments,
        "ngrams": number,
        "table_bytes_per_ngram": table.size / number,
        "peak_bytes_per_ngram": (high_water() - before) * 1024 / number,
        "peak_mib": (high_water() - before) / 1024,
        "microseconds_per_segment": 1e6 * spent / segments,
    }


def sizes(most: int) -> Iterator[int]:
    """10⁴, 10⁵, … segments."""
    return takewhile(lambda size: size <= most, (10**power for power in count(4)))


def streams(metrics: Sequence[str], most: int) -> Iterator[str]:
    """What whole runs of the command take, a metric and a number of segments a row."""
    for metric in metrics:
        reads_trees = isinstance(make(metric).reads, Trees)
        for size in sizes(most):
            row = stream(size, [metric], parses if reads_trees else different)
            yield (
                f"{metric}, {size:,} {'trees' if reads_trees else 'sentences'}: "
                f"peak {row['peak_mib']:.0f} MiB, "
                f"{row['segments_per_cpu_second']:,.0f} segments a second of processor time"
            )


def curve(most: int, words: int = 25) -> list[dict[str, float]]:
    """The figures of 10⁴, 10⁵, … segments, each from a process of its own."""
    found = []
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for size in sizes(most):
        command = [sys.executable, __file__, "--one", str(size), "--words", str(words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.append(json.loads(done.stdout))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=25)
    parser.add_argument("--streams", nargs="+", metavar="METRIC")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, args.words)))
        return
    if args.streams:
        print(machine())
        for line in streams(args.streams, args.most):
            print(line, flush=True)
        return
    for row in curve(args.most, args.words):
        print(
            f"{row['segments']:>9,} segments, {row['ngrams']:>11,} n-grams: "
            f"table {row['table_bytes_per_ngram']:.2f} bytes an n-gram, "
            f"peak {row['peak_bytes_per_ngram']:.1f} ({row['peak_mib']:.0f} MiB), "
            f"{row['microseconds_per_segment']:.1f} µs a segment"
        )


if __name__ == "__main__":
    main()
