"""`tensormt score`: score systems against references."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables
from tensormt.data.names import shown_name
from tensormt.data.segment_writer import SegmentWriter
from tensormt.errors import TensorMTError

if TYPE_CHECKING:
    from tensormt.metric import Metric
    from tensormt.statistics import Totals

DESCRIPTION = "Score systems against references with any of the metrics."
EXAMPLES = """
examples:
  tensormt score ref.txt -i hyp.txt                              # BLEU, STM, HWCM
  tensormt score ref1.txt ref2.txt -i a.txt b.txt -m bleu nist bm bma nm
  tensormt score ref.txt -i hyp.txt -m stm:max_depth=3,balance=f1 tkm:decay=0.5
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
    arguments.add_inputs(parser, ["bleu", "stm", "hwcm"])
    arguments.add_format(parser)
    parser.add_argument(
        "--segments", metavar="OUT", help="write segment scores to a .jsonl, .tsv or .parquet file"
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue a stopped run that wrote --segments OUT"
    )
    parser.add_argument("--documents", action="store_true", help="also print document scores")


def run(args: argparse.Namespace) -> int:
    """Score the systems and print a table or a JSON object."""
    from tensormt.statistics import Totals

    if args.resume and not args.segments:
        raise TensorMTError("--resume needs --segments OUT: name the file to continue")
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
    start = writer.done if writer else 0
    with Progress(len(corpus), "score", quiet=args.quiet) as bar:
        bar(start)
        job.parsing.show_on(bar)
        evaluator = job.evaluator.fit(corpus, job.size)
        for segments, found in evaluator.run(corpus, job.size, start):
            documents = segments.documents and [shown_name(name) for name in segments.documents]
            found = replace(found, systems=list(job.names.values()), documents=documents)
            totals.add(found, documents=args.documents)
            if writer:
                scores = {name: found.segments(name).numpy() for name in evaluator.metrics}
                by_system = {
                    system: {name: table[k] for name, table in scores.items()}
                    for k, system in enumerate(found.systems)
                }
                kept = totals.to_json()
                writer.add(segments.number(0), documents, by_system, kept, segments.ids)
            bar(len(segments))
    if writer:
        writer.finish()
    print(_report(args, job, totals))
    return 0


def _fingerprint(args: argparse.Namespace, job: arguments.CommandInputs) -> str:
    """A hash of everything that the segment file depends on."""
    facts = [job.corpus.digest, job.size, list(job.names.values()), args.trees]
    facts += [list(job.evaluator.metrics), "words" if args.documents else False]
    facts += [arguments.columns(args)]
    facts += job.evaluator.signatures(job.corpus.reference_count).values()
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _report(args: argparse.Namespace, job: arguments.CommandInputs, totals: Totals) -> str:
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
                spec: {"score": score, "signature": signatures[spec]}
                for spec, score in by_metric.items()
            }
            for name, by_metric in scores.items()
        }
        report = {"systems": found, "segments": len(job.corpus)}
        if args.documents:
            report["documents"] = documents
        return tables.json_text(report)
    rows = [["system", *metrics]]
    for name, by_metric in scores.items():
        entries = {name: by_metric}
        entries |= {f"  {doc}": found for doc, found in documents.get(name, {}).items()}
        for title, values in entries.items():
            rows.append(
                [title, *(format_score(metric, values[m]) for m, metric in metrics.items())]
            )
    table = tables.format_table(rows, args.format)
    return "\n".join([table, "", *signatures.values()]) if args.format == "text" else table


def format_score(metric: Metric[Any], value: float) -> str:
    """Format a score: BLEU as sacrebleu prints it, very small values with an exponent."""
    if metric.digits < 4 or value == 0 or value >= 1e-3:
        return f"{value:.{metric.digits}f}"
    return f"{value:.2e}"
