"""Test beds: the similarities of all texts of all cases, for QUEEN, KING and JACK.

A case holds A peers, then M models, padded to the same numbers with absent texts. Every metric is
a table x(candidate i, reference j) over the N = A + M texts of a case; a bed keeps the three parts
that QARLA reads. Any metric of the package is a similarity: each text is prepared once (tokenised,
parsed), and all pairs of all cases are scored as hypotheses with one reference, in large batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import nonzero
from tensormt.kernels.kendall import round_for_ties


@dataclass(frozen=True)
class Bed:
    """Similarities by X metrics between the peers and models of T cases."""

    names: tuple[str, ...]  # [X]
    am: Tensor  # float64 [T,A,M,X]
    mm: Tensor  # float64 [T,M,M,X]
    aa: Tensor  # float64 [T,A,A,X]
    model_mask: Tensor  # bool [T,M]
    peer_mask: Tensor  # bool [T,A]

    @classmethod
    def from_tables(cls, tables: dict[str, Tensor], present: Tensor, peers: int) -> "Bed":
        """Cut tables float64 [T,N,N] by metric name; present bool [T,N], the first A are peers."""
        if not tables:
            raise TensorMTError("no similarity metric was given: name at least one")
        values = round_for_ties(torch.stack(list(tables.values()), dim=-1))
        return cls(
            tuple(tables),
            values[:, :peers, peers:],
            values[:, peers:, peers:],
            values[:, :peers, :peers],
            present[:, peers:],
            present[:, :peers],
        )

    def take(self, *, metrics: Sequence[int] = (), peers: Sequence[int] = ()) -> "Bed":
        """Keep some metrics, some peers (all where none is named), and the cases with a peer."""
        kept = list(metrics) or list(range(len(self.names)))
        rows = list(peers) or list(range(self.am.shape[1]))
        cases = nonzero(self.peer_mask[:, rows].any(dim=1))
        return Bed(
            tuple(self.names[k] for k in kept),
            self.am[cases][:, rows][..., kept],
            self.mm[cases][..., kept],
            self.aa[cases][:, rows][:, :, rows][..., kept],
            self.model_mask[cases],
            self.peer_mask[cases][:, rows],
        )

    def with_two_peers(self) -> "Bed":
        """Keep the cases with at least two peers, which JACK needs."""
        cases = nonzero(self.peer_mask.sum(dim=1) >= 2)
        if not len(cases):
            raise TensorMTError("no case has two peers: JACK compares two, give more peers")
        parts = (self.am, self.mm, self.aa, self.model_mask, self.peer_mask)
        return Bed(self.names, *(part[cases] for part in parts))

    @property
    def masks(self) -> dict[str, Tensor]:
        """The masks as keywords of the QARLA functions."""
        return {"model_mask": self.model_mask, "peer_mask": self.peer_mask}

    def queen(self, triples: str = "pairs") -> Tensor:
        """Return QUEEN of every peer with all metrics, float64 [T,A]."""
        return qarla.queen(self.am, self.mm, triples, **self.masks)

    def king_sets(self, leave_one_out: bool = True, triples: str = "pairs") -> Tensor:
        """Return KING of every metric set, float64 [2**X]."""
        return qarla.king_sets(self.am, self.mm, leave_one_out, triples=triples, **self.masks)

    def jack(self, triples: str = "pairs") -> Tensor:
        """Return JACK with all metrics, float64 []."""
        return qarla.jack(self.am, self.mm, self.aa, triples, **self.masks)
