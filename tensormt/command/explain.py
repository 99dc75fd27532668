"""`tensormt explain`: the subtrees, chains and n-grams of a segment that were matched."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.errors import NoExplanation, TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.evaluator import Evaluator
    from tensormt.prepared import PreparedTexts
    from tensormt.reporting.explained import Explained

DESCRIPTION = "Print the items of a segment that metrics counted as matched."
EXAMPLES = """
examples:
  tensormt explain ref1.txt ref2.txt -i hyp.txt --segment 3
  tensormt explain ref.txt -i hyp.txt -m hwcm bleu --segment 3 --all    # also items without a match
  tensormt explain ref.ptb -i hyp.ptb --trees -m stm tkm --segment 1 -f json

Segments are numbered from 1. If an item occurs k times and c times in the references, the first c
occurrences count; the number of counted items is the clipped count of the metric's statistics.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    arguments.add_inputs(parser, ["bleu", "stm", "hwcm"])
    parser.add_argument("--segment", type=int, default=1, metavar="N", help="(default 1)")
    parser.add_argument("--all", action="store_true", help="unmatched items too")
    arguments.add_format(parser, ("text", "json"))


def run(args: argparse.Namespace) -> int:
    """Explain one segment of every system."""
    job = arguments.load(args)
    corpus = job.corpus
    if not 1 <= args.segment <= len(corpus):
        raise TensorMTError(f"--segment {args.segment}: expected a number from 1 to {len(corpus)}")
    segments = next(corpus.chunks(1, args.segment - 1))
    evaluator = job.evaluator.fit(corpus)  # scores may need counts over all references
    texts = evaluator.prepare(segments)
    scores = evaluator.evaluate(segments, texts)
    found: dict[str, dict[str, tuple[float, Explained | None]]] = {
        name: {} for name in job.names.values()
    }
    for spec in evaluator.metrics:
        explained = _explained(evaluator, texts, spec)
        for name, score, own in zip(found, scores.segments(spec)[:, 0], explained, strict=True):
            found[name][spec] = float(score), own
    if args.format == "json":
        rows = {
            name: {spec: _plain(*both) for spec, both in metrics.items()}
            for name, metrics in found.items()
        }
        print(json.dumps({"segment": args.segment, "systems": rows}, ensure_ascii=False, indent=1))
        return 0
    count = len(found)
    head = [f"segment {args.segment} of {len(corpus)}"]
    for number in range(corpus.reference_count):
        head.append(f"reference {number + 1}: {texts.lines(count + number)[0]}")
    blocks = ["\n".join(head)]
    for number, (name, metrics) in enumerate(found.items()):
        blocks.append(f"{name}: {texts.lines(number)[0]}")
        blocks += [_block(spec, *both, args.all) for spec, both in metrics.items()]
    print("\n\n".join(blocks))
    return 0


def _explained(evaluator: Evaluator, texts: PreparedTexts, spec: str) -> list[Explained | None]:
    """Return what was matched for each system; None if the metric cannot explain it."""
    from tensormt.reporting.explained import by_segment

    try:
        return [by_segment(each)[0] for each in evaluator.explain(texts, spec)]
    except NoExplanation:
        return [None] * len(texts.segments.outputs)


def _block(spec: str, score: float, found: Explained | None, everything: bool) -> str:
    """Format the items of one metric, one line per distinct item."""
    if found is None:
        return f"{spec} {score:.4f}: this metric cannot explain its matches"
    return "\n".join([f"{spec} {score:.4f}", *_lines(found, everything)])


def _lines(found: Explained, everything: bool) -> list[str]:
    if found.members:
        listed = []
        for member in found.members:
            listed += [f"  {member.name} × {member.weight:.4g}", *_lines(member.found, everything)]
        return listed
    lines = []
    if found.pairs:
        best = max({pair.reference for pair in found.pairs}, key=found.kernel)
        total = found.kernel(best)
        pairs = sorted((p for p in found.pairs if p.reference == best), key=lambda p: -p.log)
        shown = pairs if everything else pairs[:20]
        lines.append(f"  {len(pairs)} pairs of nodes, K = {total:.6g} with reference {best + 1}")
        lines += [f"  {pair.share / total:7.2%}  {pair.text}" for pair in shown]
        return lines
    totals = Counter(match.order for match in found.matches)
    for order, total in totals.items():
        number = found.counts.get(order, 0)
        lines.append(f"  {found.names[order - 1]}: {number} of {total} matched")
        items = [match for match in found.matches if match.order == order]
        counted = Counter(match.text for match in items if match.counted)
        missed = Counter(match.text for match in items if not match.counted)
        holders = {match.text: match.places for match in items}
        for text, count in counted.items():
            where = " ".join(str(k + 1) for k, places in enumerate(holders[text]) if places)
            lines.append(f"    + {text}{_times(count)}  [{where}]")
        if everything:
            lines += [f"    - {text}{_times(count)}" for text, count in missed.items()]
    if found.edits:
        lines.append(f"  edits: {len(found.edits)}")
        lines += [f"    {edit}" for edit in found.edits]
    return lines


def _times(count: int) -> str:
    return f" × {count}" if count > 1 else ""


def _plain(score: float, found: Explained | None) -> dict[str, Any]:
    """Return an explanation for JSON."""
    if found is None:
        return {"score": score}
    return {"score": score, **_items(found)}


def _items(found: Explained) -> dict[str, Any]:
    if found.members:
        members = [
            {"name": member.name, "weight": member.weight, **_items(member.found)}
            for member in found.members
        ]
        return {"kind": found.kind, "members": members}
    rows = [match._asdict() for match in found.matches] or [p._asdict() for p in found.pairs]
    edits = {"edits": [edit._asdict() for edit in found.edits]} if found.edits else {}
    return {"kind": found.kind, "items": rows, **edits}
