"""`tensormt score`: score systems against references."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables
from tensormt.data.names import shown_name
from tensormt.data.segment_writer import SegmentWriter
from tensormt.errors import TensorMTError
from tensormt.result import column_title, direction_note, format_score, lower_is_better

if TYPE_CHECKING:
    from tensormt.statistics import Statistics, Totals

DESCRIPTION = "Score systems against references with any of the metrics."
EXAMPLES = """
examples:
  tensormt score ref.txt -i hyp.txt                              # BLEU, chrF, blend
  tensormt score ref1.txt ref2.txt -i a.txt b.txt -m bleu nist bm bma nm
  tensormt score ref.txt -i hyp.txt -m stm:max_depth=3,balance=f1 tkm:decay=0.5
  tensormt score ref.txt -i a.txt b.txt --confidence             # 95% intervals of corpus scores
  tensormt score ref.txt -i hyp.txt --segments out.jsonl         # continue a stopped run: --resume
  tensormt score -i rows.jsonl -m bleu -f json                   # rows with hypothesis, references
  tensormt score -i rows.csv -m bleu --hyp mt --refs ref_a ref_b # rows with other columns
  tensormt score ref.ptb -i hyp.ptb --trees -m stm tkm dstm dtkm # files that contain trees
  zcat hyp.gz | tensormt score ref.txt -i - -m bleu

Text files have one segment per line; an empty reference line is a missing reference. Rows (.jsonl;
.tsv, .csv with a header) have the columns hypothesis, references (a list, or reference1,
reference2, …) and optionally doc; --hyp, --refs, --doc name others. mteval SGML and WMT XML files
contain systems, references and documents.
BLEU and chrF range from 0 to 100, every other metric has the scale of its paper.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    arguments.add_inputs(parser)
    arguments.add_format(parser)
    parser.add_argument(
        "--segments", metavar="OUT", help="write segment scores to a .jsonl, .tsv or .parquet file"
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue a stopped run that wrote --segments OUT"
    )
    parser.add_argument("--documents", action="store_true", help="also print document scores")
    parser.add_argument(
        "--confidence",
        action="store_true",
        help="95%% bootstrap intervals of the corpus scores, with the resamples of compare; the "
        "statistics of all segments are kept in memory",
    )
    parser.add_argument(
        "--signatures", action="store_true", help="print signatures in full: all settings"
    )


def run(args: argparse.Namespace) -> int:
    """Score the systems and print a table or a JSON object."""
    from tensormt.statistics import Totals

    if args.resume and not args.segments:
        raise TensorMTError("--resume needs --segments OUT: name the file to continue")
    if args.resume and args.confidence:
        raise TensorMTError(
            "--confidence needs the statistics of all segments, which a run with --resume has not "
            "kept: leave one of them out"
        )
    job = arguments.load(args)
    corpus = job.corpus
    if args.documents and not corpus.has_documents:
        raise TensorMTError(
            "--documents needs document ids: use --docs FILE, rows with doc, or XML"
        )
    writer = None
    if args.segments:
        inputs = arguments.input_files(args)
        metrics = list(job.evaluator.metrics)
        mark, ids = _fingerprint(args, job), bool(args.id)
        writer = SegmentWriter(args.segments, mark, metrics, args.resume, inputs, ids)
    totals = Totals.from_json(writer.kept if writer and writer.kept else {})
    start, parts = writer.done if writer else 0, []
    with Progress(len(corpus), "score", quiet=args.quiet) as bar:
        bar(start)
        job.parsing.show_on(bar)
        evaluator = job.evaluator.fit(corpus, job.size)
        for segments, found in evaluator.run(corpus, job.size, start):
            documents = segments.documents and [shown_name(name) for name in segments.documents]
            found = replace(found, systems=list(job.names.values()), documents=documents)
            totals.add(found, documents=args.documents)
            if args.confidence:
                parts.append(found)
            if writer:
                scores = {name: found.segments(name) for name in evaluator.metrics}
                by_system = {
                    system: {name: table[k] for name, table in scores.items()}
                    for k, system in enumerate(found.systems)
                }
                state = totals.to_json()
                writer.add(segments.number(0), documents, by_system, state, segments.ids)
            bar(len(segments))
    if writer:
        writer.finish()
    print(_report(args, job, totals, _confidence(parts)))
    return 0


# 95% intervals of corpus scores by system and metric
Confidence = dict[str, dict[str, tuple[float, float]]]


def _confidence(parts: list[Statistics]) -> Confidence:
    """Compute bootstrap intervals from the statistics of all segments; none of no segments."""
    from tensormt.resampling import intervals, warn_of_one_segment
    from tensormt.statistics import Statistics

    if not parts:
        return {}
    whole = Statistics.concat(parts)
    warn_of_one_segment(len(whole))
    found = intervals(whole)
    return {
        system: {metric: ends[k] for metric, ends in found.items()}
        for k, system in enumerate(parts[0].systems)
    }


def _fingerprint(args: argparse.Namespace, job: arguments.CommandInputs) -> str:
    """A hash of everything that the segment file depends on."""
    facts = [job.corpus.digest, job.size, list(job.names.values()), args.trees]
    facts += [list(job.evaluator.metrics), "words" if args.documents else False]
    facts += [arguments.columns(args)]
    facts += job.evaluator.signatures(job.corpus.reference_count).values()
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _report(
    args: argparse.Namespace, job: arguments.CommandInputs, totals: Totals, confidence: Confidence
) -> str:
    metrics = job.evaluator.metrics
    signatures = job.evaluator.signatures(job.corpus.reference_count)
    scores = {name: totals.corpus_scores(metrics, name) for name in job.names.values()}
    documents = {
        name: totals.document_scores(metrics, name)
        for name in (job.names.values() if args.documents else ())
    }
    if args.format == "json":
        found = {
            name: {
                spec: {
                    "score": score,
                    "signature": signatures[spec],
                    **({"confidence": confidence[name][spec]} if confidence else {}),
                }
                for spec, score in by_metric.items()
            }
            for name, by_metric in scores.items()
        }
        report: dict[str, Any] = {"systems": found, "segments": len(job.corpus)}
        if lower := lower_is_better(metrics):
            report["lower_is_better"] = lower
        if confidence:
            report |= dict(zip(("resamples", "seed"), _resampling(job), strict=True))
        if args.documents:
            report["documents"] = documents
        return tables.json_text(report)
    titles = arguments.table_names(scores) if args.format in ("text", "latex") else {}
    apart = args.format == "tsv" and bool(confidence)  # the ends of intervals in columns
    head = [
        [name, f"{name} low", f"{name} high"] if apart else [column_title(name, own, args.format)]
        for name, own in metrics.items()
    ]
    rows = [["system", *chain(*head)]]
    for name, by_metric in scores.items():
        entries = {titles.get(name, name): (by_metric, confidence.get(name, {}))}
        entries |= {f"  {doc}": (found, {}) for doc, found in documents.get(name, {}).items()}
        for title, (values, ends) in entries.items():
            cells = (_cells(values[m], ends.get(m), metrics[m].digits, apart) for m in metrics)
            rows.append([title, *chain(*cells)])
    table = tables.format_table(rows, args.format)
    if args.format != "text":
        return table
    if confidence:
        count, seed = _resampling(job)
        table += f"\n\n95% bootstrap intervals, {count:,} resamples, seed {seed}"
    note = direction_note(metrics)
    table += f"\n\n{note[0]}" if note else ""
    if not args.signatures:
        signatures = job.evaluator.signatures(job.corpus.reference_count, short=True)
    return "\n".join([table, "", *signatures.values()])


def _resampling(job: arguments.CommandInputs) -> tuple[int, int]:
    """The number of resamples and the seed."""
    from tensormt.resampling import SEED, resamples

    return resamples(len(job.names), len(job.corpus)), SEED


def _cells(score: float, ends: tuple[float, float] | None, digits: int, apart: bool) -> list[str]:
    """Format a score and its interval, in one cell or in three."""
    own, low, high = (
        "" if value is None else format_score(value, digits)
        for value in (score, *(ends or (None, None)))
    )
    return [own, low, high] if apart else [f"{own} [{low}, {high}]" if ends else own]
