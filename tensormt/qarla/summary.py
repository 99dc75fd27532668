"""Summary of all QARLA measures of a test set, for tables, JSON and plots.

The parts follow the paper: KING of each metric and of the best sets (Figure 5), QUEEN of each
system, JACK of all peers and of subsets (Figure 6), human-ranked-first (Table 1) and, if there are
human scores of the systems, KING against correlation over all metric sets (Figure 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.metaeval import pearson, spearman
from tensormt.qarla.analysis import (
    human_ranked_first,
    human_ranked_first_by_metric,
    king_and_correlation,
)
from tensormt.qarla.checks import MAX_METRICS, fewest_models
from tensormt.qarla.selection import MetricSet
from tensormt.qarla.similarity_tensors import SimilarityTensors
from tensormt.segments import Segments


@dataclass(frozen=True)
class SummaryOptions:
    """Options of the measures; see `tensormt.qarla.measures`.

    Args:
        triples: Triples of models.
        leave_one_out: Whether KING leaves out the model itself.
        include: Names of metrics that the best sets must contain.
        exclude: Names of metrics that the second best set must not contain.
    """

    triples: str = "pairs"
    leave_one_out: bool = True
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """All measures of a test set.

    Args:
        cases: Number of cases.
        metrics: Names of the metrics.
        kings: KING of each metric.
        search: How the best sets were found: "all sets", or "greedy" of more than 16 metrics.
        best: The best set of metrics, with its KING.
        best_without: The best set without the excluded metrics, if there are any.
        queens: Mean QUEEN of each system with the best set.
        human: By human score, the means of the systems and their correlation with QUEEN.
        jacks: JACK of each subset of systems and of all of them.
        ranked_first: By criterion, how many of the human authors rank first, such as "2/4".
        king_and_correlation: By human score, KING and correlation of all sets of metrics; None
            without human scores, or if the sets are too many.
    """

    cases: int
    metrics: list[str]
    kings: dict[str, float]
    search: str
    best: dict[str, Any]
    best_without: dict[str, Any] | None
    queens: dict[str, float]
    human: dict[str, Any]
    jacks: dict[str, float]
    ranked_first: dict[str, str]
    king_and_correlation: dict[str, Any] | None


def check_request(
    segments: Segments,
    metrics: Sequence[str],
    options: SummaryOptions,
    subsets: Mapping[str, Sequence[str]],
) -> None:
    """Raise a TensorMTError for what `summarize` cannot do, before any text is parsed.

    Args:
        segments: The test set; its outputs are the peers, its references the models.
        metrics: Names of the metrics.
        options: Options of the measures.
        subsets: Sets of systems by name, whose JACK is computed.
    """
    _check_names(metrics, segments.systems, options, subsets)
    # Human-ranked-first leaves one reference out, whatever KING does.
    least = fewest_models(options.triples, leave_one_out=True)
    counts = [len(row) for row in segments.reference_rows()]
    few = [place for place, count in enumerate(counts) if count < least]
    if few:
        number, count = segments.number(few[0]) + 1, counts[few[0]]
        advice = f"leave out the {len(few)} of {len(counts)} segments that have fewer"
        if max(counts) < least:
            advice = "no segment has so many, so that QARLA cannot be used on this test set"
        raise TensorMTError(
            f"segment {number} has {count} reference{'' if count == 1 else 's'}: QARLA (triples"
            f" {options.triples!r}) compares a reference with others and needs at least {least} in"
            f" every segment; {advice}",
            options=f"min_references={least}" if max(counts) >= least else "",
        )
    for name, members in {**subsets, "all": segments.systems}.items():
        rows = [segments.systems.index(system) for system in members]
        if not bool((segments.present[rows].sum(axis=0) >= 2).any()):
            raise TensorMTError(
                f"no segment has outputs of two systems of {name!r}: JACK compares two, give more"
                " systems"
            )


def _check_names(
    metrics: Sequence[str],
    systems: Sequence[str],
    options: SummaryOptions,
    subsets: Mapping[str, Sequence[str]],
) -> None:
    for name in (*options.include, *options.exclude):
        if name not in metrics:
            raise TensorMTError(f"metric {name!r} is not measured: there are {', '.join(metrics)}")
    for name, members in subsets.items():
        for system in members:
            if system not in systems:
                raise TensorMTError(
                    f"subset {name!r}: there is no system {system!r}, use {', '.join(systems)}"
                )


def summarize(
    tensors: SimilarityTensors,
    systems: Sequence[str],
    options: SummaryOptions,
    subsets: Mapping[str, Sequence[str]],
    human: Mapping[str, Tensor],
) -> Summary:
    """Compute KING, QUEEN, JACK and the best set of metrics of a test set.

    Args:
        tensors: Similarities of all texts of all cases.
        systems: Names of the peers.
        options: Options of the measures.
        subsets: Sets of systems by name, whose JACK is computed.
        human: Human scores by name, float64 [A,T].

    Returns:
        All measures.

    Raises:
        TensorMTError: If a metric or system is unknown, or the similarities are not valid.

    >>> from tensormt.qarla.from_texts import similarity_tensors_from_segments
    >>> from tensormt.segments import Segments
    >>> refs = [["a cat sat"], ["the cat sat"], ["a cat was sitting"]]
    >>> segments = Segments({"A": ["a cat"], "B": ["dogs"]}, refs)
    >>> tensors = similarity_tensors_from_segments(segments, ["rouge1"])
    >>> found = summarize(tensors, ["A", "B"], SummaryOptions(), {}, {})
    >>> {name: round(queen, 4) for name, queen in found.queens.items()}
    {'A': 0.6111, 'B': 0.0}
    """
    _check_names(tensors.names, systems, options, subsets)
    all_kings = None
    if len(tensors.names) <= MAX_METRICS:
        all_kings = tensors.king_sets(options.leave_one_out, options.triples)
    best = _best_set(tensors, options, all_kings, include=options.include)
    without = None
    if options.exclude:
        kept = [name for name in options.include if name not in options.exclude]
        found = _best_set(tensors, options, all_kings, include=kept, exclude=options.exclude)
        without = _named(tensors, found)
    chosen = tensors.take(metrics=best.metrics)
    queens = chosen.queen(options.triples).sum(dim=0) / chosen.peer_mask.sum(dim=0)
    against = None
    if human and all_kings is not None:
        against = {
            name: _king_and_correlation(tensors, scores, options) for name, scores in human.items()
        }
    return Summary(
        cases=len(tensors.am),
        metrics=list(tensors.names),
        kings=_single_kings(tensors, options),
        search="greedy" if all_kings is None else "all sets",
        best=_named(tensors, best),
        best_without=without,
        queens=dict(zip(systems, queens.tolist(), strict=True)),
        human={name: _human(scores, queens, systems) for name, scores in human.items()},
        jacks=_jacks(chosen, systems, options, subsets),
        ranked_first=_ranked_first(tensors, best, options),
        king_and_correlation=against,
    )


def _single_kings(tensors: SimilarityTensors, options: SummaryOptions) -> dict[str, float]:
    """Compute the KING of every metric alone."""
    singles = (tensors.take(metrics=[k]) for k in range(len(tensors.names)))
    kings = (one.king_sets(options.leave_one_out, options.triples)[1] for one in singles)
    return dict(zip(tensors.names, map(float, kings), strict=True))


def _best_set(
    tensors: SimilarityTensors,
    options: SummaryOptions,
    kings: Tensor | None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> MetricSet:
    """Find the best set among all sets, or greedily if there are too many."""
    kept, dropped = ([tensors.names.index(name) for name in part] for part in (include, exclude))
    if kings is not None:
        return qarla.best_of(kings, include=kept, exclude=dropped)
    return qarla.greedy_set(
        tensors.am,
        tensors.mm,
        options.leave_one_out,
        include=kept,
        exclude=dropped,
        triples=options.triples,
        **tensors.masks,
    )


def _named(tensors: SimilarityTensors, found: MetricSet) -> dict[str, Any]:
    return {"metrics": [tensors.names[k] for k in found.metrics], "king": found.king}


def _correlations(x: Tensor, y: Tensor, present: Tensor) -> dict[str, float]:
    return {"pearson": float(pearson(x, y, present)), "spearman": float(spearman(x, y, present))}


def _human(scores: Tensor, queens: Tensor, systems: Sequence[str]) -> dict[str, Any]:
    """Compute the mean human scores and their correlation with QUEEN over systems."""
    means = scores.nanmean(dim=1)
    return {
        "scores": dict(zip(systems, means.tolist(), strict=True)),
        **_correlations(means, queens, ~means.isnan()),
    }


def _jacks(
    tensors: SimilarityTensors,
    systems: Sequence[str],
    options: SummaryOptions,
    subsets: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """Compute JACK of the subsets and of all peers, over the cases with at least two of them."""
    jacks = {}
    for name, members in {**subsets, "all": systems}.items():
        part = tensors.take(peers=[list(systems).index(system) for system in members])
        jacks[name] = float(part.with_two_peers().jack(options.triples))
    return jacks


def _ranked_first(
    tensors: SimilarityTensors, best: MetricSet, options: SummaryOptions
) -> dict[str, str]:
    """Count for each criterion the human authors that score above all systems."""
    authors = tensors.mm.shape[1]
    alone = human_ranked_first_by_metric(tensors)
    first = {name: alone[:, k] for k, name in enumerate(tensors.names)}
    sets = [(k,) for k in range(len(tensors.names))]
    for metrics in [*sets, best.metrics] if len(best.metrics) > 1 else sets:
        name = "+".join(tensors.names[k] for k in metrics)
        chosen = tensors.take(metrics=metrics)
        first[f"QUEEN({name})"] = human_ranked_first(chosen, options.triples, together=True)[:, -1]
    return {name: f"{int(ranked.sum())}/{authors}" for name, ranked in first.items()}


def _king_and_correlation(
    tensors: SimilarityTensors, scores: Tensor, options: SummaryOptions
) -> dict[str, Any]:
    """Compute KING and correlation of every metric set, and the correlation of the two."""
    kings, r = king_and_correlation(tensors, scores, options.leave_one_out, options.triples)
    exists = ~r.isnan()
    exists[0] = False
    sets = torch.arange(len(kings)).tolist()
    return {
        **_correlations(kings, r, exists),
        "sets": [
            {
                "metrics": [tensors.names[k] for k in range(len(tensors.names)) if index >> k & 1],
                "king": float(kings[index]),
                "r": float(r[index]),
            }
            for index in sets
            if exists[index]
        ],
    }
