"""`tensormt score`: text in, scores out."""

from __future__ import annotations

import argparse
import hashlib
import json
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables
from tensormt.data.segment_writer import SegmentWriter
from tensormt.errors import TensorMTError

if TYPE_CHECKING:
    from tensormt.data.corpus import Corpus
    from tensormt.metric import Metric
    from tensormt.scoring import Scorer, Sums

__all__ = ["add", "run"]

EXAMPLES = """
examples:
  tensormt score ref.txt -i hyp.txt                              # BLEU, STM, HWCM
  tensormt score ref1.txt ref2.txt -i a.txt b.txt -m bleu nist bm bma nm
  tensormt score ref.txt -i hyp.txt -m stm:max_depth=3,balance=f1 tkm:decay=0.5
  tensormt score ref.txt -i hyp.txt --segments out.jsonl         # go on after a kill: --resume
  tensormt score -i rows.jsonl -m bleu -f json                   # rows with hypothesis, references
  tensormt score ref.ptb -i hyp.ptb --trees -m stm tkm dstm dtkm # parses at hand
  zcat hyp.gz | tensormt score ref.txt -i - -m bleu

Text has one segment a line; an empty reference line is an absent reference. Rows (.jsonl, or .tsv
with a head) hold hypothesis, references (reference1, reference2, … in .tsv) and perhaps doc.
mteval SGML and WMT XML files bring systems, references and documents along.
BLEU is on 0-100, every other metric on its paper's scale.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "score",
        help="text in, scores out",
        description="Score systems against references with any of the metrics.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_inputs(parser, ["bleu", "stm", "hwcm"])
    parser.add_argument("-f", "--format", default="text", choices=["text", "json", "tsv", "latex"])
    parser.add_argument(
        "--segments", metavar="OUT", help="segment scores to a .jsonl, .tsv or .parquet file"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with --segments OUT where a run was stopped"
    )
    parser.add_argument("--documents", action="store_true", help="document scores too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Score, and print one table or object."""
    from tensormt.scoring import Sums
    from tensormt.scoring import run as run_scorer

    if args.resume and not args.segments:
        raise TensorMTError("--resume goes with --segments OUT: name the file to go on with")
    corpus, scorer = arguments.load(args)
    if args.documents and not corpus.has_docs:
        raise TensorMTError(
            "--documents needs document ids: give --docs FILE, rows with doc, or XML"
        )
    shown = arguments.names(corpus.systems)
    size = arguments.chunk_size(args, scorer)
    writer = None
    if args.segments:
        mark = _fingerprint(corpus, scorer, size, shown, args.documents)
        inputs = arguments.input_files(args)
        writer = SegmentWriter(args.segments, mark, list(scorer.metrics), args.resume, inputs)
    sums = Sums.of_state(writer.kept) if writer and writer.kept else Sums()
    start = writer.done if writer else 0
    with Progress(corpus.segments, "score", quiet=args.quiet) as bar:
        bar(start)
        arguments.watch(scorer.trees, bar)
        for chunk, found in run_scorer(scorer, corpus, size, start):
            found = {shown[system]: by_metric for system, by_metric in found.items()}
            sums.add(found, chunk.docs if args.documents else None)
            if writer:
                scores = {
                    name: {m: s.numpy() for m, s in scorer.segment_scores(table).items()}
                    for name, table in found.items()
                }
                writer.add(chunk.start, chunk.docs, scores, sums.state())
            bar(len(chunk))
    if writer:
        writer.finish()
    print(_report(args, corpus, scorer, sums, list(shown.values())))
    return 0


def _fingerprint(
    corpus: Corpus, scorer: Scorer, size: int, shown: dict[str, str], documents: bool
) -> str:
    """A hash of all that the segment file depends on."""
    from tensormt.trees.sources import TreesAsText

    given = isinstance(scorer.trees, TreesAsText)
    facts = [corpus.digest, size, list(shown.values()), given, list(scorer.metrics)]
    facts.append("words" if documents else False)  # sums of documents, where they are asked for
    facts += [scorer.signature(spec, corpus.references) for spec in scorer.metrics]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _report(
    args: argparse.Namespace, corpus: Corpus, scorer: Scorer, sums: Sums, systems: list[str]
) -> str:
    specs = list(scorer.metrics)
    signatures = {spec: scorer.signature(spec, corpus.references) for spec in specs}
    zero = dict.fromkeys(specs, 0.0)  # a corpus without segments
    scores = sums.scores(scorer.metrics)
    documents = sums.document_scores(scorer.metrics) if args.documents else {}
    if args.format == "json":
        found = {
            name: {
                spec: {"score": scores.get(name, zero)[spec], "signature": signatures[spec]}
                for spec in specs
            }
            for name in systems
        }
        report = {"systems": found, "segments": corpus.segments}
        if args.documents:
            report["documents"] = documents
        return tables.json_text(report)
    rows = [["system", *specs]]
    for name in systems:
        entries = {name: scores.get(name, zero)}
        entries |= {f"  {doc}": found for doc, found in documents.get(name, {}).items()}
        for title, found_scores in entries.items():
            cells = (cell(metric, found_scores[m]) for m, metric in scorer.metrics.items())
            rows.append([title, *cells])
    table = tables.formatted(rows, args.format)
    return "\n".join([table, "", *signatures.values()]) if args.format == "text" else table


def cell(metric: Metric[Any], value: float) -> str:
    """A score for people: BLEU as sacrebleu prints it, tiny kernel values with an exponent."""
    if metric.digits < 4 or value == 0 or value >= 1e-3:
        return f"{value:.{metric.digits}f}"
    return f"{value:.2e}"
