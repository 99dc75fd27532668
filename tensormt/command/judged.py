"""What commands on human-judged test sets share: options, test sets, metrics that score them.

A test set is a JSONL of judged segments, score files, or a language pair of a folder in the layout
of mt-metrics-eval.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from torch import Tensor

    from tensormt.data.human_scores import TestSet
    from tensormt.metaeval.scores import Scores
    from tensormt.metaeval.wmt_tables import Judged
    from tensormt.metric import Metric
    from tensormt.prepared import Texts
    from tensormt.trees.sources import TreesAsText

__all__ = ["add_data_options", "human_tables", "prepare", "read_data", "test_sets"]


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command on human-judged sets takes."""
    parser.add_argument("data", nargs="+", metavar="DATA.jsonl")
    arguments.add_metrics(parser, ["bleu"])
    parser.add_argument(
        "--human",
        nargs="+",
        metavar="SCORE",
        help="human scores to compare with (default: all but counts n_*)",
    )
    parser.add_argument(
        "--min-references",
        type=int,
        default=1,
        metavar="N",
        help="leave out segments with fewer references",
    )
    parser.add_argument(
        "--max-references",
        type=int,
        metavar="N",
        help="use only the first N references of a segment",
    )
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="SYSTEM", help="systems to leave out"
    )
    parser.add_argument(
        "--trees",
        action="store_true",
        help="the texts of DATA are trees: bracketings, or sentences of CoNLL-U",
    )
    arguments.add_parsing(parser)


def read_data(args: argparse.Namespace) -> TestSet:
    """Read and narrow the test set of the arguments."""
    from tensormt.data.human_scores import read_jsonl

    return _narrow(args, read_jsonl(*args.data))


def _narrow(args: argparse.Namespace, test: TestSet) -> TestSet:
    return test.select(
        least_references=args.min_references,
        most_references=args.max_references,
        without=args.without,
    )


def human_tables(args: argparse.Namespace, test: TestSet) -> dict[str, Tensor]:
    """Return the human scores asked for, or all that are not counts of raters."""
    names = args.human or [name for name in test.human if not name.startswith("n_")]
    if not names:
        raise TensorMTError(f"{args.data[0]}: no human scores, nothing to compare with")
    return {name: test.scores(name) for name in names}


def prepare(args: argparse.Namespace, test: TestSet, metrics: Sequence[Metric[Any]]) -> Texts:
    """The texts of a test set, parsed with a bar where one of the metrics reads trees."""
    from tensormt.inputs import Trees
    from tensormt.metaeval.scores import collect_texts

    device = arguments.choose_device(args.device)
    if args.trees:
        return collect_texts(test, _written(args, test), device)
    trees = arguments.trees_for(args, metrics)
    texts = collect_texts(test, trees, device)
    if trees is not None:
        with Progress(None, "parse", "texts", quiet=args.quiet) as trees.progress:
            texts.read(Trees())
    return texts


def _written(args: argparse.Namespace, test: TestSet) -> TreesAsText:
    """The trees that the texts of a test set are, told by the first of them."""
    from tensormt.trees.sources import TreesAsText

    texts = (text for row in test.references for text in row if text)
    first = next((text.lstrip() for text in texts), "")
    form = "brackets" if first.startswith("(") else "conllu"
    return TreesAsText(form, f"{args.data[0]}, ")


def test_sets(args: argparse.Namespace) -> list[list[Judged]]:
    """The language pairs (or the one test set), each once for every human score."""
    if args.permutations < 1:
        raise TensorMTError(f"--permutations {args.permutations}: expected at least 1")
    if args.scores:
        return [_from_files(args)]
    if Path(args.data[0]).is_dir():
        return _from_folder(args)
    test = read_data(args)
    return [_judged(args, Path(args.data[0]).name, test, _score(args, test))]


def _published(systems: Tensor | None, segments: Tensor, rows: list[int]) -> Tensor | None:
    """Published scores of the systems that are kept, unless they are the means of segments [S,N]:
    these can be drawn and tested segment by segment."""
    import torch

    if systems is None or torch.allclose(
        systems, segments.nanmean(dim=1), rtol=1e-6, atol=1e-9, equal_nan=True
    ):
        return None
    return systems[rows]


def _judged(
    args: argparse.Namespace,
    name: str,
    test: TestSet,
    metrics: list[Scores],
    prefix: str = "",
    official: Mapping[str, Tensor | None] = MappingProxyType({}),
) -> list[Judged]:
    from tensormt.metaeval.wmt_tables import Judged

    numbers, names = test.document_numbers()
    documents = numbers, len(names)
    return [
        Judged(name, prefix + score, table, metrics, documents, test.systems, official.get(score))
        for score, table in human_tables(args, test).items()
    ]


def _score(args: argparse.Namespace, test: TestSet) -> list[Scores]:
    from tensormt.metaeval.scores import score_metric
    from tensormt.metaeval.sweep import sweep

    named = sweep(args.metrics, args.orders)
    texts = prepare(args, test, [metric for _, metric in named])
    return [score_metric(metric, name, test, texts) for name, metric in named]


def _from_folder(args: argparse.Namespace) -> list[list[Judged]]:
    from tensormt.data.wmt import language_pairs, read_folder, write_scores
    from tensormt.metaeval.scores import Scores

    if len(args.data) != 1:
        raise TensorMTError(f"{args.data[0]} is a folder: name one folder, got {len(args.data)}")
    if args.min_references != 1 or args.max_references is not None:
        raise TensorMTError("a folder names its references: choose them with --references")
    folder = args.data[0]
    pairs = args.lp or language_pairs(folder)
    found = []
    for pair in pairs:
        read = read_folder(folder, pair, args.references, args.stored != ["none"])
        rows = [k for k, name in enumerate(read.test.systems) if name not in args.without]
        test = _narrow(args, read.test)
        metrics = _score(args, test)
        if args.write_scores:
            target = Path(args.write_scores) / pair if len(pairs) > 1 else args.write_scores
            for own in metrics:
                tables = {"seg": own.segments, "sys": own.systems()[:, None]}
                for level, table in tables.items():
                    by_system = dict(zip(test.systems, table.tolist(), strict=True))
                    write_scores(target, own.name, read.references, by_system, level)
        for name in set(args.stored or ()) - set(read.stored) - {"none"}:
            raise TensorMTError(
                f"{folder} has no scores of {name!r} for {pair}: {', '.join(read.stored) or 'none'}"
            )
        metrics += [
            Scores(
                name,
                name,
                table[rows],
                published=_published(read.stored_systems.get(name), table, rows),
            )
            for name, table in read.stored.items()
            if args.stored is None or name in args.stored
        ]
        prefix = f"{pair}, " if len(pairs) > 1 and not args.table else ""
        official = {
            name: _published(own, read.test.human[name], rows)
            for name, own in read.human_systems.items()
        }
        found.append(_judged(args, pair, test, metrics, prefix, official))
    return found


def _from_files(args: argparse.Namespace) -> list[Judged]:
    import torch

    from tensormt.data.human_scores import align_scores, read_documents
    from tensormt.metaeval.scores import Scores
    from tensormt.metaeval.wmt_tables import Judged

    if len(args.data) != 1:
        raise TensorMTError(f"--scores goes with one file of human scores, got {len(args.data)}")
    systems, (human, *tables) = align_scores([args.data[0], *args.scores])
    names = [Path(path).name.removesuffix(".score").rsplit(".", 1)[0] for path in args.scores]
    metrics = [Scores(name, name, table) for name, table in zip(names, tables, strict=True)]
    documents = [str(i) for i in range(human.shape[1])]
    if args.docs:
        documents = read_documents(args.docs)
        if len(documents) != human.shape[1]:
            raise TensorMTError(
                f"{args.docs} has {len(documents)} lines, {args.data[0]} has {human.shape[1]}"
                " scores a system: they must align"
            )
    numbers = {name: k for k, name in enumerate(dict.fromkeys(documents))}
    index = torch.tensor([numbers[name] for name in documents], dtype=torch.int64)
    name = Path(args.data[0]).name
    return [Judged(name, name, human, metrics, (index, len(numbers)), systems)]
