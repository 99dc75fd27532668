"""Everything QARLA says of a test bed, as one plain object for tables, JSON and plots.

The parts follow the paper's study: KING of each metric and of the best sets (Figure 5), QUEEN of
each system, JACK of all peers and of subsets (Figure 6), human-ranked-first (Table 1) and, where
people scored the systems, KING against correlation over all metric sets (Figure 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.metaeval import pearson, spearman
from tensormt.qarla.analysis import human_first, human_first_by_metric, king_against_people
from tensormt.qarla.checks import MAX_METRICS
from tensormt.qarla.selection import MetricSet
from tensormt.qarla.similarity_tensors import Bed


@dataclass(frozen=True)
class Options:
    """How the measures are taken; see `tensormt.qarla.measures`."""

    triples: str = "pairs"
    leave_one_out: bool = True
    include: tuple[str, ...] = ()  # metrics that the best set must hold
    exclude: tuple[str, ...] = ()  # metrics that the second best set must do without


@dataclass(frozen=True)
class Report:
    """The findings; sets of metrics are written as names joined by +."""

    cases: int
    metrics: list[str]
    kings: dict[str, float]
    best: dict[str, Any]
    best_without: dict[str, Any] | None
    queens: dict[str, float]
    human: dict[str, Any]
    jacks: dict[str, float]
    ranked_first: dict[str, str]
    king_against_people: dict[str, Any] | None


def make_report(
    bed: Bed,
    systems: Sequence[str],
    options: Options,
    subsets: Mapping[str, Sequence[str]],
    human: Mapping[str, Tensor],
) -> Report:
    """Summarise a test bed: KING, QUEEN, JACK and the best set of metrics.

    Args:
        bed: Similarities of all texts of all cases.
        systems: Names of the peers.
        options: How the measures are taken.
        subsets: Sets of systems by name, whose JACK is reported.
        human: Human scores by name, float64 [A,T].
    """
    all_kings = None
    if len(bed.names) <= MAX_METRICS:
        all_kings = bed.king_sets(options.leave_one_out, options.triples)
    best = _best(bed, options, all_kings, include=options.include)
    without = None
    if options.exclude:
        without = _named(bed, _best(bed, options, all_kings, exclude=options.exclude))
    chosen = bed.take(metrics=best.metrics)
    queens = chosen.queen(options.triples).sum(dim=0) / chosen.peer_mask.sum(dim=0)
    against = None
    if human and all_kings is not None:
        against = {name: _against_people(bed, scores, options) for name, scores in human.items()}
    return Report(
        cases=len(bed.am),
        metrics=list(bed.names),
        kings=_single_kings(bed, options),
        best=_named(bed, best),
        best_without=without,
        queens=dict(zip(systems, queens.tolist(), strict=True)),
        human={name: _people(scores, queens, systems) for name, scores in human.items()},
        jacks=_jacks(chosen, systems, options, subsets),
        ranked_first=_ranked_first(bed, best, options),
        king_against_people=against,
    )


def set_name(bed: Bed, metrics: Sequence[int]) -> str:
    """Write a set of metrics as their names joined by +."""
    return "+".join(bed.names[k] for k in metrics)


def _single_kings(bed: Bed, options: Options) -> dict[str, float]:
    """Return KING of every metric alone."""
    singles = (bed.take(metrics=[k]) for k in range(len(bed.names)))
    kings = (one.king_sets(options.leave_one_out, options.triples)[1] for one in singles)
    return dict(zip(bed.names, map(float, kings), strict=True))


def _best(
    bed: Bed,
    options: Options,
    kings: Tensor | None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> MetricSet:
    kept, dropped = _places(bed, include), _places(bed, exclude)
    if kings is not None:
        return qarla.best_of(kings, include=kept, exclude=dropped)
    return qarla.greedy_set(
        bed.am,
        bed.mm,
        options.leave_one_out,
        include=kept,
        exclude=dropped,
        triples=options.triples,
        **bed.masks,
    )


def _places(bed: Bed, names: Sequence[str]) -> list[int]:
    for name in names:
        if name not in bed.names:
            raise TensorMTError(
                f"metric {name!r} is not measured: there are {', '.join(bed.names)}"
            )
    return [bed.names.index(name) for name in names]


def _named(bed: Bed, found: MetricSet) -> dict[str, Any]:
    return {"metrics": [bed.names[k] for k in found.metrics], "king": found.king}


def _people(scores: Tensor, queens: Tensor, systems: Sequence[str]) -> dict[str, Any]:
    """Return the mean human scores and how they correlate with QUEEN over systems."""
    means = scores.nanmean(dim=1)
    real = ~means.isnan()
    return {
        "scores": dict(zip(systems, means.tolist(), strict=True)),
        "pearson": float(pearson(means, queens, real)),
        "spearman": float(spearman(means, queens, real)),
    }


def _jacks(
    bed: Bed, systems: Sequence[str], options: Options, subsets: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Return JACK of the subsets and of all peers, over the cases with at least two of them."""
    jacks = {}
    for name, members in {**subsets, "all": systems}.items():
        for system in members:
            if system not in systems:
                raise TensorMTError(f"subset {name!r}: there is no system {system!r}")
        part = bed.take(peers=[list(systems).index(system) for system in members])
        jacks[name] = float(part.with_two_peers().jack(options.triples))
    return jacks


def _ranked_first(bed: Bed, best: MetricSet, options: Options) -> dict[str, str]:
    """Return for each criterion how many of the human authors come out above all systems."""
    authors = bed.mm.shape[1]
    alone = human_first_by_metric(bed)
    singles = {name: alone[:, k] for k, name in enumerate(bed.names)}
    for k, name in enumerate(bed.names):
        singles[f"QUEEN({name})"] = human_first(bed.take(metrics=[k]), options.triples)[:, 1]
    if len(best.metrics) > 1:
        chosen = bed.take(metrics=best.metrics)
        key = f"QUEEN({set_name(bed, best.metrics)})"
        singles[key] = human_first(chosen, options.triples)[:, -1]
    return {name: f"{int(first.sum())}/{authors}" for name, first in singles.items()}


def _against_people(bed: Bed, scores: Tensor, options: Options) -> dict[str, Any]:
    """Return KING and correlation with people of every metric set, and how the two go together."""
    kings, r = king_against_people(bed, scores, options.leave_one_out, options.triples)
    real = ~r.isnan()
    real[0] = False
    sets = torch.arange(len(kings)).tolist()
    return {
        "pearson": float(pearson(kings, r, real)),
        "spearman": float(spearman(kings, r, real)),
        "sets": [
            {
                "metrics": [bed.names[k] for k in range(len(bed.names)) if index >> k & 1],
                "king": float(kings[index]),
                "r": float(r[index]),
            }
            for index in sets
            if real[index]
        ],
    }
