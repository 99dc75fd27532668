"""The driver: cuts files into shards, gives them to workers, and sums up what they found.

    files → shards → (count n-grams, where a metric waits for them) → a file of scores a shard
          → summed statistics → corpus scores, summary.json

All that is known of a run lies in its folder. A shard whose file is there is done, so the same
command goes on after a kill, several drivers may share a folder, and parts of the shards may be
done elsewhere. Statistics are summed in words (tensormt.kernels.fixed_point): the corpus score is
that of `tensormt score` on the same rows, to the last bit, whatever the cuts, engines and workers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensormt.data.fsspec_io import filesystem
from tensormt.data.shard_reader import Columns, digest
from tensormt.data.shard_writer import SUFFIXES, read_footer, sweep, write_json
from tensormt.data.shards import Shard, cut, find
from tensormt.errors import TensorMTError
from tensormt.scale.counting import tables
from tensormt.scale.documents import (
    finished,
    folder_of_sums,
    forget,
    recall,
    table_name,
    write_table,
)
from tensormt.scale.job import Job
from tensormt.scale.process_engine import Local
from tensormt.scale.ray_engine import Cluster
from tensormt.scale.worker import Task
from tensormt.statistics import Totals

SHARD_BYTES = 16 << 20
ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Summary:
    """What a run found: scores and signatures by metric, counts of rows, the files of scores."""

    corpus: dict[str, float]
    signatures: dict[str, str]
    segments: int
    skipped: int
    references: int
    outputs: list[str]
    cpu_seconds: float  # of the workers, counting and starting apart
    missing: int = 0  # shards that are not done, where only a part of them was asked for
    errors: list[str] = field(default_factory=list)  # about the first rows that were skipped
    documents: dict[str, dict[str, float]] = field(default_factory=dict)  # where asked for


def plan(paths: Sequence[str | os.PathLike[str]], out: str, size: int = SHARD_BYTES) -> list[Shard]:
    """The shards of a run; what lies in its own output is no input."""
    _, own = filesystem(out)
    files = find([paths] if isinstance(paths, str | os.PathLike) else paths)
    files = [path for path in files if not filesystem(path)[1].startswith(own.rstrip("/") + "/")]
    if not files:
        raise TensorMTError("no file to score: the paths name nothing but the output folder")
    return cut(files, size)


def score_files(
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    metrics: Sequence[str] = ("bleu",),
    *,
    engine: str = "local",
    workers: int | None = None,
    gpus_per_worker: float = 0,
    hyp: str = "hypothesis",
    refs: Sequence[str] = (),
    doc: str | None = None,
    id: str | None = None,
    documents: bool = False,
    format: str = "parquet",
    part: tuple[int, int] = (1, 1),
    shard_bytes: int = SHARD_BYTES,
    frequencies: Sequence[str] = (),
    on_error: str = "stop",
    overwrite: bool = False,
    ray_address: str | None = None,
    progress: Callable[[int, str | None], object] = lambda rows, note: None,
    log: Callable[[str], object] = lambda line: None,
    **options: Any,
) -> Summary:
    """Score the rows of files (Parquet, JSONL, TSV; folders, patterns, fsspec's addresses).

    Every shard gets a file of segment scores in the folder `out`. `refs`: columns, or one column of
    lists; `documents`: one more file, with the scores of what the column `doc` names; `part`:
    (i, n) does every n-th shard from the i-th on; `frequencies`: saved tables of n-gram counts;
    `on_error`: "stop", or "skip" for nulls where a row is bad. More `options`: parser, trusted,
    lang, cache, trees, device, chunk (see `tensormt.scale.job.Job`).
    """
    if engine not in ENGINES or on_error not in ("stop", "skip"):
        raise TensorMTError(
            f"engine {engine!r}, on_error {on_error!r}: engines are {' and '.join(ENGINES)}, and a "
            "bad row may stop or skip"
        )
    if workers is not None and workers < 1:
        raise TensorMTError(f"{workers} workers: expected at least 1")
    if not 1 <= part[0] <= part[1]:
        raise TensorMTError(f"part {part[0]}/{part[1]}: expected 1/n up to n/n")
    names = (metrics,) if isinstance(metrics, str) else tuple(dict.fromkeys(metrics))
    columns = Columns(hyp, (refs,) if isinstance(refs, str) else tuple(refs), doc, id)
    folder = os.fspath(out).rstrip("/")
    skip = on_error == "skip"
    job = Job(folder, names, columns, format, skip=skip, documents=documents, **options)
    job.evaluator()  # names, options and parser are checked before anything is written
    shards = plan(paths, folder, shard_bytes)
    _prepare(job, shards, overwrite)
    mine = shards[part[0] - 1 :: part[1]]
    kind = {"local": Local, "ray": Cluster}[engine]
    more = {"address": ray_address} if engine == "ray" else {}
    with kind(workers, gpus_per_worker, **more) as workshop:

        def work(job: Job, tasks: list[Task]) -> dict[int, Task]:
            return _work(workshop, job, tasks, progress, log)

        job = replace(job, tables=tables(job, shards, mine, list(frequencies), work))
        fingerprint = job.fingerprint()
        done = _done(job, shards, fingerprint)
        for footer in done.values():
            progress(footer["rows"], None)
        tasks = [
            {"do": "score", "shard": shard, "fingerprint": fingerprint}
            for shard in mine
            if shard.number not in done
        ]
        done |= work(job, tasks)
    if part != (1, 1):
        done |= _done(job, shards, fingerprint)  # what others did in the meantime
    return _summary(job, shards, done)


def _prepare(job: Job, shards: Sequence[Shard], overwrite: bool) -> None:
    """Make the folder, and see that it holds nothing that is not of this plan."""
    system, folder = filesystem(job.out)
    wanted = {job.output(shard).rpartition("/")[2] for shard in shards} | {table_name(job.form)}
    try:
        system.makedirs(folder, exist_ok=True)
        if job.documents:
            system.makedirs(folder_of_sums(folder), exist_ok=True)
        for path in system.ls(folder, detail=False):
            name = path.rpartition("/")[2]
            if name.startswith(".") or not name.endswith(tuple(SUFFIXES.values())):
                continue
            read_footer(f"{job.out}/{name}")  # raises where it is not ours to remove
            if overwrite:
                system.rm(path)
            elif name not in wanted:
                raise TensorMTError(
                    f"{path} is not of this plan (other input, other size of shards?): name "
                    "another folder, or overwrite it",
                    options="overwrite",
                )
        if overwrite:
            forget(job)
    except OSError as error:
        raise TensorMTError(f"{job.out} cannot be used: {error.strerror or error}") from None


def _done(job: Job, shards: Sequence[Shard], fingerprint: str) -> dict[int, Task]:
    """The footers of finished shards by number; raises where one is of another run."""
    done: dict[int, Task] = {}
    for shard in shards:
        path = job.output(shard)
        footer = finished(job, shard, fingerprint)
        if footer is None:
            continue
        if footer["fingerprint"] != fingerprint:
            raise TensorMTError(
                f"{path} holds scores of other metrics, columns or options: name another folder, "
                "or overwrite it",
                options="overwrite",
            )
        known, start, stop, mark, read = footer["input"]
        same = (start, stop, footer.get("skip")) == (shard.start, shard.stop, shard.skip)
        same = same and shard.rows in (None, footer["rows"])
        untouched = (known, mark) == (shard.path, shard.mark)
        if not same or not (untouched or digest(shard, job.columns) == read):
            raise TensorMTError(
                f"{path} holds scores of another input than {shard.path} is now: name another "
                "folder, or overwrite it",
                options="overwrite",
            )
        done[shard.number] = footer
    return done


def _work(
    workshop: Local | Cluster,
    job: Job,
    tasks: list[Task],
    progress: Callable[[int, str | None], object],
    log: Callable[[str], object],
) -> dict[int, Task]:
    """Do tasks; the answers by number of the shard."""
    answers: dict[int, Task] = {}
    if not tasks:
        return answers
    began, rows = time.monotonic(), 0
    for number, said in workshop.run(job, tasks):
        if "done" not in said:
            rows += said["rows"]
            if tasks[number]["do"] == "score":
                progress(said["rows"], None)
            continue
        answer, shard = said["done"], Shard(*tasks[number]["shard"])
        if "error" in answer:
            raise TensorMTError(answer["error"])
        answers[shard.number] = answer
        speed = rows / max(time.monotonic() - began, 1e-9)
        note = f"{len(answers)} of {len(tasks)} shards"
        progress(0, note)
        verb = {"score": "scored", "count": "counted"}[tasks[number]["do"]]
        skipped = f", {answer['skipped']} skipped" if answer.get("skipped") else ""
        log(f"{verb} {shard.name}: {answer['rows']:,} rows{skipped}; {note}, {speed:,.0f} rows/s")
    return answers


def _summary(job: Job, shards: Sequence[Shard], done: dict[int, Task]) -> Summary:
    """Sum up the footers; all of them: `summary.json` is written."""
    footers = [done[number] for number in sorted(done)]
    totals = Totals()
    for shard in shards:
        if shard.number in done:
            statistics = {"": done[shard.number]["statistics"]}
            totals.merge(Totals.from_json({"corpus": statistics}))
            if job.documents:
                totals.merge(recall(job, shard))
    evaluator = replace(job, tables={}).evaluator()
    references = max((footer["references"] for footer in footers), default=0)
    summary = Summary(
        totals.corpus_scores(evaluator.metrics, ""),
        evaluator.signatures(references),
        sum(footer["rows"] - footer["skipped"] for footer in footers),
        sum(footer["skipped"] for footer in footers),
        references,
        [job.output(shard) for shard in shards if shard.number in done],
        sum(footer["cpu_seconds"] for footer in footers),
        len(shards) - len(done),
        [message for footer in footers for message in footer["errors"]][:5],
        totals.document_scores(evaluator.metrics, ""),
    )
    if not summary.missing:
        if job.documents:
            write_table(job, summary.documents, summary.signatures)
            sweep(folder_of_sums(job.out))
        write_json(f"{job.out}/summary.json", _facts(job, summary, shards, done))
        sweep(job.out)
    return summary


def _facts(
    job: Job, summary: Summary, shards: Sequence[Shard], done: dict[int, Task]
) -> dict[str, Any]:
    documents = {"output": table_name(job.form), "count": len(summary.documents)}
    return {
        "metrics": {
            name: {"score": score, "signature": summary.signatures[name]}
            for name, score in summary.corpus.items()
        },
        "segments": summary.segments,
        "skipped": summary.skipped,
        **({"documents": documents} if job.documents else {}),
        "cpu_seconds": summary.cpu_seconds,
        "errors": summary.errors,
        "shards": [
            {
                "output": path.rpartition("/")[2],
                "input": shard.path,
                "start": shard.start,
                "stop": shard.stop,
                **({} if shard.skip is None else {"skip": shard.skip}),
                "rows": done[shard.number]["rows"],
                "skipped": done[shard.number]["skipped"],
                "hash": done[shard.number]["input"][4],
            }
            for path, shard in zip(summary.outputs, shards, strict=True)
        ],
    }
