"""`tensormt score-files`: score folders of shards; each shard gets a file of segment scores."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables
from tensormt.errors import TensorMTError

if TYPE_CHECKING:
    from tensormt.scale import Summary

DESCRIPTION = "Score the rows of many files, on local processes or on a Ray cluster."
EXAMPLES = """
examples:
  tensormt score-files data/ -o scores/ -m bleu bm               # all files of a folder
  tensormt score-files 'data/part-*.parquet' -o scores/ --hyp mt --refs ref_a ref_b --id key
  tensormt score-files data/ -o scores/ -m nist --workers 8      # n-grams are counted first
  tensormt score-files data/ -o scores/ --doc doc --documents    # document scores, too
  tensormt score-files data/ -o scores/ --dry-run                # estimate rows and time
  tensormt score-files s3://bucket/in -o s3://bucket/out --engine ray
  tensormt score-files data/ -o scores/ --shard $SLURM_ARRAY_TASK_ID/32   # an array job

Input: .parquet, and .jsonl, .tsv, .csv (with a header), also .gz. A stopped run continues with the
same command. Scores equal those of `tensormt score` for any number of workers; corpus scores are
printed and written to summary.json.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("inputs", nargs="+", metavar="IN", help="files, patterns or folders")
    parser.add_argument("-o", "--out", required=True, metavar="FOLDER", help="folder of the scores")
    arguments.add_metrics(parser, ["bleu"])
    arguments.add_columns(parser).add_argument(
        "--documents", action="store_true", help="write document scores to _documents.parquet"
    )
    work = parser.add_argument_group("workers")
    work.add_argument("--engine", default="local", choices=["local", "ray"])
    work.add_argument("--workers", type=int, metavar="N", help="default: one per CPU")
    work.add_argument("--gpus-per-worker", type=float, default=0, metavar="X")
    work.add_argument("--ray-address", metavar="ADDRESS", help="default: that of ray.init")
    work.add_argument(
        "--shard", default="1/1", metavar="I/N", help="score every N-th shard, starting with I"
    )
    work.add_argument(
        "--shard-size", type=float, default=16, metavar="MB", help="size of shards (default 16)"
    )
    work.add_argument("--chunk", type=int, metavar="N", help="segments per batch")
    parser.add_argument(
        "--to", default="parquet", choices=["parquet", "jsonl"], help="format of the score files"
    )
    arguments.add_format(parser)
    parser.add_argument(
        "--frequencies", nargs="+", default=[], metavar="FILE", help="saved n-gram counts"
    )
    parser.add_argument(
        "--protocols",
        nargs="+",
        default=[],
        metavar="NAME",
        help="further protocols of fsspec to open, such as https (default: local, s3, gs, az, "
        "abfs, hdfs, memory)",
    )
    parser.add_argument("--trees", action="store_true", help="texts are bracketed trees")
    parser.add_argument(
        "--on-error", default="stop", choices=["stop", "skip"], help="what an invalid row causes"
    )
    parser.add_argument("--overwrite", action="store_true", help="remove older outputs")
    parser.add_argument("--dry-run", action="store_true", help="estimate from a sample only")
    arguments.add_parsing(parser)


def run(args: argparse.Namespace) -> int:
    """Score the files and print a table or a JSON object."""
    from tensormt.data.fsspec_io import allow_protocols
    from tensormt.scale.driver import plan, score_files
    from tensormt.scale.estimate import estimate_rows
    from tensormt.scale.job import Job

    part, settings, columns = _part(args.shard), _settings(args), arguments.columns(args)
    allow_protocols(args.protocols)
    size = max(1, round(args.shard_size * 2**20))
    shards = plan(args.inputs, args.out, size)
    if args.dry_run:
        print(_dry_run(args, shards, settings))
        return 0
    job = Job(args.out, (), columns)
    total = estimate_rows(job, shards[part[0] - 1 :: part[1]])[0]
    with Progress(total, "score", "rows", quiet=args.quiet) as bar:
        summary = score_files(
            args.inputs,
            args.out,
            args.metrics,
            engine=args.engine,
            workers=args.workers,
            gpus_per_worker=args.gpus_per_worker,
            hyp=columns.hyp,
            refs=columns.refs,
            doc=columns.doc,
            id=columns.id,
            src=columns.src,
            documents=args.documents,
            format=args.to,
            part=part,
            shard_bytes=size,
            frequencies=args.frequencies,
            on_error=args.on_error,
            overwrite=args.overwrite,
            ray_address=args.ray_address,
            progress=bar,
            log=_log if args.quiet else lambda line: None,
            **settings,
        )
    for message in summary.errors:
        _log(f"skipped {message}")
    if summary.skipped:
        _log(f"{summary.skipped:,} rows were skipped, their scores are null")
    if summary.missing:
        _log(
            f"{summary.missing} of {summary.missing + len(summary.outputs)} shards are not done: "
            "when all parts are, run the same command without --shard for the corpus scores"
        )
        return 0
    if args.documents:
        from tensormt.scale.documents import scores_name

        path = f"{args.out.rstrip('/')}/{scores_name(args.to)}"
        _log(f"scores of {len(summary.documents):,} documents are in {path}")
    print(_report(args, summary))
    return 0


def _log(line: str) -> None:
    print(f"tensormt: {line}", file=sys.stderr)


def _part(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise TensorMTError(f"--shard {text}: expected I/N, such as 1/8 up to 8/8")
    return int(number), int(count)


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a job that concern parsing and devices."""
    cache = args.cache or arguments.default_cache()
    # workers may have a GPU (each sees its own) although the machine of the driver has none
    device = "cuda" if args.gpus_per_worker else arguments.choose_device(args.device)
    return {
        "parser": args.parser,
        "trusted": args.trusted,
        "lang": args.lang,
        "cache": None if args.no_cache else cache,
        "trees": args.trees,
        "device": device,
        "chunk": args.chunk,
        "protocols": tuple(args.protocols),
    }


def _dry_run(args: argparse.Namespace, shards: list[Any], settings: dict[str, Any]) -> str:
    from tensormt.scale.estimate import estimate
    from tensormt.scale.job import Job
    from tensormt.scale.process_engine import available_cpus

    names, more = tuple(dict.fromkeys(args.metrics)), {"documents": args.documents}
    job = Job(args.out, names, arguments.columns(args), args.to, **settings, **more)
    found = estimate(job, shards)
    workers = args.workers or available_cpus()
    seconds = found.seconds(workers)
    time = f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"
    rows = [
        ["files", f"{found.files:,}"],
        ["shards", f"{found.shards:,}"],
        ["bytes", f"{found.bytes:,}"],
        ["rows", f"{'' if found.exact else 'about '}{found.rows:,}"],
        ["rows per second and worker", f"{found.speed:,.0f}"],
        [f"time with {workers} workers", f"about {time}"],
    ]
    if args.format == "json":
        return json.dumps({**vars(found), "workers": workers, "seconds": seconds}, indent=1)
    return tables.format_table([["", "plan"], *rows], args.format)


def _report(args: argparse.Namespace, summary: Summary) -> str:
    from tensormt.registry import make
    from tensormt.result import column_title, direction_note, format_score, lower_is_better

    metrics, scores = {name: make(name) for name in summary.corpus}, summary.corpus
    if args.format == "json":
        found = {
            name: {"score": score, "signature": summary.signatures[name]}
            for name, score in scores.items()
        }
        report = {"systems": {arguments.columns(args).hyp: found}, "segments": summary.segments}
        if lower := lower_is_better(metrics):
            report["lower_is_better"] = lower
        return json.dumps(report, indent=1, ensure_ascii=False)
    cells = [format_score(scores[name], metric.digits) for name, metric in metrics.items()]
    titles = [column_title(name, metric, args.format) for name, metric in metrics.items()]
    table = tables.format_table(
        [["system", *titles], [arguments.columns(args).hyp, *cells]], args.format
    )
    if args.format != "text":
        return table
    notes = [line for note in direction_note(metrics) for line in (note, "")]
    return "\n".join([table, "", *notes, *summary.signatures.values()])
