"""`tensormt explain`: the subtrees, chains and n-grams of a segment that were matched."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.data import tables
from tensormt.errors import NoExplanation, TensorMTError
from tensormt.result import format_score

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.evaluator import Evaluator
    from tensormt.metric import Metric
    from tensormt.prepared import PreparedTexts
    from tensormt.reporting.contributions import Contribution
    from tensormt.reporting.explained import Explained
    from tensormt.statistics import Statistics

DESCRIPTION = "Print the items of a segment that metrics counted as matched, by what they add."
EXAMPLES = """
examples:
  tensormt explain ref1.txt ref2.txt -i hyp.txt --segment 3
  tensormt explain ref.txt -i hyp.txt -m hwcm bleu --segment 3 --all    # also items without a match
  tensormt explain ref.ptb -i hyp.ptb --trees -m stm tkm --segment 1 -f json

Segments are numbered from 1. Columns:
  adds        what the item adds to the score: an order's part of the score (Shapley value over the
              orders), shared evenly by its matches; of a tree kernel, the share of the kernel
  item, kind  n-grams, subtrees, headword chains, or productions of a tree kernel
  of          the member of a mean such as blend
  matched     how many of the item's occurrences count: at most as many as a reference has
  references  numbers of the references that contain it
Items that add nothing are left out, and the first 20 are shown, unless --all is given.
"""

_SHOWN = 20  # items of a metric without --all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    arguments.add_inputs(parser)
    parser.add_argument("--segment", type=int, default=1, metavar="N", help="(default 1)")
    parser.add_argument("--all", action="store_true", help="all items, unmatched ones too")
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
    statistics = evaluator.evaluate(segments, texts)
    found: dict[str, dict[str, tuple[float, Explained | None]]] = {
        name: {} for name in job.names.values()
    }
    for spec in evaluator.metrics:
        explained = _explained(evaluator, texts, spec, statistics)
        for name, score, own in zip(found, statistics.segments(spec)[:, 0], explained, strict=True):
            found[name][spec] = float(score), own
    source = segments.sources[0] if segments.sources else None
    if args.format == "json":
        rows = {
            name: {spec: _plain(*both) for spec, both in metrics.items()}
            for name, metrics in found.items()
        }
        told = {"segment": args.segment, **({"source": source} if source else {}), "systems": rows}
        print(json.dumps(told, ensure_ascii=False, indent=1))
        return 0
    count = len(found)
    head = [f"segment {args.segment} of {len(corpus)}"]
    if source:
        head.append(f"source: {source}")
    for number in range(corpus.reference_count):
        head.append(f"reference {number + 1}: {texts.lines(count + number)[0]}")
    blocks = ["\n".join(head)]
    names = arguments.table_names(found)
    for number, (name, metrics) in enumerate(found.items()):
        blocks.append(f"{names[name]}: {texts.lines(number)[0]}")
        blocks += [
            _block(spec, evaluator.metrics[spec], *both, args.all) for spec, both in metrics.items()
        ]
    print("\n\n".join(blocks))
    return 0


def _explained(
    evaluator: Evaluator, texts: PreparedTexts, spec: str, statistics: Statistics
) -> list[Explained | None]:
    """Return what was matched for each system; None if the metric cannot explain it."""
    import torch

    from tensormt.reporting.explained import by_segment

    try:
        explanations = evaluator.explain(texts, spec)
    except NoExplanation:
        return [None] * len(texts.segments.outputs)
    tables = zip(explanations, torch.from_numpy(statistics.tables[spec]), strict=True)
    return [by_segment(each, evaluator.metrics[spec], rows)[0] for each, rows in tables]


def _block(
    spec: str, metric: Metric[Any], score: float, found: Explained | None, everything: bool
) -> str:
    """Format the items of one metric as a table, those that change the score most first."""
    from tensormt.reporting.contributions import contributions

    title = f"{spec} {score:.4f}{'' if metric.higher_is_better else ' (lower is better)'}"
    if found is None:
        return f"{title}: this metric cannot explain its matches"
    items = contributions(found)
    used = [item for item in items if everything or (item.counted and not _adds_nothing(item))]
    if found.edits and not everything:  # they say it all
        used = []
    shown = used if everything else used[:_SHOWN]
    member, digits = any(item.member for item in items), max(metric.digits, 3)
    known = _any_known(items)
    head = ["item", "kind", *(["of"] if member else []), "matched", "references"]
    rows = [["adds", *head] if known else head]
    rows += [
        [
            *([_signed(item.adds, digits)] if known else []),
            item.text.replace(" ", "␣") if item.kind.startswith("character") else item.text,
            item.kind,
            *([item.member] if member else []),
            f"{item.counted} of {item.total}",
            " ".join(str(number + 1) for number in item.references),
        ]
        for item in shown
    ]
    lines = [title]
    if shown:
        lines.append(tables.format_table(rows, "text", len(rows[0])))
    lines += _notes(found, items, used, len(shown), everything)
    return "\n".join(lines)


def _signed(value: float | None, digits: int) -> str:
    return "?" if value is None else format_score(value, digits, "+")


def _any_known(items: list[Contribution]) -> bool:
    """Whether it is known for any match what it adds; without a match, that is nothing."""
    matched = [item for item in items if item.counted]
    return not matched or any(item.adds is not None for item in matched)


def _adds_nothing(item: Contribution) -> bool:
    return item.adds is not None and abs(item.adds) < 1e-12


def _notes(
    found: Explained,
    items: list[Contribution],
    used: list[Contribution],
    shown: int,
    everything: bool,
) -> list[str]:
    """Say what the table leaves out, and what the score is without any match."""
    from tensormt.reporting.contributions import base_score

    lines = []
    if len(used) > shown:
        rest = math.fsum(item.adds or 0.0 for item in used[shown:])
        lines.append(f"{len(used) - shown} further items add {rest:+.4g} together (--all)")
    if not any(item.counted for item in items):
        lines.append("nothing was matched")
    elif not (everything or found.edits) and (
        idle := sum(bool(item.counted) for item in items) - len(used)
    ):
        lines.append(f"{idle} matched items add nothing (--all)")
    lines += _edits(found)
    for member in found.members:
        lines += _edits(member.found, f"{member.name}: ")
    if not (_any_known(items) or found.edits):
        lines.append("what a match adds is not known for this metric")
    if base := base_score(found):
        lines.append(f"without any match the score is {base:.4g}")
    return lines


def _edits(found: Explained, title: str = "") -> list[str]:
    """The edits of an error rate, with the reference to which they lead."""
    if not found.edits:
        return []
    many = "s" if len(found.edits) > 1 else ""
    which = f" to reference {found.reference + 1}" if found.reference is not None else ""
    head = f"{title}{len(found.edits)} edit{many}{which}"
    return [head, *(f"  {edit}" for edit in found.edits)]


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
    edits: dict[str, Any] = {}
    if found.edits:
        edits = {"reference": found.reference, "edits": [edit._asdict() for edit in found.edits]}
    return {"kind": found.kind, "items": rows, **edits}
