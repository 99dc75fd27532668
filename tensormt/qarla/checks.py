"""Argument validation of QARLA.

Checks of values read them back to the host, which synchronizes with the device. Messages count
cases from 1; a place in a tensor is written as its index.
"""

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.queen_counts import TRIPLES
from tensormt.qarla.case_chunks import Cases
from tensormt.validation import boolean, one_of, optional, tensor_of, validate

MAX_METRICS = 16

_MASK = optional(tensor_of("cases", "texts", kind="truth values"))
# Decorator of every public function: validates those of its arguments that are listed here.
check_inputs = validate(
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
    """Raise if there are too many metrics to enumerate their sets."""
    if metrics > MAX_METRICS:
        raise TensorMTError(
            f"{metrics} metrics have 2^{metrics} sets, at most {MAX_METRICS} metrics can be"
            " enumerated: use greedy_set, or give fewer metrics"
        )


def fewest_models(triples: str, leave_one_out: bool) -> int:
    """Return the smallest number of models for which a triple exists.

    >>> fewest_models("pairs", leave_one_out=True)
    3
    """
    return {"all": 1, "pairs": 2, "distinct": 3}[triples] + int(leave_one_out)


def check_cases(
    am: Tensor,
    mm: Tensor,
    triples: str,
    model_mask: Tensor | None,
    peer_mask: Tensor | None,
    *,
    leave_one_out: bool = False,
    diagonal: bool = False,
) -> Cases:
    """Check the similarities of all cases, and that each case has enough models for a triple.

    Args:
        am: x(peer, model) [T,A,M,X].
        mm: x(model, model) [T,M,M,X].
        triples: Which triples of models are used.
        model_mask: bool [T,M]; None: all are present.
        peer_mask: bool [T,A]; None: all are present.
        leave_one_out: Whether triples are formed without one of the models.
        diagonal: Whether x(m, m) is used even if the triples do not use it. Values that are not
            used, such as masked ones, may be anything.
    """
    models, peers = check_similarities(
        am, mm, model_mask, peer_mask, diagonal=diagonal or triples == "all"
    )
    _check_enough_models(models, triples, leave_one_out)
    return Cases(am, mm, models, peers, ragged=model_mask is not None)


def check_similarities(
    am: Tensor,
    mm: Tensor,
    model_mask: Tensor | None,
    peer_mask: Tensor | None,
    *,
    diagonal: bool,
) -> tuple[Tensor, Tensor]:
    """Check shapes and values; return both masks, bool [T,M] and [T,A]; see `check_cases`."""
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
    real_models = _full_mask(model_mask, (cases, models), "model_mask", am.device)
    real_peers = _full_mask(peer_mask, (cases, peers), "peer_mask", am.device)
    without_peer = ~real_peers.any(dim=1)
    if bool(without_peer.any()):
        raise TensorMTError(
            f"case {_first(without_peer) + 1} has no peer: leave the case out or give a peer"
        )
    _check_nan(am, real_peers[:, :, None] & real_models[:, None, :], "am", ("peer", "model"))
    pairs = real_models[:, :, None] & real_models[:, None, :]
    if not diagonal:
        pairs = pairs & ~torch.eye(models, dtype=torch.bool, device=am.device)
    _check_nan(mm, pairs, "mm", ("model", "model"))
    return real_models, real_peers


def check_peers(cases: Cases, aa: Tensor) -> None:
    """Check the similarities between peers that JACK uses, aa [T,A,A,X] without its diagonal."""
    count, peers, _, metrics = cases.am.shape
    if aa.shape != (count, peers, peers, metrics):
        raise TensorMTError(
            f"aa has shape {list(aa.shape)}, am of shape {list(cases.am.shape)} goes with"
            f" {[count, peers, peers, metrics]} = [cases, peers, peers, metrics]"
        )
    counts = cases.peers.sum(dim=1)
    if bool((counts < 2).any()):
        case = _first(counts < 2)
        raise TensorMTError(
            f"case {case + 1} has {int(counts[case])} peer: JACK compares two peers,"
            " leave the case out or give more peers"
        )
    others = ~torch.eye(peers, dtype=torch.bool, device=aa.device)
    both = cases.peers[:, :, None] & cases.peers[:, None, :]
    _check_nan(aa, both & others, "aa", ("peer", "peer"))


def _check_enough_models(model_mask: Tensor, triples: str, leave_one_out: bool) -> None:
    need = fewest_models(triples, leave_one_out)
    counts = model_mask.sum(dim=1)
    if bool((counts < need).any()):
        case = _first(counts < need)
        left = " with one left out" if leave_one_out else ""
        raise TensorMTError(
            f"case {case + 1} has {int(counts[case])} models: triples={triples!r}{left} needs"
            f" at least {need}, leave the case out or give more models"
        )


def _first(flags: Tensor) -> int:
    """Return the index of the first True of bool [T]."""
    return int(flags.int().argmax())


def _full_mask(
    mask: Tensor | None, shape: tuple[int, int], name: str, device: torch.device
) -> Tensor:
    if mask is None:
        return torch.ones(shape, dtype=torch.bool, device=device)
    if mask.shape != shape or mask.dtype != torch.bool:
        raise TensorMTError(
            f"{name} is {mask.dtype} of shape {list(mask.shape)}, expected torch.bool {list(shape)}"
        )
    return mask


def _check_nan(values: Tensor, used: Tensor, name: str, axes: tuple[str, str]) -> None:
    """Raise an error that names the first NaN among the used values [T,·,·,X]."""
    bad = torch.isnan(values) & used[..., None]
    if not bool(bad.any()):
        return
    flat = _first(bad.reshape(-1))
    place = []
    for size in reversed(values.shape):
        place.append(flat % size)
        flat //= size
    metric, second, first, case = place
    raise TensorMTError(
        f"{name}[{case}, {first}, {second}, {metric}] = [case, {axes[0]}, {axes[1]}, metric] is"
        " NaN: every similarity must be a number, mask the text out or drop the metric"
    )
