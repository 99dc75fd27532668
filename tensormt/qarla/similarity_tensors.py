"""The similarities of all texts of all cases, from which QUEEN, KING and JACK are computed.

A case has A peers and then M models, padded to the same numbers with absent texts. Every metric
gives a table x(candidate i, reference j) over the N = A + M texts of a case, of which QARLA uses
three parts: peers with models, models with models, and peers with peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.formulas import round_for_ties
from tensormt.kernels.backend import nonzero


@dataclass(frozen=True)
class SimilarityTensors:
    """Similarities by X metrics between the peers and models of T cases.

    Args:
        names: Names of the metrics [X].
        am: x(peer, model), float64 [T,A,M,X].
        mm: x(model, model), float64 [T,M,M,X].
        aa: x(peer, peer), float64 [T,A,A,X].
        model_mask: Which models are present, bool [T,M].
        peer_mask: Which peers are present, bool [T,A].

    >>> table = torch.rand(4, 5, 5, dtype=torch.float64)  # 4 cases, 2 peers and 3 models
    >>> tensors = SimilarityTensors.from_tables({"x": table}, torch.ones(4, 5).bool(), peers=2)
    >>> tensors.am.shape, tensors.queen().shape
    (torch.Size([4, 2, 3, 1]), torch.Size([4, 2]))
    """

    names: tuple[str, ...]
    am: Tensor
    mm: Tensor
    aa: Tensor
    model_mask: Tensor
    peer_mask: Tensor

    @classmethod
    def from_tables(
        cls, tables: dict[str, Tensor], present: Tensor, peers: int
    ) -> SimilarityTensors:
        """Make the tensors from tables of all pairs of texts.

        Args:
            tables: By name of the metric, x(candidate, reference), float64 [T,N,N].
            present: Which texts are present, bool [T,N].
            peers: Number of peers A, which come first.

        Raises:
            TensorMTError: If there is no metric.
        """
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

    def take(self, *, metrics: Sequence[int] = (), peers: Sequence[int] = ()) -> SimilarityTensors:
        """Return the tensors of some metrics and peers, without cases that have no such peer.

        Args:
            metrics: Indices of metrics; empty: all.
            peers: Indices of peers; empty: all.
        """
        kept = list(metrics) or list(range(len(self.names)))
        rows = list(peers) or list(range(self.am.shape[1]))
        cases = nonzero(self.peer_mask[:, rows].any(dim=1))
        return SimilarityTensors(
            tuple(self.names[k] for k in kept),
            self.am[cases][:, rows][..., kept],
            self.mm[cases][..., kept],
            self.aa[cases][:, rows][:, :, rows][..., kept],
            self.model_mask[cases],
            self.peer_mask[cases][:, rows],
        )

    def with_two_peers(self) -> SimilarityTensors:
        """Return the cases with at least two peers, which JACK needs.

        Raises:
            TensorMTError: If there is no such case.
        """
        cases = nonzero(self.peer_mask.sum(dim=1) >= 2)
        if not len(cases):
            raise TensorMTError("no case has two peers: JACK compares two, give more peers")
        parts = (self.am, self.mm, self.aa, self.model_mask, self.peer_mask)
        return SimilarityTensors(self.names, *(part[cases] for part in parts))

    @property
    def masks(self) -> dict[str, Tensor]:
        """The masks as keyword arguments of the functions of `tensormt.qarla`."""
        return {"model_mask": self.model_mask, "peer_mask": self.peer_mask}

    def queen(self, triples: str = "pairs") -> Tensor:
        """Compute QUEEN of every peer with all metrics, float64 [T,A]."""
        return qarla.queen(self.am, self.mm, triples, **self.masks)

    def king_sets(self, leave_one_out: bool = True, triples: str = "pairs") -> Tensor:
        """Compute KING of every metric set, float64 [2**X]."""
        return qarla.king_sets(self.am, self.mm, leave_one_out, triples=triples, **self.masks)

    def jack(self, triples: str = "pairs") -> Tensor:
        """Compute JACK with all metrics, float64 []."""
        return qarla.jack(self.am, self.mm, self.aa, triples, **self.masks)
