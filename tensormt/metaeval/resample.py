"""How sure an agreement is: bootstrap intervals, and permutation tests of a difference.

Bootstrap: segments are drawn with replacement, with all their systems, or systems with all their
segments, or both; the interval lies between the quantiles of the redrawn agreements. A draw is how
often each system and segment counts (see `levels`): pairs of a segment with itself do not exist.

Permutation (Deutsch, Dror & Roth 2021): if two metrics are equally good, their scores can be
exchanged. Both are standardised, then exchanged at random for each output (``units="both"``), for
whole systems ("systems") or whole segments ("segments"); p is the share of exchanges that give a
difference at least as large as the one seen, counting the one seen. `exchanges` tests all pairs of
many metrics at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import CHECKED, MOST, check_tables
from tensormt.validation import function, integer, number, on_device, one_of, optional, validate

# Human and metric scores of R redrawn tables, float64 [R,S,N] both -> their agreement [R].
TableStatistic = Callable[[Tensor, Tensor], Tensor]

# How often systems int64 [R,S] and segments int64 [R,N] count, None for once each -> agreement [R].
DrawStatistic = Callable[[Tensor | None, Tensor | None], Tensor]

# Cells alive at a time.
BLOCK = 1 << 22
# Differences that rounding sets apart are equal; a scale of 1 is that of correlations.
MARGIN = 1e-12


@dataclass(frozen=True)
class Interval:
    """An agreement and its bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """The agreement of one metric minus that of another, and how easily chance gives as much."""

    value: float
    p: float


def chunks(resamples: int, cells: int) -> list[int]:
    """Sizes of chunks of draws that hold ``cells`` numbers each."""
    step = max(1, min(resamples, BLOCK // max(1, cells)))
    return [min(step, resamples - start) for start in range(0, resamples, step)]


@validate(
    statistic=function,
    systems=integer(1),
    segments=integer(1),
    resamples=integer(1, MOST),
    level=number(0, 1, above=True),
    cells=optional(integer(1)),
    seed=integer(),
    device=on_device,
)
def bootstrap(
    statistic: DrawStatistic,
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
    """Return the agreement over all S systems and N segments, with its interval at the level.

    draw: "segments", "systems" or both; cells: numbers that the statistic of one draw holds.
    """
    drawn = as_list(draw, "draw")
    if not drawn or not all(unit in ("systems", "segments") for unit in map(str, drawn)):
        raise TensorMTError(f"draw is {drawn}: expected systems, segments or both")
    if level == 1:
        raise TensorMTError("an interval at level 1 holds everything: choose less, such as 0.95")
    random = torch.Generator(device=device).manual_seed(seed)
    found = []
    for size in chunks(resamples, cells or systems * segments):
        # Segments first: the same seed draws the same segments, whether systems are drawn or not.
        of_segments = times_drawn(size, segments, random) if "segments" in drawn else None
        of_systems = times_drawn(size, systems, random) if "systems" in drawn else None
        found.append(statistic(of_systems, of_segments))
    edges = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.nanquantile(torch.cat(found).cpu(), edges).tolist()
    return Interval(float(statistic(None, None)), low, high)


def times_drawn(draws: int, units: int, random: torch.Generator) -> Tensor:
    """How often each of the units is drawn in as many draws with replacement, int64 [R,units]."""
    chosen = torch.randint(units, (draws, units), generator=random, device=random.device)
    none = torch.zeros_like(chosen)
    return none.scatter_add_(1, chosen, torch.ones_like(chosen))


def swaps(
    shape: Sequence[int], resamples: int, cells: int, seed: int, device: torch.device | str
) -> Iterator[Tensor]:
    """Draw what changes sides, bool [R, *shape] in chunks."""
    random = torch.Generator(device=device).manual_seed(seed)
    for size in chunks(resamples, cells):
        yield torch.rand((size, *shape), generator=random, device=device) < 0.5


def p_value(null: Tensor, seen: Tensor, two_sided: bool = True) -> Tensor:
    """Return the share of draws at least as large as what was seen, itself counted, float64 [...].

    null [R, ...] are differences under exchange, seen [...]. Exchanging everything gives the seen
    difference up to rounding, and it must count. NaN where there is no difference to test.
    """
    if two_sided:
        null, seen = null.abs(), seen.abs()
    as_large = (null >= seen - MARGIN) | null.isnan()  # a draw without a value speaks for chance
    p = (as_large.sum(dim=0) + 1).to(torch.float64) / (len(null) + 1)
    return p.masked_fill(seen.isnan(), torch.nan)


@CHECKED
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
    """Test whether metric ``first`` agrees better with people than ``second``; tables [S,N]."""
    function(statistic, "statistic")
    seen, null = exchanged(human, first, second, statistic, units, resamples, seed)
    return Difference(float(seen), float(p_value(null, seen, two_sided)))


def exchanged(
    human: Tensor,
    first: Tensor,
    second: Tensor,
    statistic: TableStatistic,
    units: str = "both",
    resamples: int = 1000,
    seed: int = 12345,
    cells: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the difference seen, float64 [], and those of random exchanges, [R].

    cells: numbers that the statistic of one draw holds, where it is more than a table.
    """
    check_tables(human, first)
    check_tables(human, second)
    shapes = {"both": human.shape, "systems": (len(human), 1), "segments": (1, human.shape[1])}
    one_of(shapes)(units, "units")
    real = ~(human.isnan() | first.isnan() | second.isnan())
    human = human.masked_fill(~real, torch.nan)
    first, second = standardised(first, real), standardised(second, real)

    def difference(swap: Tensor) -> Tensor:
        shape = (len(swap), *human.shape)
        one = torch.where(swap, second, first).expand(shape)
        other = torch.where(swap, first, second).expand(shape)
        return statistic(human.expand(shape), one) - statistic(human.expand(shape), other)

    seen = difference(torch.zeros((1, 1, 1), dtype=torch.bool, device=human.device))[0]
    draws = swaps(shapes[units], resamples, cells or human.numel(), seed, human.device)
    return seen, torch.cat([difference(swap) for swap in draws])


def standardised(scores: Tensor, real: Tensor) -> Tensor:
    """Take the real items of a table to mean 0 and variance 1; NaN elsewhere, constant stays 0."""
    count = real.sum()
    centred = scores - scores.masked_fill(~real, 0.0).sum() / count
    spread = (centred.masked_fill(~real, 0.0).square().sum() / count).sqrt()
    scaled = torch.where(spread > 0, centred / spread, torch.zeros_like(centred))
    return scaled.masked_fill(~real, torch.nan)
