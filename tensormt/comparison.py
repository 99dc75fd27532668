"""`tm.compare`: each system against a baseline, as data and as a table.

For every metric: the difference of the corpus scores with its interval, a p-value, the verdict at
the 5% level after Holm's correction, and the segments that are won, tied and lost
(`tensormt.significance`).
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensormt.data.tables import format_table, html_table
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.registry import DEFAULT_METRICS
from tensormt.resampling import SEED, warn_of_one_segment
from tensormt.result import direction_note, format_score
from tensormt.scoring import Lines, Metrics, read_segments, read_trees
from tensormt.significance import LEVEL, Comparison, check_systems, sample_count
from tensormt.significance import compare as compare_statistics
from tensormt.statistics import Statistics
from tensormt.validation import boolean, integer, on_device, one_of, optional, string, validate

if TYPE_CHECKING:
    import pyarrow as pa
    import torch

__all__ = ["ComparisonResult", "compare", "compare_systems"]

_SHOWN = 10  # pairs that are named in a note
TESTS = {"bs": "paired bootstrap", "ar": "approximate randomization"}


def format_p(p: float) -> str:
    """Format a p-value; nothing for NaN.

    >>> format_p(0.04567), format_p(0.00004)
    ('0.0457', '<0.0001')
    """
    if math.isnan(p):
        return ""
    return f"{p:.4f}" if p >= 0.00005 else "<0.0001"


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """Comparisons of systems; prints as a table, and shows itself as one in a notebook.

    Args:
        comparisons: A comparison for each metric and pair of systems.
        scores: Corpus scores by metric and system.
        metrics: Metrics by name.
        signatures: What reproduces the scores, by metric.
        test: "bs" (paired bootstrap) or "ar" (approximate randomization).
        samples: Number of resamples.
        seed: Seed of the random numbers.
        all_pairs: Whether all pairs of systems are compared.
        sacrebleu_p: Whether p-values are computed as in sacrebleu.
        segments: Number of segments, of which systems may lack some; None: not known.
    """

    comparisons: list[Comparison]
    scores: Mapping[str, Mapping[str, float]]
    metrics: Mapping[str, Metric[Any]]
    signatures: Mapping[str, str]
    test: str
    samples: int
    seed: int
    all_pairs: bool = False
    sacrebleu_p: bool = False
    segments: int | None = None

    @property
    def name_columns(self) -> int:
        """Number of columns with names, which come first in the table."""
        return 3 if self.all_pairs else 2

    def rows(self) -> list[list[str]]:
        """Return the cells of the table, the head first."""
        bootstrap = self.test == "bs"
        head = ["metric", "system", "score"]
        if self.all_pairs:
            head = ["metric", "baseline", "system", "baseline score", "score"]
        head += ["difference", *(["95% interval"] if bootstrap else []), "p", "p (Holm)"]
        head += ["verdict", "win/tie/loss"]
        table = [head]
        for name in self.metrics:
            found = [each for each in self.comparisons if each.metric == name]
            if not self.all_pairs:
                first = found[0].baseline
                cells = [name, first, self._format(name, self.scores[name][first]), "baseline"]
                table.append([*cells, *[""] * (len(head) - len(cells))])
            table += [self._row(each) for each in found]
        return table

    def _row(self, found: Comparison) -> list[str]:
        name = found.metric
        ends = [
            self._format(name, end, "+") for end in (found.difference_low, found.difference_high)
        ]
        interval = " to ".join(filter(None, ends))
        scores = self.scores[name]
        own = [self._format(name, scores[each]) for each in (found.baseline, found.system)]
        return [
            name,
            *([found.baseline, found.system] if self.all_pairs else [found.system]),
            *(own if self.all_pairs else own[1:]),
            self._format(name, found.difference, "+"),
            *([interval] if self.test == "bs" else []),
            format_p(found.p),
            format_p(found.p_holm),
            found.verdict,
            f"{found.wins}/{found.ties}/{found.losses}",
        ]

    def _format(self, metric: str, value: float | None, sign: str = "") -> str:
        if value is None or (sign and math.isnan(value)):
            return ""
        return format_score(value, self.metrics[metric].digits, sign)

    @property
    def notes(self) -> list[str]:
        """How the numbers were computed, in short lines."""
        counts = Counter(own.metric for own in self.comparisons if not math.isnan(own.p))
        count = max(counts.values(), default=0)
        upto = "up to " * any(counts[name] < count for name in self.metrics)
        times = f"{upto}{count} comparison{'s' * (count != 1)} by each metric"
        test = f"{TESTS[self.test]}, {self.samples:,} resamples, seed {self.seed}"
        found = [test + (", p-values as in sacrebleu" if self.sacrebleu_p else "")]
        found.append(f"p (Holm): corrected for {times}; verdict: p (Holm) < {LEVEL:g}")
        return [*found, *direction_note(self.metrics), *self.shared_notes]

    @property
    def shared_notes(self) -> list[str]:
        """Where two systems share fewer segments than there are, in short lines."""
        few = [
            f"{each.metric}, {each.baseline} and {each.system}: {each.segments:,}"
            for each in self.comparisons
            if self.segments is not None and each.segments < self.segments
        ]
        most = "; …" if len(few) > _SHOWN else ""
        head = f"compared on the segments (of {self.segments:,}) for which both have a score: "
        return [head + "; ".join(few[:_SHOWN]) + most] if few else []

    def __repr__(self) -> str:
        table = format_table(self.rows(), "text", self.name_columns)
        return "\n".join([table, "", *self.notes, *self.signatures.values()])

    def _repr_html_(self) -> str:
        notes = "<br>".join(map(html.escape, self.notes))
        return f"{html_table(self.rows(), self.name_columns)}\n<p>{notes}</p>"

    def to_frame(self) -> pa.Table:
        """Return the comparisons as an Arrow table, which pandas and polars take.

        The columns are the fields of `Comparison`.
        """
        import pyarrow as pa

        rows = [each._asdict() for each in self.comparisons]
        text = ("metric", "baseline", "system", "verdict")
        counts = ("wins", "ties", "losses")
        kinds = {name: pa.string() for name in text} | {name: pa.int64() for name in counts}
        schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in Comparison._fields])
        return pa.Table.from_pylist(rows, schema=schema)

    def to_json(self) -> dict[str, Any]:
        """Return everything as an object of lists for JSON."""
        return {
            "test": self.test,
            "samples": self.samples,
            "seed": self.seed,
            "sacrebleu_p": self.sacrebleu_p,
            "scores": {name: dict(own) for name, own in self.scores.items()},
            "comparisons": [
                {**each._asdict(), "segments": each.segments} for each in self.comparisons
            ],
            "signatures": dict(self.signatures),
        }


def compare_systems(
    statistics: Statistics,
    signatures: Mapping[str, str],
    test: str = "bs",
    all_pairs: bool = False,
    samples: int | None = None,
    seed: int = SEED,
    sacrebleu_p: bool = False,
) -> ComparisonResult:
    """Compare systems by their statistics; see `tensormt.significance.compare`.

    Args:
        statistics: Statistics of at least two systems; the first one is the baseline.
        signatures: What reproduces the scores, by metric.
        test: "bs" (paired bootstrap) or "ar" (approximate randomization).
        all_pairs: Compare every system with every other one.
        samples: Number of resamples; None: the rule of `tensormt.resampling.resamples`.
        seed: Seed of the random numbers.
        sacrebleu_p: Whether p-values are computed as in sacrebleu.

    Raises:
        TensorMTError: If there are fewer than two systems or no segments, or a value is not valid.
    """
    found = compare_statistics(statistics, test, all_pairs, samples, seed, sacrebleu_p)
    warn_of_one_segment(min((each.segments for each in found if each.segments), default=0))
    if samples is None:
        samples = sample_count(statistics, test, sacrebleu_p)
    scores = {
        name: dict(zip(statistics.systems, statistics.corpus(name).tolist(), strict=True))
        for name in statistics.metrics
    }
    metrics = statistics.metrics
    return ComparisonResult(
        found,
        scores,
        metrics,
        signatures,
        test,
        samples,
        seed,
        all_pairs,
        sacrebleu_p,
        len(statistics),
    )


@validate(
    device=optional(on_device),
    baseline=optional(string),
    test=one_of(TESTS),
    all_pairs=boolean,
    samples=optional(integer(1)),
    seed=integer(),
    sacrebleu_p=boolean,
)
def compare(
    hyps: Mapping[str, Iterable[str | None]],
    refs: Any,
    baseline: str | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
    trees: bool | tuple[Mapping[str, Lines], Sequence[Lines]] = False,
    data: Any = None,
    rows: bool = False,
    sources: Any = None,
    test: str = "bs",
    all_pairs: bool = False,
    samples: int | None = None,
    seed: int = SEED,
    sacrebleu_p: bool = False,
) -> ComparisonResult:
    """Compare systems with a baseline by any of the metrics, as `tensormt compare` does.

    Args:
        hyps: The outputs of each system, {system: N segments}.
        refs: R streams of N references; `refs[k][i]` is reference k of segment i.
        baseline: Name of the baseline; None: the first system.
        metrics: Metrics, or their names as on the command line.
        parser: Parser, or its name, for metrics that read trees.
        device: Device of the computation; None: the CPU.
        lang: Language of the text, such as "de".
        trees: True if all texts are bracketed trees; or the trees of the texts, as a pair of
            {system: N trees} and R streams of N trees. False: a parser makes the trees.
        data: A data frame or dictionary of columns; hyps and refs then name its columns, as for
            `score`.
        rows: Whether refs are given by segment: `refs[i][k]` is reference k of segment i.
        sources: The source text of each segment, for metrics that read it (`copied`).
        test: "bs" (paired bootstrap) or "ar" (approximate randomization).
        all_pairs: Compare every system with every other one.
        samples: Number of resamples; None: 10,000, more for many systems, fewer for many segments
            (`tensormt.resampling.resamples`).
        seed: Seed of the random numbers.
        sacrebleu_p: Whether p-values are computed as in sacrebleu, with its number of resamples.

    Returns:
        The comparisons, which print as a table.

    Raises:
        TensorMTError: If the inputs do not align, there is one system only, the baseline or a
            metric is unknown, or a value is not valid.

    >>> hyps = {"A": ["a cat sat", "the dog"] * 9, "B": ["a cat sat", "the dog ran"] * 9}
    >>> result = compare(hyps, [["a cat sat", "the dog ran"] * 9], metrics=["chrf"])
    >>> print(str(result).partition("\\np (Holm):")[0])
    metric  system   score  difference      95% interval       p  p (Holm)  verdict  win/tie/loss
    chrf    A        74.06    baseline
    chrf    B       100.00      +25.94  +12.82 to +36.78  0.0015    0.0015   better         9/9/0
    <BLANKLINE>
    paired bootstrap, 10,000 resamples, seed 12345
    >>> result.comparisons[0].verdict, result.to_frame().num_columns
    ('better', 18)
    """
    segments = read_segments(hyps, refs, sources=sources, data=data, rows=rows)
    check_systems(segments.systems)
    if baseline is not None and baseline not in segments.outputs:
        raise TensorMTError(
            f"no system named {baseline!r}: the baseline is one of "
            f"{', '.join(map(repr, segments.systems))}"
        )
    source = read_trees(trees, segments, parser)
    evaluator = Evaluator(metrics, source, device, lang).fit(segments)
    found = Statistics.concat([statistics for _, statistics in evaluator.run(segments)])
    if baseline is not None:
        places = range(len(segments.systems))
        found = found.of_systems(sorted(places, key=lambda k: segments.systems[k] != baseline))
    signatures = evaluator.signatures(segments.reference_count)
    return compare_systems(found, signatures, test, all_pairs, samples, seed, sacrebleu_p)
