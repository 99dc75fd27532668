"""How sure QARLA's figures are: cases and systems drawn again, for all sets of metrics at once.

Used by `experiments/validation.py qarla`. A draw is how often each case counts and which systems
are among the peers. QUEEN of a peer does not depend on the other peers, so it is computed once;
KING asks whether any peer stands in a model's way and JACK whether there is a pair of peers, so the
peers in the way of each model, and the partners of each peer, are kept as bits, and a draw of
systems is a mask. Systems drawn twice count twice in a correlation; among peers a copy changes
nothing.
"""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero
from tensormt.metaeval import pearson, spearman
from tensormt.metaeval.resample import bootstrap_counts
from tensormt.qarla.analysis import king_and_correlation
from tensormt.qarla.case_chunks import Cases
from tensormt.qarla.measures import king_cost, king_counts, queen_sets
from tensormt.qarla.similarity_tensors import SimilarityTensors

NEVER = 1 << 30  # stands in the way of a model that passes no triple, whoever the peers are
SEED = 12345
STEP = 50  # draws whose correlations are taken together


def bits(rows: Tensor) -> Tensor:
    """Sets of systems, bool [..., A] -> int64 [...]."""
    return (rows.to(torch.int64) << torch.arange(rows.shape[-1])).sum(dim=-1)


def interval(values: Tensor) -> str:
    """The middle 95% of draws."""
    edges = torch.nanquantile(values, torch.tensor([0.025, 0.975], dtype=values.dtype))
    return "[{:.3f}, {:.3f}]".format(*edges.tolist())


@dataclass(frozen=True)
class Counted:
    """What the draws of a bed need: T cases, A peers, J models of all cases, 2**X sets."""

    queens: Tensor  # float64 [T,A,2**X]
    peers: Tensor  # bool [T,A]
    in_the_way: Tensor  # int32 [J,2**X]: the peers that are as good as the model, as bits
    case: Tensor  # int64 [J]: the case of each model

    @classmethod
    def of(cls, tensors: SimilarityTensors) -> "Counted":
        """Count similarity tensors (triples: pairs; KING leaves one out)."""
        bins = 1 << len(tensors.names)
        count = tensors.am.shape[1]
        queens, found, cases = [], [], []
        for start in range(0, len(tensors.am), 20):
            part = slice(start, start + 20)
            masks = {name: mask[part] for name, mask in tensors.masks.items()}
            queens.append(queen_sets(tensors.am[part], tensors.mm[part], "pairs", **masks))
        cost = king_cost(count, bins)
        cases_of = Cases(tensors.am, tensors.mm, tensors.model_mask, tensors.peer_mask)
        for chunk in cases_of.chunks(cost):
            own, others, _ = king_counts(chunk, True, "pairs", bins)
            way = torch.where(own == 0, NEVER, 0).to(torch.int32)
            for a in range(count):
                way += (others[:, a] >= own).to(torch.int32) << a
            found.append(way[chunk.models])
            cases.append(chunk.cases[:, None].expand(chunk.models.shape)[chunk.models])
        return cls(torch.cat(queens), tensors.peer_mask, torch.cat(found), torch.cat(cases))

    def kings(self, times: Tensor, systems: Tensor) -> Tensor:
        """KING of every set, float64 [2**X], where cases count int64 [T], peers are bool [A]."""
        present = self.peers[:, systems].any(dim=1)
        weight = (times * present)[self.case].to(torch.float32)
        kept = nonzero(weight > 0)
        wins = (self.in_the_way[kept] & int(bits(systems) | NEVER)) == 0
        return ((weight[kept] @ wins.to(torch.float32)) / weight.sum()).to(torch.float64)

    def correlations(
        self, human: dict[str, Tensor], times: Tensor, systems: Tensor
    ) -> list[Tensor]:
        """Pearson's r over systems of mean QUEEN and human scores [A,T], float64 [R,2**X] each.

        Draws R: cases count int64 [R,T], systems int64 [R,A].
        """
        share = times.to(torch.float64)
        seen = (share @ self.peers.to(share))[..., None]
        queens = ((share @ self.queens.flatten(1)).unflatten(1, self.queens.shape[1:]) / seen).mT
        found = []
        for scores in human.values():
            judged = share @ (~scores.isnan()).to(share).T
            people = share @ scores.nan_to_num().T / judged
            real = systems * ((judged > 0) & (seen[..., 0] > 0))
            sides = people.nan_to_num()[:, None], queens.nan_to_num()
            found.append(pearson(sides[0].expand(queens.shape), sides[1], real[:, None]))
        return found


@dataclass(frozen=True)
class Pairs:
    """For JACK of one set of metrics: the partners of each peer as each model sees them."""

    partners: Tensor  # int64 [J,A] as bits
    case: Tensor  # int64 [J]
    peers: Tensor  # bool [T,A]

    @classmethod
    def of(cls, tensors: SimilarityTensors) -> "Pairs":
        """Find the pairs of a bed of the chosen metrics."""
        alive = (tensors.queen() > 0) & tensors.peer_mask
        apart = torch.ones((), dtype=torch.bool)
        for k in range(len(tensors.names)):
            apart = apart & (
                tensors.aa[:, None, :, :, k] <= tensors.am[..., k].transpose(1, 2)[..., None]
            )
        others = ~torch.eye(alive.shape[1], dtype=torch.bool)
        found = bits(apart & (alive[:, :, None] & alive[:, None, :] & others)[:, None])
        case = torch.arange(len(alive))[:, None].expand(tensors.model_mask.shape)
        return cls(found[tensors.model_mask], case[tensors.model_mask], tensors.peer_mask)

    def jack(self, times: Tensor, systems: Tensor) -> float:
        """JACK where cases count int64 [T] and peers are bool [A]."""
        present = self.peers[:, systems].sum(dim=1) >= 2
        weight = (times * present)[self.case].to(torch.float64)
        pair = ((self.partners[:, systems] & bits(systems)) != 0).any(dim=1)
        return float(weight @ pair.to(weight) / weight.sum())

    def subsets_at_most(self, members: Tensor) -> str:
        """How many of all sets of so many systems have no larger JACK than these."""
        once = torch.ones(len(self.peers), dtype=torch.int64)
        own = self.jack(once, members)
        below = total = 0
        for rows in combinations(range(len(members)), int(members.sum())):
            other = torch.zeros_like(members)
            other[list(rows)] = True
            below += self.jack(once, other) <= own + 1e-12
            total += 1
        return f"{below:,} of {total:,}"


@dataclass(frozen=True)
class Drawn:
    """Draws R of KING and of correlations with people, float64 [R,2**X]."""

    kings: Tensor
    correlations: dict[str, Tensor]
    # KING outside the draw of the set and of the single metric that are best within it, [R,2]
    outside: Tensor

    @classmethod
    def of(
        cls, counted: Counted, human: dict[str, Tensor], draws: int, systems_too: bool
    ) -> "Drawn":
        """Draw cases, and systems where wanted."""
        cases, systems = counted.peers.shape
        random = torch.Generator().manual_seed(SEED)
        of_cases = bootstrap_counts(draws, cases, random)
        of_systems = bootstrap_counts(draws, systems, random)
        if not systems_too:
            of_systems = torch.ones_like(of_systems)
        singles = 1 << torch.arange(counted.queens.shape[-1].bit_length() - 1)
        kings, outside = [], []
        for times, chosen in zip(of_cases, of_systems > 0, strict=True):
            kings.append(counted.kings(times, chosen))
            rest = counted.kings((times == 0).to(torch.int64), chosen)
            best = int(kings[-1].argmax()), int(singles[kings[-1][singles].argmax()])
            outside.append(rest[list(best)])
        parts = [
            counted.correlations(human, *drawn)
            for drawn in zip(of_cases.split(STEP), of_systems.split(STEP), strict=True)
        ]
        found = {name: torch.cat(rows) for name, *rows in zip(human, *parts, strict=True)}
        return cls(torch.stack(kings), found, torch.stack(outside))

    def together(self, name: str) -> dict[str, Tensor]:
        """How KING and the correlation with people go together over all sets (Figure 7), [R]."""
        kings, r = self.kings[:, 1:], self.correlations[name][:, 1:]
        real = ~r.isnan()
        quarter = kings.shape[1] // 4
        order = kings.argsort(dim=1, stable=True)
        low, high = r.gather(1, order[:, :quarter]), r.gather(1, order[:, -quarter:])
        return {
            "pearson": pearson(kings, r.nan_to_num(), real),
            "spearman": spearman(kings, r.nan_to_num(), real),
            "quarters": high.nanmean(dim=1) - low.nanmean(dim=1),
        }


def check(tensors: SimilarityTensors, counted: Counted, human: dict[str, Tensor]) -> None:
    """Stop where the counted bed does not give what the package gives, whole or in part."""
    cases, systems = counted.peers.shape
    once = torch.ones(cases, dtype=torch.int64)
    for some in (range(systems), range(0, systems, 2), range(1, systems, 3)):
        part, chosen = tensors.take(peers=list(some)), torch.zeros(systems, dtype=torch.bool)
        chosen[list(some)] = True
        torch.testing.assert_close(counted.kings(once, chosen), part.king_sets())
        for k in (0, len(tensors.names) - 1):
            found = Pairs.of(tensors.take(metrics=[k])).jack(once, chosen)
            expected = float(part.take(metrics=[k]).with_two_peers().jack())
            assert abs(found - expected) < 1e-12, (found, expected)
    everyone = torch.ones(1, systems, dtype=torch.int64)
    for own, scores in zip(
        counted.correlations(human, once[None], everyone), human.values(), strict=True
    ):
        expected = king_and_correlation(tensors, scores)[1]
        torch.testing.assert_close(own[0, 1:], expected[1:], equal_nan=True)
