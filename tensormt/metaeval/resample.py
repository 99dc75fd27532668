"""How sure an agreement is: bootstrap intervals, and permutation tests of a difference.

Both redraw the whole table many times and compute the statistic of all draws in one batch.

Bootstrap: segments are drawn with replacement, with all their systems (``draw_systems`` draws the
systems as well); the interval lies between the quantiles of the redrawn agreements.

Permutation (Deutsch, Dror & Roth 2021): if two metrics are equally good, their scores can be
exchanged. Both are standardised, then exchanged at random for each output (``units="both"``), for
whole systems ("systems") or whole segments ("segments"); p is the share of exchanges that give a
difference at least as large as the one seen, counting the one seen.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.errors import TensorMTError

# Human and metric scores of R redrawn tables, float64 [R,S,N] both -> their agreement [R].
TableStatistic = Callable[[Tensor, Tensor], Tensor]

# Drawn systems int64 [R,S,1] and segments int64 [R,1,N] -> the agreement on each draw [R].
DrawStatistic = Callable[[Tensor, Tensor], Tensor]

# Pairs of items alive at a time.
BLOCK = 1 << 24


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


def _chunks(resamples: int, items: int) -> list[int]:
    """Sizes of chunks of draws, so that even a statistic of all pairs stays within memory."""
    step = max(1, min(resamples, BLOCK // max(1, items**2)))
    return [min(step, resamples - start) for start in range(0, resamples, step)]


def draw_tables(human: Tensor, metric: Tensor, statistic: TableStatistic) -> DrawStatistic:
    """Turn a statistic of two tables [S,N] into one of draws from them."""
    return lambda systems, segments: statistic(human[systems, segments], metric[systems, segments])


def bootstrap(
    statistic: DrawStatistic,
    systems: int,
    segments: int,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    draw_systems: bool = False,
    seed: int = 12345,
    device: torch.device | str = "cpu",
) -> Interval:
    """Return the agreement over all S systems and N segments, with its interval at the level."""
    if resamples < 1 or not 0 < level < 1:
        raise TensorMTError(f"resamples={resamples}, level={level}: expected ≥ 1 and 0 < level < 1")
    random = torch.Generator(device=device).manual_seed(seed)
    rows = torch.arange(systems, device=device)[None, :, None]
    columns = torch.arange(segments, device=device)[None, None, :]
    drawn = []
    for size in _chunks(resamples, systems * segments):
        chosen = torch.randint(segments, (size, 1, segments), generator=random, device=device)
        among = rows
        if draw_systems:
            among = torch.randint(systems, (size, systems, 1), generator=random, device=device)
        drawn.append(statistic(among, chosen))
    edges = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.nanquantile(torch.cat(drawn).cpu(), edges).tolist()
    return Interval(float(statistic(rows, columns)[0]), low, high)


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
    shapes = {"both": human.shape, "systems": (len(human), 1), "segments": (1, human.shape[1])}
    if units not in shapes:
        raise TensorMTError(f"units={units!r} is unknown: use one of {', '.join(shapes)}")
    real = ~(human.isnan() | first.isnan() | second.isnan())
    human = human.masked_fill(~real, torch.nan)
    first, second = _standardised(first, real), _standardised(second, real)
    random = torch.Generator(device=human.device).manual_seed(seed)

    def difference(swap: Tensor) -> Tensor:
        shape = (len(swap), *human.shape)
        one = torch.where(swap, second, first).expand(shape)
        other = torch.where(swap, first, second).expand(shape)
        return statistic(human.expand(shape), one) - statistic(human.expand(shape), other)

    seen = difference(torch.zeros((1, 1, 1), dtype=torch.bool, device=human.device))
    as_large = torch.zeros((), dtype=torch.int64, device=human.device)
    for size in _chunks(resamples, human.numel()):
        swap = torch.rand((size, *shapes[units]), generator=random, device=human.device) < 0.5
        drawn = difference(swap)
        # Exchanging everything gives the seen difference up to rounding: it must count.
        margin = 1e-12
        if two_sided:
            as_large += (drawn.abs() >= seen.abs() - margin).sum()
        else:
            as_large += (drawn >= seen - margin).sum()
    return Difference(float(seen[0]), float((as_large + 1) / (resamples + 1)))


def _standardised(scores: Tensor, real: Tensor) -> Tensor:
    """Take the real items of a table to mean 0 and variance 1; NaN elsewhere, constant stays 0."""
    count = real.sum()
    centred = scores - scores.masked_fill(~real, 0.0).sum() / count
    spread = (centred.masked_fill(~real, 0.0).square().sum() / count).sqrt()
    scaled = torch.where(spread > 0, centred / spread, torch.zeros_like(centred))
    return scaled.masked_fill(~real, torch.nan)
