"""Judged sets of the language pairs of a WMT test set, from a folder of mt-metrics-eval.

What WMT's own tables use is the default: for each pair the standard reference, no human outputs,
and metrics made for the language of the outputs (which chooses the parser). All names are checked
for all pairs before the first text is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from tensormt.data.wmt import WMTSet, language_pairs, read_folder, target_language, write_scores
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metaeval.judged_sets import (
    JudgedSet,
    Selection,
    check_error_rates,
    judged_sets_from_segments,
)
from tensormt.metaeval.scores import Scores, evaluate_metrics, stored_scores
from tensormt.segments import Segments


def judged_sets_from_folder(
    folder: str,
    evaluator_for: Callable[[str], Evaluator],
    selection: Selection,
    *,
    pairs: Sequence[str] = (),
    references: Mapping[str, Sequence[str]] = MappingProxyType({}),
    stored: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    human_outputs: bool = False,
    write_to: str | None = None,
    for_table: bool = False,
) -> list[list[JudgedSet]]:
    """Read the judged sets of language pairs from a folder in the layout of mt-metrics-eval.

    Args:
        folder: The folder.
        evaluator_for: Function from the language of the outputs, such as "de", to the evaluator of
            the metrics that are computed; it is called once for each language.
        selection: Which systems and human scores are used.
        pairs: Language pairs; empty: all.
        references: Names of references by language pair; those of "" are for all other pairs. The
            default is the reference that WMT used.
        stored: Names of stored metrics that are used; None: all, ["none"]: none.
        lower_is_better: Names of stored metrics that are error rates.
        human_outputs: Whether human outputs are compared like those of systems.
        write_to: Folder to which computed scores are written in the same layout.
        for_table: Whether the sets are for a WMT table: one human score for each pair, by default
            "mqm" where it exists, and names without the language pair.

    Returns:
        For each language pair, one set per human score.

    Raises:
        TensorMTError: If a file, pair, reference, stored metric, system or human score is missing;
            nothing is scored then.
    """
    chosen = list(pairs) or language_pairs(folder)
    _check_references(references, chosen)
    sets = [
        read_folder(
            folder,
            pair,
            references.get(pair, references.get("", ())),
            stored != ["none"],
            human_outputs=human_outputs,
        )
        for pair in chosen
    ]
    _check_stored(folder, sets, stored)
    check_error_rates(lower_is_better, list(dict.fromkeys(n for own in sets for n in own.stored)))
    parts = _selected_parts(sets, selection, for_table)
    tests = [part.select(read.test) for read, part in zip(sets, parts, strict=True)]
    for part, test in zip(parts, tests, strict=True):
        part.human_tables(test)  # unknown names are an error before anything is scored
    languages = dict.fromkeys(target_language(pair) for pair in chosen)
    evaluators = {language: evaluator_for(language) for language in languages}
    found = []
    for read, part, test in zip(sets, parts, tests, strict=True):
        metrics = evaluate_metrics(evaluators[target_language(read.pair)], test)
        if write_to:
            target = Path(write_to) / read.pair if len(sets) > 1 else Path(write_to)
            _write(target, read, test, metrics)
        rows = [k for k, name in enumerate(read.test.systems) if name not in part.without]
        wanted = [name for name in read.stored if stored is None or name in stored]
        metrics += [_stored_scores(read, name, rows, name in lower_is_better) for name in wanted]
        human_systems = {
            name: _published(own, read.test.human[name], rows)
            for name, own in read.human_systems.items()
        }
        prefix = f"{read.pair}, " if len(sets) > 1 and not for_table else ""
        judged = judged_sets_from_segments(
            read.pair, test, metrics, part, prefix=prefix, human_systems=human_systems
        )
        found.append(
            [
                replace(own, references=read.references, human_outputs=read.human_outputs)
                for own in judged
            ]
        )
    return found


def _check_references(references: Mapping[str, Sequence[str]], pairs: Sequence[str]) -> None:
    for pair in references:
        if pair and pair not in pairs:
            raise TensorMTError(
                f"references of {pair}, which is not among the language pairs {', '.join(pairs)}:"
                " use it or leave them out",
                options="lp references",
            )


def _check_stored(folder: str, sets: Sequence[WMTSet], stored: Sequence[str] | None) -> None:
    for read in sets:
        for name in stored or ():
            if name not in read.stored and name != "none":
                known = ", ".join(read.stored) or "none"
                raise TensorMTError(
                    f"{folder} has no scores of {name!r} for {read.pair}: {known}", options="stored"
                )


def _selected_parts(
    sets: Sequence[WMTSet], selection: Selection, for_table: bool
) -> list[Selection]:
    """Return the part of each language pair that is used.

    A system to leave out may belong to some of the pairs only, or be left out anyway.
    """
    known = {name for read in sets for name in (*read.test.systems, *read.human_outputs)}
    for name in selection.without:
        if name not in known:
            raise TensorMTError(
                f"there is no system {name!r} to leave out: {', '.join(sorted(known))}"
            )
    parts = []
    for read in sets:
        human = selection.human
        if for_table and not human and read.test.human:
            human = ["mqm" if "mqm" in read.test.human else next(iter(read.test.human))]
        without = [name for name in selection.without if name in read.test.outputs]
        parts.append(replace(selection, human=human, without=without))
    return parts


def _stored_scores(read: WMTSet, name: str, rows: list[int], lower_is_better: bool) -> Scores:
    """Return the scores of a stored metric for the selected systems."""
    table = read.stored[name]
    published = _published(read.stored_systems.get(name), table, rows)
    return stored_scores(name, torch.from_numpy(table[rows]), published, lower_is_better)


def _published(systems: np.ndarray | None, segments: np.ndarray, rows: list[int]) -> Tensor | None:
    """Return published scores of the selected systems; None if they are means of segments [S,N].

    Means of segments can be resampled and tested segment by segment, published scores cannot.
    """
    if systems is None:
        return None
    own = torch.from_numpy(segments).nanmean(dim=1)
    if torch.allclose(torch.from_numpy(systems), own, rtol=1e-6, atol=1e-9, equal_nan=True):
        return None
    return torch.from_numpy(systems[rows])


def _write(folder: Path, read: WMTSet, test: Segments, metrics: Sequence[Scores]) -> None:
    for own in metrics:
        tables = {"seg": own.segments, "sys": own.systems()[:, None]}
        for level, table in tables.items():
            by_system = dict(zip(test.systems, table.tolist(), strict=True))
            write_scores(folder, own.name, read.references, by_system, level)
