"""What `tensormt report` reads: files, judged sets, folders of mt-metrics-eval, or scores alone."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch is imported only when a command runs
    from tensormt.data.error_spans import Ratings
    from tensormt.metric import Metric

NONE = ["none"]  # --metrics none: scores of other tools alone


def load_report(args: argparse.Namespace) -> tuple[arguments.CommandInputs, Ratings | None]:
    """Return corpus, evaluator and the errors that people marked."""
    if args.lp and not (args.input and Path(args.input[0]).is_dir()):
        raise TensorMTError("--lp is for a folder of mt-metrics-eval: name it with -i FOLDER")
    ratings: list[str] = list(args.errors)
    if args.input and Path(args.input[0]).is_dir():
        job, found = _of_folder(args)
        ratings += found
    elif args.metrics == NONE:
        job = _scores_alone(args)
    elif not args.input:
        raise TensorMTError("no outputs: name hypothesis files with -i, or --metrics none")
    elif len(args.input) == 1 and not args.refs and _is_judged(args.input[0]):
        job = _judged(args)
    else:
        job = arguments.load(args)
    if not ratings:
        return job, None
    from tensormt.data.error_spans import read_ratings
    from tensormt.segments import Segments

    if not isinstance(job.corpus, Segments):
        job = job._replace(corpus=Segments.concat(list(job.corpus.chunks(job.size))))
    short = arguments.table_names(job.names.values())
    names = {system: [name, short[name]] for system, name in job.names.items()}
    return job, read_ratings(ratings, job.corpus.outputs, names)


def _judged(args: argparse.Namespace) -> arguments.CommandInputs:
    """A file of rows with outputs by system."""
    from tensormt.data.human_scores import read_jsonl

    parsing = arguments.ParseProgress()
    evaluator = arguments.make_evaluator(args, progress=parsing)
    return arguments.make_inputs(args, read_jsonl(args.input[0]), evaluator, parsing)


def _is_judged(path: str) -> bool:
    """Return whether the first row of a JSONL file has outputs by system."""
    from tensormt.data import files

    if files.suffix(path) != ".jsonl" or path == "-":
        return False
    line = next(iter(files.lines(path)), "")
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and "sys" in row


def _of_folder(args: argparse.Namespace) -> tuple[arguments.CommandInputs, list[str]]:
    """A language pair of a folder of mt-metrics-eval, and its files of ratings.

    With --metrics none, the stored scores of metrics are shown.
    """
    from tensormt.data.wmt import language_pairs, read_folder, read_sources, target_language
    from tensormt.stored_scores import Scores

    if len(args.input) > 1 or args.refs:
        raise TensorMTError("a folder has its own outputs and references: name nothing beside it")
    folder = args.input[0]
    known = language_pairs(folder)
    pair = args.lp or (known[0] if len(known) == 1 else "")
    if pair not in known:
        raise TensorMTError(f"{folder}: choose a language pair with --lp: {', '.join(known)}")
    alone = args.metrics == NONE
    read = read_folder(folder, pair, stored=alone)
    segments = replace(read.test, sources=read_sources(folder, pair, len(read.test)))
    found = sorted(Path(folder, "human-scores").glob(f"{pair}.*.seg.rating"))
    if not alone:
        lang = args.lang or target_language(pair)
        own = argparse.Namespace(**{**vars(args), "lang": lang})
        parsing = arguments.ParseProgress()
        evaluator = arguments.make_evaluator(own, progress=parsing)
        job = arguments.make_inputs(args, segments, evaluator, parsing)
        return job, [str(path) for path in found]
    stored: dict[str, Metric[Any]] = {
        name: Scores(name, dict(zip(segments.systems, table, strict=True)))
        for name, table in read.stored.items()
        if name not in read.stored_systems or not bool((table != table).all())
    }
    return _with_stored(args, segments, stored), [str(path) for path in found]


def _scores_alone(args: argparse.Namespace) -> arguments.CommandInputs:
    """Scores of other tools: with texts and references, with outputs alone, or without texts."""
    from tensormt.data import files
    from tensormt.data.corpus import ROWS, open_corpus
    from tensormt.data.score_columns import read_systems
    from tensormt.segments import Segments, check_sizes

    if not args.scores:
        raise TensorMTError(
            "--metrics none: name scores of other tools, for example --scores COMET=comet.seg.score"
        )
    if args.refs or any(files.suffix(path) in ROWS for path in args.input):
        source, columns = arguments.source_file(args), arguments.columns(args)
        corpus = open_corpus(args.input, args.refs, args.docs, source, columns=columns)
        return _with_stored(args, corpus, {})
    outputs: dict[str, list[str | None]] = {
        path: list(files.lines(path)) for path in map(str, args.input)
    }
    if not outputs:
        title, _, paths = args.scores[0].partition("=")
        found = read_systems(paths.split(","), title) if paths else {}
        outputs = {system: [""] * len(scores) for system, scores in found.items()}
    documents = None if args.docs is None else list(files.lines(args.docs))
    sizes = {f"hypothesis {name!r}": len(lines) for name, lines in outputs.items()}
    check_sizes(sizes)
    none: list[str | None] = [None] * next(iter(sizes.values()), 0)
    return _with_stored(args, Segments(outputs, [none], documents), {})


def _with_stored(
    args: argparse.Namespace, corpus: Any, stored: dict[str, Metric[Any]]
) -> arguments.CommandInputs:
    """Inputs without a metric of ours: stored scores, and those of --scores."""
    from tensormt.evaluator import Evaluator

    names = arguments.display_names(corpus.systems, args.names)
    found = {**stored, **arguments.stored_scores(args, names, len(corpus))}
    if not found:
        raise TensorMTError("--metrics none: there are no scores of other tools to show")
    evaluator = Evaluator(found, device=arguments.choose_device(args.device))
    size = args.chunk or evaluator.chunk_size
    return arguments.CommandInputs(corpus, evaluator, names, size, arguments.ParseProgress())
