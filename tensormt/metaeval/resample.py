"""Bootstrap confidence intervals, and permutation tests of the difference of two metrics.

Bootstrap: segments (with the outputs of all systems), systems (with all their segments) or both are
drawn with replacement; the interval lies between quantiles of the resampled statistic. A resample
is given by how often each system and segment counts (see `grouping`), so that no segment is
compared with itself.

Permutation test (Deutsch, Dror & Roth 2021): if two metrics are equally good, their scores can be
swapped. Both are standardized and then swapped at random for single outputs (``units="both"``),
systems ("systems") or segments ("segments"). The p-value is the share of permutations whose
difference is at least as large as the observed one, which itself counts. `permutation_test` tests
all pairs of many metrics at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import MAX_RESAMPLES, check_arguments, check_tables
from tensormt.metaeval.correlation import unit_scale
from tensormt.validation import function, integer, number, on_device, one_of, optional, validate

# Human and metric scores of R tables, float64 [R,S,N] both -> the statistic of each [R].
TableStatistic = Callable[[Tensor, Tensor], Tensor]

# How often systems int64 [R,S] and segments int64 [R,N] count (None: once) -> the statistic [R].
ResampledStatistic = Callable[[Tensor | None, Tensor | None], Tensor]

# Number of cells that are in memory at a time.
BLOCK = 1 << 22
# Tolerance for equal differences; the statistics have a scale of about 1.
TOLERANCE = 1e-12
# Units that can be swapped between two metrics.
SWAP_UNITS = ("both", "systems", "segments")


@dataclass(frozen=True)
class Interval:
    """A statistic and its bootstrap confidence interval.

    Args:
        value: Value of the statistic.
        low: Lower end of the interval.
        high: Upper end of the interval.

    >>> Interval(0.5, 0.4, 0.7).low
    0.4
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """The difference of two metrics and its p-value.

    Args:
        value: Statistic of the first metric minus that of the second.
        p: p-value of the permutation test.

    >>> Difference(0.1, 0.03).p < 0.05
    True
    """

    value: float
    p: float


def chunk_sizes(resamples: int, cells: int) -> list[int]:
    """Split resamples into chunks of bounded size.

    Args:
        resamples: Number of resamples.
        cells: Number of cells in memory for each resample.

    Returns:
        Number of resamples of each chunk.

    >>> chunk_sizes(10, BLOCK // 4)
    [4, 4, 2]
    """
    step = max(1, min(resamples, BLOCK // max(1, cells)))
    return [min(step, resamples - start) for start in range(0, resamples, step)]


@validate(
    statistic=function,
    systems=integer(1),
    segments=integer(1),
    resamples=integer(1, MAX_RESAMPLES),
    level=number(0, 1, above=True),
    cells=optional(integer(1)),
    seed=integer(),
    device=on_device,
)
def bootstrap(
    statistic: ResampledStatistic,
    systems: int,
    segments: int,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    draw: Sequence[str] = ("segments",),
    cells: int | None = None,
    seed: int = 12345,
    device: torch.device | str = "cpu",
) -> Interval:
    """Compute a statistic and its bootstrap percentile interval.

    Args:
        statistic: Function of how often systems, int64 [R,S], and segments, int64 [R,N], count
            (None: once each) that returns the statistic of each resample, float64 [R].
        systems: Number of systems S.
        segments: Number of segments N.
        resamples: Number of resamples.
        level: Confidence level, between 0 and 1.
        draw: What is resampled: "segments", "systems" or both.
        cells: Number of cells that the statistic holds in memory for each resample; None: S × N.
        seed: Seed of the random numbers.
        device: Device of the weights.

    Returns:
        Value and interval.

    Raises:
        TensorMTError: If an argument is not valid.

    >>> from tensormt.metaeval import correlate
    >>> human = torch.tensor([[1.0, 2, 3, 4], [2, 1, 4, 5]])
    >>> metric = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.1, 0.2, 0.3, 0.5]])
    >>> def statistic(systems, segments):
    ...     return correlate(human, metric, segments=segments)
    >>> found = bootstrap(statistic, 2, 4, resamples=99)
    >>> round(found.value, 4), found.low < found.value < found.high
    (0.8353, True)
    """
    drawn = as_list(draw, "draw")
    if not drawn or not all(unit in ("systems", "segments") for unit in map(str, drawn)):
        raise TensorMTError(f"draw is {drawn}: expected systems, segments or both")
    if level == 1:
        raise TensorMTError("level is 1, expected a number below 1: choose one such as 0.95")
    random = torch.Generator(device=device).manual_seed(seed)
    found = []
    for size in chunk_sizes(resamples, cells or systems * segments):
        # Segments first: a seed gives the same segments whether or not systems are resampled.
        of_segments = bootstrap_counts(size, segments, random) if "segments" in drawn else None
        of_systems = bootstrap_counts(size, systems, random) if "systems" in drawn else None
        found.append(statistic(of_systems, of_segments))
    edges = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.nanquantile(torch.cat(found).cpu(), edges).tolist()
    return Interval(float(statistic(None, None)), low, high)


def bootstrap_counts(resamples: int, units: int, random: torch.Generator) -> Tensor:
    """Draw units with replacement and count them.

    Args:
        resamples: Number of resamples R.
        units: Number of units n, of which each resample draws n.
        random: Source of random numbers.

    Returns:
        How often each unit was drawn, int64 [R,n].

    >>> bootstrap_counts(2, 5, torch.Generator().manual_seed(0)).sum(1)
    tensor([5, 5])
    """
    chosen = torch.randint(units, (resamples, units), generator=random, device=random.device)
    none = torch.zeros_like(chosen)
    return none.scatter_add_(1, chosen, torch.ones_like(chosen))


def random_swaps(
    human: Tensor, units: str, resamples: int, cells: int, seed: int
) -> Iterator[Tensor]:
    """Draw which units of a table [S,N] are swapped between two metrics.

    Args:
        human: A table of the test set, for its shape and device.
        units: "both", "systems" or "segments".
        resamples: Number of permutations.
        cells: Number of cells in memory for each permutation.
        seed: Seed of the random numbers.

    Yields:
        bool [r,S,N], [r,S,1] or [r,1,N], in chunks of r permutations.
    """
    systems, segments = human.shape
    shapes = {"both": (systems, segments), "systems": (systems, 1), "segments": (1, segments)}
    return swaps_of_shape(shapes[units], resamples, cells, seed, human.device)


def swaps_of_shape(
    shape: Sequence[int], resamples: int, cells: int, seed: int, device: torch.device | str
) -> Iterator[Tensor]:
    """Draw random swaps bool [r, *shape] in chunks; see `random_swaps`."""
    random = torch.Generator(device=device).manual_seed(seed)
    for size in chunk_sizes(resamples, cells):
        yield torch.rand((size, *shape), generator=random, device=device) < 0.5


def p_value(
    null: Tensor, observed: Tensor, two_sided: bool = True, draws: Tensor | None = None
) -> Tensor:
    """Compute the share of permutations that are at least as large as the observed difference.

    Args:
        null: Differences of the permutations [R, ...].
        observed: Observed differences [...], which count as one more permutation. Permutations that
            equal them up to rounding count, and so do permutations without a value (NaN).
        two_sided: Whether absolute differences are compared.
        draws: How many of the permutations count, from the first, int64 [...]; None: all.

    Returns:
        float64 [...]; NaN where there is no observed difference.

    >>> p_value(torch.tensor([0.1, -0.3, 0.2]), torch.tensor(0.2))
    tensor(0.7500, dtype=torch.float64)
    """
    if two_sided:
        null, observed = null.abs(), observed.abs()
    as_large = (null >= observed - TOLERANCE) | null.isnan()
    count: Tensor | int = len(null)
    if draws is not None:
        places = torch.arange(len(null), device=null.device)
        as_large &= places.view(-1, *[1] * draws.dim()) < draws
        count = draws
    p = (as_large.sum(dim=0) + 1).to(torch.float64) / (count + 1)
    return p.masked_fill(observed.isnan(), torch.nan)


@check_arguments
def permutation(
    human: Tensor,
    first: Tensor,
    second: Tensor,
    statistic: TableStatistic,
    *,
    units: str = "both",
    resamples: int = 1000,
    two_sided: bool = True,
    seed: int = 12345,
) -> Difference:
    """Test whether two metrics correlate differently with human scores.

    Args:
        human: Human scores [S,N]; NaN where there is no score.
        first: Scores of the first metric [S,N].
        second: Scores of the second metric [S,N].
        statistic: Function of human and metric scores of R tables, [R,S,N] each, that returns the
            statistic of each, [R]; for example `correlate`.
        units: What is swapped: "both" (single outputs), "systems" or "segments".
        resamples: Number of random permutations.
        two_sided: False tests whether the first metric is better.
        seed: Seed of the random numbers.

    Returns:
        The difference of the statistics and its p-value.

    Raises:
        TensorMTError: If the tables do not have the same shape or an argument is not valid.

    >>> from tensormt.metaeval import correlate
    >>> human = torch.tensor([[1.0, 2, 3, 4], [2, 1, 4, 5]])
    >>> found = permutation(human, human * 2, human.flip(1), correlate, resamples=99)
    >>> round(found.value, 4), found.p
    (1.8065, 0.03)
    """
    function(statistic, "statistic")
    observed, null = permuted_differences(human, first, second, statistic, units, resamples, seed)
    return Difference(float(observed), float(p_value(null, observed, two_sided)))


def permuted_differences(
    human: Tensor,
    first: Tensor,
    second: Tensor,
    statistic: TableStatistic,
    units: str = "both",
    resamples: int = 1000,
    seed: int = 12345,
    cells: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the observed difference of two metrics and those of random permutations.

    Args:
        human: Human scores [S,N].
        first: Scores of the first metric [S,N].
        second: Scores of the second metric [S,N].
        statistic: As in `permutation`.
        units: As in `permutation`.
        resamples: Number of permutations R.
        seed: Seed of the random numbers.
        cells: Number of cells that the statistic holds for each permutation; None: S × N.

    Returns:
        The observed difference, float64 [], and those of the permutations, float64 [R].
    """
    check_tables(human, first)
    check_tables(human, second)
    one_of(SWAP_UNITS)(units, "units")
    present = ~(human.isnan() | first.isnan() | second.isnan())
    human = human.masked_fill(~present, torch.nan)
    first, second = standardize(first, present), standardize(second, present)

    def difference(swap: Tensor) -> Tensor:
        shape = (len(swap), *human.shape)
        one = torch.where(swap, second, first).expand(shape)
        other = torch.where(swap, first, second).expand(shape)
        return statistic(human.expand(shape), one) - statistic(human.expand(shape), other)

    observed = difference(torch.zeros((1, 1, 1), dtype=torch.bool, device=human.device))[0]
    swaps = random_swaps(human, units, resamples, cells or human.numel(), seed)
    return observed, torch.cat([difference(swap) for swap in swaps])


def standardize(scores: Tensor, present: Tensor) -> Tensor:
    """Scale the present items of a table to mean 0 and variance 1.

    Args:
        scores: Scores [S,N].
        present: Which items are used, bool [S,N].

    Returns:
        Scores [S,N]; NaN for other items, 0 if all present scores are equal.

    >>> standardize(torch.tensor([[1.0, 3.0]]), torch.tensor([[True, True]]))
    tensor([[-1.,  1.]])
    """
    count = present.sum()
    scaled, _ = unit_scale(scores.masked_fill(~present, 0.0), -2, -1)
    centred = (scaled - scaled.sum() / count).masked_fill(~present, 0.0)
    spread = (centred.square().sum() / count).sqrt()
    centred = torch.where(spread > 0, centred / spread, torch.zeros_like(centred))
    return centred.masked_fill(~present, torch.nan)
