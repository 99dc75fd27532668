"""Many shards: rows a second of one and two workers, local and Ray, against a sacrebleu pool.

    python bench/scale.py [--rows N] [--metrics M…] [--engines local ray]
    python bench/scale.py --memory 5000000 [--workers N]
    python bench/scale.py --cost FOLDER [--rows N]
    python bench/scale.py --groups 200000

Rows of Zipf-like words (one reference, 20 words on average) go to JSONL files in a temporary
folder. Before anything is timed, segment and corpus scores of two workers are compared with
`tm.score`, and the corpus BLEU with sacrebleu's. `rows/s` is of the shards after the first of each
worker (all have as many rows), and what the run took beyond that is its start-up. `CPU µs/row` is
the processor time of the workers alone, which other work on the machine disturbs less. The peer is
the loop that people write: sacrebleu's statistics and sentence score of each segment and the summed
statistics, in a process pool with one task a file.

`--memory N` scores N rows (a block of 20,000 different ones, again and again) and prints the peak
resident set of the driver and of the largest worker.

`--cost FOLDER` takes real rows (`segments.jsonl` of a human-judged set: every system against the
first reference) and prints what a million of them cost on one core: n-grams, parsing, and metrics
on the parses (from bracketed rows). Processor time of one worker, reading and writing included.

`--groups N` writes N rows as one row group of a Parquet file, and prints what a worker's processor
time is when the group is cut into parts, each of which decodes the rows before it.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import pyarrow as pa
import pyarrow.parquet as pq
import torch

import tensormt as tm
from tensormt.data.parquet_splits import open_parquet, read_batches
from tensormt.scale import score_files

BLOCK = 20_000


def made(rows: int, seed: int = 1) -> list[dict[str, str]]:
    """Rows of Zipf-like words: a reference, and a noisy copy of it."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(20_000)]
    upto = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    found = []
    for _ in range(rows):
        size = max(3, int(rng.lognormvariate(2.9, 0.5)))
        text = rng.choices(words, cum_weights=upto, k=size)
        hyp = [word if rng.random() > 0.3 else rng.choice(words) for word in text]
        found.append({"hypothesis": " ".join(hyp) + ".", "reference": " ".join(text) + "."})
    return found


def written(folder: Path, rows: int, files: int) -> list[dict[str, str]]:
    """The rows in so many JSONL files; a block of different rows, repeated."""
    folder.mkdir()
    block = made(min(rows, BLOCK))
    lines = [json.dumps(row) + "\n" for row in block]
    for number in range(files):
        with (folder / f"part-{number:03d}.jsonl").open("w") as file:
            for k in range(rows * number // files, rows * (number + 1) // files):
                file.write(lines[k % len(lines)])
    return block


def peer_file(path: str) -> tuple[list[int], int, float]:
    """sacrebleu on one file: summed statistics, rows, processor time."""
    from sacrebleu.metrics import BLEU

    began = time.process_time()
    metric, total, count = BLEU(effective_order=True), [0] * 10, 0
    with open(path) as file, open(f"{path}.peer", "w") as out:
        for line in file:
            row = json.loads(line)
            stats = metric._extract_corpus_statistics([row["hypothesis"]], [[row["reference"]]])
            score = metric._compute_score_from_stats(stats[0])
            out.write(f'{{"bleu": {score.score!r}}}\n')
            total = [a + b for a, b in zip(total, stats[0], strict=True)]
            count += 1
    return total, count, time.process_time() - began


def peer(folder: Path, workers: int) -> dict[str, float]:
    """The sacrebleu loop in a process pool."""
    from sacrebleu.metrics import BLEU

    paths = sorted(map(str, folder.glob("*.jsonl")))
    context = multiprocessing.get_context("spawn")
    began = time.perf_counter()
    with context.Pool(workers) as pool:
        pool.map(time.sleep, [0.01] * workers, 1)
        started = time.perf_counter()
        parts = pool.map(peer_file, paths, 1)
    ended = time.perf_counter()
    total = [sum(column) for column in zip(*(part[0] for part in parts), strict=True)]
    rows = sum(part[1] for part in parts)
    return {
        "start-up": started - began,
        "seconds": ended - started,
        "cpu": sum(part[2] for part in parts),
        "rows": rows,
        "bleu": BLEU()._compute_score_from_stats(total).score,
    }


def ours(
    folder: Path, out: Path, metrics: Sequence[str], engine: str, workers: int
) -> dict[str, float]:
    """One run; what its shards took after the first of each worker, and the start-up before."""
    stamps: list[float] = []
    began = time.perf_counter()
    found = score_files(
        [folder],
        out,
        metrics,
        engine=engine,
        workers=workers,
        log=lambda line: stamps.append(time.perf_counter()),
    )
    shards = len(found.outputs)
    each = (stamps[-1] - stamps[-1 - (shards - workers)]) / (shards - workers)
    seconds = each * shards
    return {
        "start-up": max(0.0, time.perf_counter() - began - seconds),
        "seconds": seconds,
        "cpu": found.cpu_seconds,
        "rows": found.segments,
        **found.corpus,
    }


def check(home: Path) -> None:
    """Two workers give what `tm.score` gives, to the last bit."""
    block = written(home / "check", 3000, 3)
    metrics = ["bleu", "bm", "nist"]
    found = score_files([home / "check"], home / "checked", metrics, workers=2, shard_bytes=100_000)
    hyps, refs = [row["hypothesis"] for row in block], [row["reference"] for row in block]
    whole = tm.score(hyps, [refs], metrics)
    assert found.corpus == whole.corpus, (found.corpus, whole.corpus)
    for name in metrics:
        scores = [score.as_py() for path in found.outputs for score in pq.read_table(path)[name]]
        assert scores == whole.segments[name].tolist(), name


def memory(home: Path, rows: int, workers: int, metrics: Sequence[str]) -> dict[str, float]:
    """Peak resident sets of a long run, in MB."""
    written(home / "data", rows, 4)
    size = sum(path.stat().st_size for path in (home / "data").iterdir())
    began = time.perf_counter()
    found = score_files([home / "data"], home / "out", metrics, workers=workers)
    seconds = time.perf_counter() - began
    assert found.segments == rows
    peak = {
        who: resource.getrusage(kind).ru_maxrss / 1024
        for who, kind in (
            ("driver", resource.RUSAGE_SELF),
            ("worker", resource.RUSAGE_CHILDREN),
        )
    }
    return {
        "rows": rows,
        "input MB": size / 2**20,
        "shards": len(found.outputs),
        "seconds": seconds,
        "CPU µs/row": found.cpu_seconds / rows * 1e6,
        "driver MB": peak["driver"],
        "worker MB": peak["worker"],
        **found.corpus,
    }


def cost(home: Path, folder: Path, most: int) -> None:
    """Processor time of real rows, by what is done with them."""
    rows = []
    for line in (folder / "segments.jsonl").read_text(encoding="utf-8").splitlines():
        segment = json.loads(line)
        for output in segment["sys"].values():
            if segment["refs"][0].split() and output["hyp"].split():
                rows.append({"hypothesis": output["hyp"], "reference": segment["refs"][0]})
    random.Random(1).shuffle(rows)
    rows = rows[:most]
    texts = list(dict.fromkeys(text for row in rows for text in row.values()))
    parser = tm.Parser.load("default")
    parser.parse(texts[:20])
    began = time.process_time()
    trees = dict(zip(texts, parser.parse(texts).to_brackets(), strict=True))
    parsing = time.process_time() - began
    words = sum(len(row["hypothesis"].split()) for row in rows) / len(rows)
    print(f"{len(rows)} rows of {words:.1f} words, {len(texts)} different texts")
    print("processor time a row in µs, which is seconds a million rows:")
    print(f"{'parsing, a text':34} {parsing / len(texts) * 1e6:9,.0f}")
    (home / "text.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parsed = ({key: trees[text] for key, text in row.items()} for row in rows)
    (home / "trees.jsonl").write_text("".join(json.dumps(row) + "\n" for row in parsed))
    ngrams = [["bleu"], ["bleu", "nist", "bm", "bma", "nm"]]
    syntax = [["stm"], ["hwcm"], ["tkm"], ["stm", "hwcm", "tkm", "dstm", "dtkm"]]
    for number, metrics in enumerate([*ngrams, *syntax]):
        given = number >= len(ngrams)
        source = home / ("trees.jsonl" if given else "text.jsonl")
        best = min(
            score_files([source], home / f"{number}-{k}", metrics, workers=1, trees=given)
            .cpu_seconds
            for k in range(3)
        )  # fmt: skip
        name = " ".join(metrics) + (" on parses" if given else "")
        print(f"{name:34} {best / len(rows) * 1e6:9,.0f}")


def groups(home: Path, rows: int) -> None:
    """One row group in 1, 4 and 16 parts: the same scores, and what skipping rows costs."""
    block, path = made(min(rows, BLOCK)), home / "one.parquet"
    own = [block[k % len(block)] for k in range(rows)]
    columns = {
        "hypothesis": [f"{row['hypothesis']} {k}" for k, row in enumerate(own)],
        "references": [[f"{row['reference']} {k}"] for k, row in enumerate(own)],
    }
    pq.write_table(pa.table(columns), path, row_group_size=rows)
    group = pq.read_metadata(path).row_group(0)
    print(f"{rows:,} rows in one group: {group.total_byte_size / 2**20:.0f} MB, unpacked")
    score_files([path], home / "warm", ["bleu"], workers=1)
    began = time.process_time()
    with open_parquet(str(path)) as file:
        (last,) = read_batches(file, [0], list(columns), rows - 1, 1)
    assert last.num_rows == 1
    print(f"skipping: {(time.process_time() - began) / rows * 1e6:.2f} CPU µs a row")
    corpora = []
    for number in (1, 4, 16):
        size = group.total_byte_size // number
        found = score_files([path], home / f"parts-{number}", ["bleu"], workers=1, shard_bytes=size)
        corpora.append(found.corpus)
        micro = found.cpu_seconds / rows * 1e6
        print(f"{len(found.outputs):3} parts: {micro:.1f} CPU µs a row", flush=True)
    assert corpora[0] == corpora[1] == corpora[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--metrics", nargs="+", default=["bleu"])
    parser.add_argument("--engines", nargs="+", default=["local"])
    parser.add_argument("--memory", type=int, metavar="ROWS")
    parser.add_argument("--cost", type=Path, metavar="FOLDER")
    parser.add_argument("--groups", type=int, metavar="ROWS")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        if args.memory:
            found = memory(home, args.memory, args.workers, args.metrics)
            print(json.dumps(found, indent=1, ensure_ascii=False))
            return
        if args.cost:
            cost(home, args.cost, args.rows)
            return
        if args.groups:
            groups(home, args.groups)
            return
        check(home)
        written(home / "data", args.rows, args.files)
        print(
            f"{args.rows:,} rows, {' '.join(args.metrics)}; load average {os.getloadavg()[0]:.1f}"
        )
        print(f"{'':24} start-up s   seconds     rows/s  CPU µs/row", flush=True)
        found: dict[str, float] = {}
        for engine in args.engines:
            for workers in (1, 2):
                out = home / f"{engine}-{workers}"
                found = ours(home / "data", out, args.metrics, engine, workers)
                show(f"{engine}, {workers} worker{'s' * (workers > 1)}", found)
        if args.metrics == ["bleu"]:
            for workers in (1, 2):
                other = peer(home / "data", workers)
                assert abs(other["bleu"] - found["bleu"]) < 1e-9
                show(f"sacrebleu pool, {workers}", other)


def show(name: str, run: dict[str, float]) -> None:
    """A line of the table."""
    speed, micro = run["rows"] / run["seconds"], run["cpu"] / run["rows"] * 1e6
    times = f"{run['start-up']:10.1f} {run['seconds']:9.1f}"
    print(f"{name:24} {times} {speed:10,.0f} {micro:11.1f}", flush=True)


if __name__ == "__main__":
    main()
