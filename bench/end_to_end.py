"""Cost of the metrics against cost of the parse, and a million segments in bounded memory.

    python bench/end_to_end.py [--segments 10000] [--million 1000000] [--json FILE]

First: with parses at hand, all ten metrics on 10,000 segments with two references, from bracketed
text to segment scores, against parsing the same texts (timed on a sample). Second: a million
different segments made of the bundled example go through `tensormt score -m bleu nist bm
--segments`, and once more without NIST, whose counts grow with the text; segments a second and peak
memory of the process are stated, beside those of a tenth of them. One thread.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, product
from pathlib import Path

import torch

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.registry import METRICS
from tensormt.segments import Segments
from tensormt.statistics import Totals
from tensormt.trees.sources import TreesAsText

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def sentences(name: str, count: int, seed: int) -> list[str]:
    """First half of one example sentence, second half of another, and so on."""
    rng = random.Random(seed)
    rows = [line.split() for line in (EXAMPLES / name).read_text().splitlines()]
    made = []
    for _ in range(count):
        a, b = rng.choice(rows), rng.choice(rows)
        made.append(" ".join(a[: len(a) // 2] + b[len(b) // 2 :]))
    return made


def cost(segments: int, sample: int = 400) -> dict[str, float]:
    """CPU seconds of all ten metrics, and of parsing the same texts."""
    parser = tm.Parser.load("default", device="cpu")
    hyps = sentences("sysA.txt", segments, 1)
    refs = [sentences("ref1.txt", segments, 2), sentences("ref2.txt", segments, 3)]
    texts = [text for stream in (hyps, *refs) for text in stream]
    some = random.Random(4).sample(texts, sample)
    parser.parse(some[:50])
    start = time.process_time()
    parser.parse(some)
    parse = (time.process_time() - start) / sample * len(texts)

    different = list(dict.fromkeys(texts))
    trees = dict(zip(different, parser.parse(different).to_brackets(), strict=True))
    lines = [[trees[text] for text in stream] for stream in (hyps, *refs)]
    # correctness first: the chunked run gives the scores of tm.score on the text
    few = tm.score(hyps[:60], [ref[:60] for ref in refs], ["stm", "tkm"], parser)
    again = tm.score(lines[0][:60], [ref[:60] for ref in lines[1:]], ["stm", "tkm"], trees=True)
    for name, scores in few.segments.items():
        assert torch.allclose(scores, again.segments[name], rtol=0, atol=1e-12)

    start = time.process_time()
    corpus = Segments({"a": lines[0]}, lines[1:])
    evaluator, totals = Evaluator(list(METRICS), TreesAsText()).fit(corpus), Totals()
    for _, found in evaluator.run(corpus):
        totals.add(found)
        for name in evaluator.metrics:
            found.segments(name)
    metrics = time.process_time() - start
    return {
        "segments": segments,
        "parse_seconds": parse,
        "metrics_seconds": metrics,
        "share_percent": 100 * metrics / parse,
    }


def high_water(process: int | str = "self") -> int:
    """Largest memory of a running process so far, KiB (rusage would count the parent's)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def different(name: str, count: int, seed: int) -> Iterator[str]:
    """The sentences of an example, a word with a number in each: hardly two are the same."""
    rng = random.Random(seed)
    for line in sentences(name, count, seed):
        words = line.split()
        words[rng.randrange(len(words))] += str(rng.randrange(count))
        yield " ".join(words)


def repeated(name: str, count: int, seed: int) -> Iterator[str]:
    """The lines of an example over and over."""
    return islice(cycle((EXAMPLES / name).read_text().splitlines()), count)


def parses(name: str, count: int, seed: int) -> Iterator[str]:
    """Two random trees of ten words each and a number under one node: all of them different."""
    import syntax

    rng = random.Random(seed)
    trees = syntax.sentences(2000, 10, seed)
    for number in range(count):
        yield f"(S {rng.choice(trees)} {rng.choice(trees)} (CD {number}))"


def stream(
    count: int,
    metrics: Sequence[str] = ("bleu", "nist", "bm"),
    made: Callable[[str, int, int], Iterator[str]] = different,
) -> dict[str, float]:
    """The command on `count` segments, 2 references: seconds, segments a second, peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("ref1.txt", "ref2.txt", "sysA.txt")
        for seed, name in enumerate(names):
            with open(Path(folder) / name, "w") as file:
                file.writelines(line + "\n" for line in made(name, count, seed))
        paths = [str(Path(folder) / name) for name in names]
        command = [sys.executable, "-m", "tensormt.command.main", "score", *paths[:2]]
        command += ["-i", paths[2], "-m", *metrics, "-f", "json"]
        command += ["--segments", str(Path(folder) / "out.jsonl")]
        command += ["--trees"] if made is parses else []
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert process.stdout is not None
        peak = 0
        while not peak or process.stdout not in select.select([process.stdout], [], [], 0.05)[0]:
            peak = max(peak, high_water(process.pid))
        report = json.loads(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        assert status == 0
        assert report["segments"] == count
        with open(Path(folder) / "out.jsonl", "rb") as file:
            assert sum(1 for _ in file) == count
    return {
        "segments": count,
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "segments_per_second": count / seconds,
        "segments_per_cpu_second": count / (used.ru_utime + used.ru_stime),
        "peak_mib": peak / 1024,
    }


def main() -> None:
    """Time and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--million", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    found = cost(args.segments)
    print(
        f"{args.segments:,} segments, 2 references: parsing {found['parse_seconds']:.0f} s, "
        f"ten metrics {found['metrics_seconds']:.2f} s: {found['share_percent']:.2f}% of the parse"
    )
    kinds = (["bleu", "nist", "bm"], ["bleu", "bm"])
    streams = []
    for count, metrics in product((args.million // 10, args.million), kinds):
        row = stream(count, metrics)
        streams.append(row)
        print(
            f"{row['segments']:,} segments, {' '.join(metrics)}: {row['seconds']:.0f} s "
            f"({row['cpu_seconds']:.0f} s of CPU), {row['segments_per_second']:,.0f} segments/s, "
            f"peak {row['peak_mib']:.0f} MiB"
        )
    if args.json:
        args.json.write_text(json.dumps({"cost": found, "streams": streams}, indent=1) + "\n")


if __name__ == "__main__":
    main()
