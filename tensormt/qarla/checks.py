"""What QARLA asks of its similarity tensors, and the sentence it says when it does not get it.

The checks read a few values back to the host: they are the one place of the engine that waits for
the device.
"""

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.queen_counts import TRIPLES
from tensormt.validation import boolean, one_of, optional, tensor_of, validate

MAX_METRICS = 16

_MASK = optional(tensor_of("cases", "texts", kind="truth values"))
# every public function of QARLA checks what it is given by these
CHECKED = validate(
    am=tensor_of("cases", "peers", "models", "metrics"),
    mm=tensor_of("cases", "models", "models", "metrics"),
    aa=tensor_of("cases", "peers", "peers", "metrics"),
    leave_one_out=boolean,
    triples=one_of(TRIPLES),
    model_mask=_MASK,
    peer_mask=_MASK,
    kings=tensor_of("sets"),
)


def check_sets(metrics: int) -> None:
    """Refuse to enumerate more metric sets than fit."""
    if metrics > MAX_METRICS:
        raise TensorMTError(
            f"{metrics} metrics have 2^{metrics} sets, at most {MAX_METRICS} metrics can be"
            " enumerated: use greedy_set, or give fewer metrics"
        )


def fewest_models(triples: str, leave_one_out: bool) -> int:
    """Return the smallest number of models for which a triple exists."""
    return {"all": 1, "pairs": 2, "distinct": 3}[triples] + int(leave_one_out)


def check_similarities(
    am: Tensor,
    mm: Tensor,
    model_mask: Tensor | None,
    peer_mask: Tensor | None,
    *,
    diagonal: bool,
) -> tuple[Tensor, Tensor]:
    """Check shapes and values; return the masks, bool [T,M] and [T,A], all True where absent.

    am [T,A,M,X], mm [T,M,M,X]. Values outside the masks, and x(m, m) unless ``diagonal``, are
    never used and may be anything.
    """
    cases, peers, models, metrics = am.shape
    if mm.shape != (cases, models, models, metrics):
        raise TensorMTError(
            f"mm has shape {list(mm.shape)}, am of shape {list(am.shape)} goes with"
            f" {[cases, models, models, metrics]} = [cases, models, models, metrics]"
        )
    if min(am.shape) == 0:
        raise TensorMTError(
            f"am has shape {list(am.shape)}: at least one case, peer, model and metric is needed"
        )
    real_models = _mask(model_mask, (cases, models), "model_mask", am.device)
    real_peers = _mask(peer_mask, (cases, peers), "peer_mask", am.device)
    _at_least_one_peer(real_peers)
    _no_nan(am, real_peers[:, :, None] & real_models[:, None, :], "am", ("peer", "model"))
    pairs = real_models[:, :, None] & real_models[:, None, :]
    if not diagonal:
        pairs = pairs & ~torch.eye(models, dtype=torch.bool, device=am.device)
    _no_nan(mm, pairs, "mm", ("model", "model"))
    return real_models, real_peers


def check_peers(am: Tensor, aa: Tensor, peer_mask: Tensor) -> None:
    """Check the similarities between peers that JACK adds, aa [T,A,A,X] without its diagonal."""
    cases, peers, _, metrics = am.shape
    if aa.shape != (cases, peers, peers, metrics):
        raise TensorMTError(
            f"aa has shape {list(aa.shape)}, am of shape {list(am.shape)} goes with"
            f" {[cases, peers, peers, metrics]} = [cases, peers, peers, metrics]"
        )
    counts = peer_mask.sum(dim=1)
    if bool((counts < 2).any()):
        case = int((counts < 2).int().argmax())
        raise TensorMTError(
            f"case {case} has {int(counts[case])} peer: JACK compares two peers,"
            " leave the case out or give more peers"
        )
    others = ~torch.eye(peers, dtype=torch.bool, device=aa.device)
    _no_nan(aa, peer_mask[:, :, None] & peer_mask[:, None, :] & others, "aa", ("peer", "peer"))


def check_models(model_mask: Tensor, triples: str, leave_one_out: bool) -> None:
    """Refuse a case with too few models to form a triple."""
    need = fewest_models(triples, leave_one_out)
    counts = model_mask.sum(dim=1)
    if bool((counts < need).any()):
        case = int((counts < need).int().argmax())
        left = " with one left out" if leave_one_out else ""
        raise TensorMTError(
            f"case {case} has {int(counts[case])} models: triples={triples!r}{left} needs at least"
            f" {need}, leave the case out or give more models"
        )


def _mask(mask: Tensor | None, shape: tuple[int, int], name: str, device: torch.device) -> Tensor:
    if mask is None:
        return torch.ones(shape, dtype=torch.bool, device=device)
    if mask.shape != shape or mask.dtype != torch.bool:
        raise TensorMTError(
            f"{name} is {mask.dtype} of shape {list(mask.shape)}, expected torch.bool {list(shape)}"
        )
    return mask


def _at_least_one_peer(peer_mask: Tensor) -> None:
    empty = ~peer_mask.any(dim=1)
    if bool(empty.any()):
        raise TensorMTError(
            f"case {int(empty.int().argmax())} has no peer: leave the case out or give a peer"
        )


def _no_nan(values: Tensor, used: Tensor, name: str, axes: tuple[str, str]) -> None:
    bad = torch.isnan(values) & used[..., None]
    if not bool(bad.any()):
        return
    flat = int(bad.reshape(-1).int().argmax())
    place = []
    for size in reversed(values.shape):
        place.append(flat % size)
        flat //= size
    metric, second, first, case = place
    raise TensorMTError(
        f"{name} is NaN at case {case}, {axes[0]} {first}, {axes[1]} {second}, metric {metric}:"
        " every similarity must be a number, mask the text out or drop the metric"
    )
