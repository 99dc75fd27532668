"""The driver: splits files into shards, distributes them to workers and sums up the statistics.

    files → shards → (n-gram counts, if a metric needs them) → one file of scores per shard
          → summed statistics → corpus scores, summary.json

The output folder contains the whole state of a run. A shard whose file exists is done, so the same
call continues an interrupted run, several drivers can share a folder, and parts of the shards can
be scored on other machines. Statistics are summed in fixed point (`tensormt.kernels.fixed_point`):
corpus scores are bit-identical to those of `tensormt score` on the same rows, for all shard sizes,
engines and numbers of workers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensormt.data.fsspec_io import filesystem
from tensormt.data.row_columns import Columns
from tensormt.data.shard_reader import check_columns, content_digest
from tensormt.data.shard_writer import SUFFIXES, read_footer, remove_temporary_files, write_json
from tensormt.data.shards import Shard, cut_files, find_files
from tensormt.errors import TensorMTError
from tensormt.result import lower_is_better
from tensormt.scale.counting import count_tables
from tensormt.scale.documents import (
    finished_footer,
    read_sums,
    remove_sums,
    scores_name,
    sums_folder,
    write_scores_table,
)
from tensormt.scale.job import Job
from tensormt.scale.process_engine import ProcessEngine
from tensormt.scale.ray_engine import RayEngine
from tensormt.scale.worker import Task
from tensormt.statistics import Totals
from tensormt.text_warnings import TextWarnings

SHARD_BYTES = 16 << 20
ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Summary:
    """The results of `score_files`.

    Attributes:
        corpus: Corpus scores by metric.
        signatures: Signatures by metric.
        segments: Number of segments scored.
        skipped: Number of invalid rows that were skipped.
        references: Largest number of references of a segment.
        outputs: Files of segment scores.
        cpu_seconds: CPU time of scoring, without start-up and n-gram counts.
        missing: Number of shards that are not done, if only a part was requested.
        errors: Messages about the first skipped rows.
        documents: Document scores by document and metric, if requested.

    >>> Summary({"bleu": 31.5}, {}, 100, 0, 1, ["scores/00000-a.parquet"], 0.5).corpus["bleu"]
    31.5
    """

    corpus: dict[str, float]
    signatures: dict[str, str]
    segments: int
    skipped: int
    references: int
    outputs: list[str]
    cpu_seconds: float
    missing: int = 0
    errors: list[str] = field(default_factory=list)
    documents: dict[str, dict[str, float]] = field(default_factory=dict)


def plan(paths: Sequence[str | os.PathLike[str]], out: str, size: int = SHARD_BYTES) -> list[Shard]:
    """Return the shards of a run; files in its output folder are not inputs.

    Args:
        paths: Files, patterns or folders.
        out: Output folder.
        size: Size of shards in bytes, approximately.

    Raises:
        TensorMTError: If there is no file.
    """
    _, own = filesystem(out)
    files = find_files([paths] if isinstance(paths, str | os.PathLike) else paths)
    files = [path for path in files if not filesystem(path)[1].startswith(own.rstrip("/") + "/")]
    if not files:
        raise TensorMTError("no file to score: all paths are in the output folder")
    return cut_files(files, size)


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
    src: str | None = None,
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
    """Score the rows of Parquet, JSONL, TSV and CSV files on several workers.

    Every shard gets a file of segment scores in the folder `out`; `summary.json` has the corpus
    scores. The same call continues an interrupted run.

    Args:
        paths: Files, patterns or folders; fsspec URLs of the protocols of
            `tensormt.data.fsspec_io` are allowed.
        out: Output folder.
        metrics: Names of metrics, with options as in `stm:max_depth=3`.
        engine: "local" (processes) or "ray" (actors).
        workers: Number of workers; None: one per CPU.
        gpus_per_worker: GPUs of a worker; a fraction lets workers share one.
        hyp: Column of hypotheses.
        refs: Columns of references, or one column of lists; empty: `references`, or else
            reference, reference1, …
        doc: Column of document ids, copied to the output.
        id: Column of segment ids, copied to the output.
        src: Column of source texts, for metrics that read them (`copied`).
        documents: Whether document scores are computed.
        format: Format of the score files, "parquet" or "jsonl".
        part: (i, n): score every n-th shard, starting with the i-th (from 1).
        shard_bytes: Size of shards in bytes, approximately.
        frequencies: Saved tables of n-gram counts.
        on_error: "stop", or "skip" for null scores of invalid rows.
        overwrite: Whether outputs of other runs in the folder are removed.
        ray_address: Address of a Ray cluster; None: that of `ray.init`.
        progress: Called with a number of new rows and a note.
        log: Called with one line per finished shard.
        options: Further options of `tensormt.scale.job.Job`: parser, trusted, lang, cache, trees,
            device, chunk, protocols.

    Returns:
        Corpus scores, signatures and numbers of rows.

    Raises:
        TensorMTError: If an argument, a row or the contents of the folder are invalid.

    >>> import json, pathlib
    >>> row = {"hypothesis": "the cat sat down", "references": ["the cat sat down"]}
    >>> _ = pathlib.Path("rows.jsonl").write_text(json.dumps(row) + chr(10))
    >>> score_files(["rows.jsonl"], "scores", ["bleu"], workers=1).corpus["bleu"]
    100.0
    """
    if engine not in ENGINES or on_error not in ("stop", "skip"):
        raise TensorMTError(
            f"engine {engine!r}, on_error {on_error!r}: expected an engine of {', '.join(ENGINES)} "
            "and on_error of stop, skip"
        )
    if workers is not None and workers < 1:
        raise TensorMTError(f"{workers} workers: expected at least 1")
    if not 1 <= part[0] <= part[1]:
        raise TensorMTError(f"part {part[0]}/{part[1]}: expected 1/n up to n/n")
    names = (metrics,) if isinstance(metrics, str) else tuple(dict.fromkeys(metrics))
    columns = Columns(hyp, (refs,) if isinstance(refs, str) else tuple(refs), doc, id, src)
    folder = os.fspath(out).rstrip("/")
    skip = on_error == "skip"
    job = Job(folder, names, columns, format, skip=skip, documents=documents, **options)
    job.evaluator()  # check names, options and parser before anything is written
    shards = plan(paths, folder, shard_bytes)
    for shard in shards:
        if not shard.start:
            check_columns(shard, job.columns)
    _prepare(job, shards, overwrite)
    mine = shards[part[0] - 1 :: part[1]]
    kind = {"local": ProcessEngine, "ray": RayEngine}[engine]
    more = {"address": ray_address} if engine == "ray" else {}
    with kind(workers, gpus_per_worker, **more) as pool:

        def work(job: Job, tasks: list[Task]) -> dict[int, Task]:
            return _work(pool, job, tasks, progress, log)

        job = replace(job, tables=count_tables(job, shards, mine, list(frequencies), work))
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
        done |= _done(job, shards, fingerprint)  # shards that other drivers finished meanwhile
    return _summary(job, shards, done)


def _prepare(job: Job, shards: Sequence[Shard], overwrite: bool) -> None:
    """Create the folder, and raise if it contains outputs of other shards."""
    system, folder = filesystem(job.out)
    wanted = {job.output(shard).rpartition("/")[2] for shard in shards} | {scores_name(job.form)}
    try:
        system.makedirs(folder, exist_ok=True)
        if job.documents:
            system.makedirs(sums_folder(folder), exist_ok=True)
        for path in system.ls(folder, detail=False):
            name = path.rpartition("/")[2]
            if name.startswith(".") or not name.endswith(tuple(SUFFIXES.values())):
                continue
            read_footer(f"{job.out}/{name}")  # raises if this package did not write it
            if overwrite:
                system.rm(path)
            elif name not in wanted:
                raise TensorMTError(
                    f"{path} belongs to another run (other input or size of shards?): choose "
                    "another folder, or overwrite it",
                    options="overwrite",
                )
        if overwrite:
            remove_sums(job)
    except OSError as error:
        raise TensorMTError(f"{job.out} cannot be used: {error.strerror or error}") from None


def _done(job: Job, shards: Sequence[Shard], fingerprint: str) -> dict[int, Task]:
    """The footers of finished shards by number; raises if one belongs to another run."""
    done: dict[int, Task] = {}
    for shard in shards:
        path = job.output(shard)
        footer = finished_footer(job, shard, fingerprint)
        if footer is None:
            continue
        if footer["fingerprint"] != fingerprint:
            raise TensorMTError(
                f"{path} has scores of other metrics, columns or options: choose another folder, "
                "or overwrite it",
                options="overwrite",
            )
        known, start, stop, mark, read = footer["input"]
        same = (start, stop, footer.get("skip")) == (shard.start, shard.stop, shard.skip)
        same = same and shard.rows in (None, footer["rows"])
        untouched = (known, mark) == (shard.path, shard.mark)
        if not same or not (untouched or content_digest(shard, job.columns) == read):
            raise TensorMTError(
                f"{path} has scores of another version of {shard.path}: choose another folder, "
                "or overwrite it",
                options="overwrite",
            )
        done[shard.number] = footer
    return done


def _work(
    engine: ProcessEngine | RayEngine,
    job: Job,
    tasks: list[Task],
    progress: Callable[[int, str | None], object],
    log: Callable[[str], object],
) -> dict[int, Task]:
    """Let workers do tasks; returns their answers by number of the shard."""
    answers: dict[int, Task] = {}
    if not tasks:
        return answers
    began, rows = time.monotonic(), 0
    for number, message in engine.run(job, tasks):
        if "done" not in message:
            rows += message["rows"]
            if tasks[number]["do"] == "score":
                progress(message["rows"], None)
            continue
        answer, shard = message["done"], Shard(*tasks[number]["shard"])
        if "error" in answer:
            raise TensorMTError(answer["error"], options=answer.get("options", ""))
        answers[shard.number] = answer
        speed = rows / max(time.monotonic() - began, 1e-9)
        note = f"{len(answers)} of {len(tasks)} shards"
        progress(0, note)
        verb = {"score": "scored", "count": "counted"}[tasks[number]["do"]]
        skipped = f", {answer['skipped']} skipped" if answer.get("skipped") else ""
        log(f"{verb} {shard.name}: {answer['rows']:,} rows{skipped}; {note}, {speed:,.0f} rows/s")
    return answers


def _summary(job: Job, shards: Sequence[Shard], done: dict[int, Task]) -> Summary:
    """Sum up the footers; if all shards are done, write `summary.json`."""
    footers = [done[number] for number in sorted(done)]
    totals = Totals()
    for shard in shards:
        if shard.number in done:
            statistics = {"": done[shard.number]["statistics"]}
            totals.merge(Totals.from_json({"corpus": statistics}))
            if job.documents:
                totals.merge(read_sums(job, shard))
    evaluator = replace(job, tables={}).evaluator()
    seen = TextWarnings(evaluator.metrics)
    for footer in footers:
        seen.counts.update(footer.get("warnings", {}))
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
    lower = lower_is_better(evaluator.metrics)
    if not summary.missing:
        if job.documents:
            write_scores_table(job, summary.documents, summary.signatures)
            remove_temporary_files(sums_folder(job.out))
        write_json(f"{job.out}/summary.json", _facts(job, summary, shards, done, lower))
        remove_temporary_files(job.out)
    seen.warn()
    return summary


def _facts(
    job: Job, summary: Summary, shards: Sequence[Shard], done: dict[int, Task], lower: list[str]
) -> dict[str, Any]:
    documents = {"output": scores_name(job.form), "count": len(summary.documents)}
    return {
        "metrics": {
            name: {"score": score, "signature": summary.signatures[name]}
            for name, score in summary.corpus.items()
        },
        **({"lower_is_better": lower} if lower else {}),
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
