"""Spearman's ρ and pair counts of metrics whose scores were swapped, for all permutations at once.

Both depend on the numbers t of items that share a score: Σ t (t - 1) / 2 pairs are tied, and

    Σ r² = (n³ - n - Σ (t³ - t)) / 12

For Spearman's ρ, their running sum T gives the rank of every item, T - (t - 1) / 2, without a
sort. Concordant and discordant pairs are a sum over pairs of items i, j,

    2 (C - D) = Σ_ij w_ij sgn(x_j - x_i)     w = sgn(h_j - h_i)

If e in {0, 1} says which items take the score b instead of a, this sum is quadratic in e. For R
permutations it is one product of the swaps [R,N] with a matrix [N,N], which is the same for all
permutations; the matrix is made in blocks of columns, so that memory stays bounded.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from tensormt.kernels.backend import at_a_time
from tensormt.kernels.kendall import dense
from tensormt.metaeval.correlation import ranks
from tensormt.metaeval.pairs import FORMULAS, PairCounts

# Number of cells of a matrix that are in memory at a time.
CELLS = 1 << 22
# Number of items from which a matrix is computed in blocks of columns.
_SPLIT = 512
# Number of swaps whose tables fit into a CPU's cache.
_PART = 1 << 16
# Statistics of this module.
STATISTICS = ("spearman", *FORMULAS)
# Swaps bool [R,G,N] -> the statistic of both metrics, float64 [R] each.
SwappedStatistic = Callable[[Tensor], tuple[Tensor, Tensor]]


def swapped_statistic(
    human: Tensor,
    first: Tensor,
    second: Tensor,
    statistic: str,
    *,
    pooled: bool = False,
    cells: int = CELLS,
) -> SwappedStatistic:
    """Return a statistic of two metrics as a function of the swaps of their scores.

    Args:
        human: Human scores [G,N] of G groups of N items; NaN where an item is not used.
        first: Scores of the first metric [G,N].
        second: Scores of the second metric [G,N].
        statistic: One of `STATISTICS`.
        pooled: Whether pairs of all groups are counted together, instead of the mean over groups.
        cells: Number of cells of a matrix that are in memory at a time.

    Returns:
        A function from swaps bool [R,G,N] to the statistic of both metrics, float64 [R] each.

    >>> human = torch.tensor([[1.0, 2.0, 3.0]])
    >>> of_swaps = swapped_statistic(human, human, -human, "tau_b")
    >>> [side.tolist() for side in of_swaps(torch.tensor([[[False] * 3], [[True] * 3]]))]
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    present = ~human.isnan()
    twice = torch.cat([present, present], dim=-1)
    # Orders of the scores of both metrics [G,2N].
    order = dense(torch.cat([first, second], dim=-1), twice)
    if statistic == "spearman":
        centred = _centred_ranks(human, present)

        def rho(taken: Tensor) -> Tensor:
            return _rho(centred, order, present, taken).nanmean(dim=-1)

        return lambda swap: (_in_parts(rho, swap), _in_parts(rho, ~swap))
    people = dense(human, present)
    # The same behind the human order.
    joint = dense(torch.cat([people, people], dim=-1) * twice.shape[-1] + order, twice)
    by_human = _tied(_times(people[None], present))

    def tied_pairs(taken: Tensor) -> Tensor:
        tables = (_times(_chosen(numbers, taken), present) for numbers in (order, joint))
        return torch.stack([*map(_tied, tables)], dim=1)

    def value(total: Tensor, taken: Tensor) -> Tensor:
        by_metric, both = _in_parts(tied_pairs, taken).unbind(1)
        counts = _pair_counts(total / 2, present.sum(dim=-1), by_human, by_metric, both)
        if pooled:
            return FORMULAS[statistic](counts.pooled())
        return FORMULAS[statistic](counts).nanmean(dim=-1)

    def of_swaps(swap: Tensor) -> tuple[Tensor, Tensor]:
        first, second = _sums_over_pairs(people, order, present, swap, cells)
        return value(first, swap), value(second, ~swap)

    return of_swaps


def _in_parts(function: Callable[[Tensor], Tensor], swap: Tensor) -> Tensor:
    """Compute a function of swaps [R,G,N] for some permutations at a time."""
    cells = max(swap.shape[1] * swap.shape[2], 1)
    rows = at_a_time(swap, max(1, _PART // cells), 64 * cells)
    return torch.cat([function(part) for part in torch.split(swap, rows)])


def _centred_ranks(human: Tensor, present: Tensor) -> Tensor:
    """Twice the ranks less their mean, exact in float64 [G,N]; 0 where an item is not used."""
    count = present.sum(dim=-1, keepdim=True)
    return (2 * ranks(human, present) - (count + 1)).masked_fill(~present, 0.0)


def _rho(centred: Tensor, order: Tensor, present: Tensor, taken: Tensor) -> Tensor:
    """Compute ρ [R,G] with the scores that items take.

    Args:
        centred: Twice the centred ranks of the human scores [G,N].
        order: As in `_times`, int64 [G,2N].
        present: Which items are used, bool [G,N].
        taken: As in `_times`, bool [R,G,N].
    """
    chosen = _chosen(order, taken)
    times = _times(chosen, present)
    twice = (2 * times.cumsum(dim=-1)).sub_(times)  # twice the rank of a score, less 1
    products = (centred * twice.gather(-1, chosen)).sum(dim=-1) / 4
    count = present.sum(dim=-1)
    squares = (count**3 - count - (times**3 - times).sum(dim=-1)).to(torch.float64) / 12
    norm = (squares * centred.square().sum(dim=-1) / 4).sqrt()
    return (products / norm).clamp(-1.0, 1.0)


def _pair_counts(
    balance: Tensor, count: Tensor, by_human: Tensor, by_metric: Tensor, both: Tensor
) -> PairCounts:
    """Count the kinds of pairs [R,G] of items [G], given C - D and the numbers of tied pairs."""
    ordered = count * (count - 1) // 2 - by_human - by_metric + both
    balance = balance.to(torch.int64)
    return PairCounts(
        (ordered + balance) // 2,
        (ordered - balance) // 2,
        by_human - both,
        by_metric - both,
        both,
    )


def _chosen(numbers: Tensor, taken: Tensor) -> Tensor:
    """Choose the numbers that items take, int64 [R,G,N].

    Args:
        numbers: Numbers of the scores of the first and the second metric, int64 [G,2N].
        taken: Whether items take the score of the second metric, bool [R,G,N].
    """
    first, second = numbers.tensor_split(2, dim=-1)
    return torch.where(taken, second, first)


def _times(chosen: Tensor, present: Tensor) -> Tensor:
    """Count how many items have each number, which stands for a score.

    Args:
        chosen: The number of the score of each item, below 2N, int64 [R,G,N].
        present: Which items are used, bool [G,N].

    Returns:
        int64 [R,G,2N].
    """
    none = chosen.new_zeros((*chosen.shape[:-1], 2 * present.shape[-1]))
    return none.scatter_add_(-1, chosen, present.to(torch.int64).expand(chosen.shape))


def _tied(times: Tensor) -> Tensor:
    """Count pairs of equal scores [...], given how many items have each [...,K]."""
    return ((times * times).sum(dim=-1) - times.sum(dim=-1)) // 2


def _blocks(groups: int, items: int, cells: int) -> Iterator[tuple[slice, slice]]:
    """Split the matrices [G,N,N] of all groups into blocks of groups and columns."""
    # a matrix is symmetric: of several blocks of columns, each needs the rows above its end only
    width = max(1, min(items if items < _SPLIT else -(-items // 6), cells // items))
    height = max(1, cells // (items * width))
    for row in range(0, groups, height):
        for column in range(0, items, width):
            yield slice(row, row + height), slice(column, column + width)


def _sums_over_pairs(
    people: Tensor, order: Tensor, present: Tensor, swap: Tensor, cells: int
) -> tuple[Tensor, Tensor]:
    """Compute Σ_ij sgn(h_j - h_i) sgn(x_j - x_i) of the scores that items have after the swaps.

    Args:
        people: Order of the human scores, int64 [G,N].
        order: Order of the scores of the first and the second metric, int64 [G,2N].
        present: Which items are used, bool [G,N].
        swap: Whether items take the score of the other metric, bool [R,G,N].
        cells: Number of cells of a block of the matrix.

    Returns:
        The sums for both metrics, of which the second takes what the first gives away; float64
        [R,G] each.
    """
    kind = torch.float32  # sums of signs are integers below 2²⁴, which it holds exactly
    first, second = order.to(kind).tensor_split(2, dim=-1)
    heights, swaps = people.to(kind), swap.to(kind).transpose(0, 1)
    sums = torch.zeros((2, *swap.shape[:2]), dtype=torch.float64, device=swap.device)
    for group, part in _blocks(len(present), present.shape[1], cells):
        above = slice(0, part.stop)

        def signs(rows: Tensor, columns: Tensor, g: slice = group, j: slice = part) -> Tensor:
            return (columns[g, None, j] - rows[g, : j.stop, None]).sign_()

        weight = signs(heights, heights) * (
            present[group, above, None] & present[group, None, part]
        )
        weight[:, : part.start] *= 2  # these rows stand for the columns of blocks before this one
        aa, ab, ba, bb = (
            signs(x, y).mul_(weight) for x in (first, second) for y in (first, second)
        )
        here, there = (swaps[group][..., some].to(torch.float64) for some in (part, above))
        for side, (kept, column, row) in enumerate(((aa, ab, ba), (bb, ba, ab))):
            # what the swap of a column changes, and that of a row
            for taken, axis, swapped in ((column, 1, here), (row, 2, there)):
                change = (taken.sum(dim=axis) - kept.sum(dim=axis)).to(torch.float64)
                sums[side, :, group] += (swapped @ change[..., None])[..., 0].T
            sums[side, :, group] += kept.sum(dim=(1, 2), dtype=torch.float64)
        square = swaps[group][..., above] @ aa.sub_(ab).sub_(ba).add_(bb)
        sums[:, :, group] += (square.to(torch.float64) * here).sum(dim=-1).T
    return sums[0], sums[1]
