"""Expected n-gram matches: clipped counts of token distributions, with gradients.

With pᵢ the distribution of token i, independent of the others (a model's output under teacher
forcing, or a non-autoregressive one), an n-gram g is expected

    E[g] = Σᵢ Πₖ pᵢ₊ₖ(gₖ)        times, and        M = Σ over g of the references of
                                                        min( E[g], max over references of count(g) )

is the clipped match of the expected counts (Zhukov & Kretov 2017; Shao et al. 2018). It bounds the
expectation of the clipped match from above, as min is concave; with one-hot distributions it is the
discrete clipped count exactly. Only n-grams of the references matter, so memory is B·R·T·T' and the
vocabulary enters through one gather. `expected_bleu` puts the counts into BLEU with add-k smoothing
of the orders above 1, which keeps every logarithm, and so every gradient, finite.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad as padded

from tensormt.errors import TensorMTError
from tensormt.kernels.lengths import closest
from tensormt.kernels.ngrams import compare
from tensormt.train.special_tokens import Ids, SpecialIds, by_values

_SLACK = 0.05  # by which a distribution may miss 1: what bfloat16 over a vocabulary leaves


def expected_matches(
    probabilities: Tensor,
    refs: Tensor,
    lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    max_order: int = 4,
    pad: Ids = None,
) -> Tensor:
    """Clipped matches of the expected counts, [B,N] in the type of the probabilities.

    probabilities [B,T,V], refs ids [B,R,T'], lengths [B] (None: T) and [B,R] (None: by `pad`).
    """
    size, width, _ = _check(probabilities, refs)
    refs, theirs, _ = SpecialIds(pad).read(refs, ref_lengths)
    real = _inside(probabilities, _lengths(probabilities, lengths))
    number, other = refs.shape[1:]
    ids = refs.to(torch.int64)
    # beyond the end of a reference any id will do: what it gives is not counted
    inside = torch.arange(other, device=refs.device) < theirs[..., None]
    index = torch.where(inside, ids, 0).reshape(size, 1, number * other).expand(-1, width, -1)
    each = probabilities.gather(2, index).view(size, width, number, other)
    each = each * real[:, :, None, None]
    clip, first = _reference_counts(ids, theirs, max_order)
    found = []
    together = each
    for n in range(max_order):
        if n:
            # an n-gram's probability: that of the one before times its last word's
            together = together[:, :-1, :, :-1] * each[:, n:, :, n:]
        expected = together.sum(1)
        most = clip[n].to(expected.dtype)
        found.append((torch.minimum(expected, most) * first[n]).sum((1, 2)))
    return torch.stack(found, 1)


def expected_bleu(
    probabilities: Tensor,
    refs: Tensor,
    lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    max_order: int = 4,
    smooth_value: float = 1.0,
    pad: Ids = None,
) -> Tensor:
    """BLEU (0 to 100, [B]) of the expected matches, add-k smoothed; arguments as above.

    One-hot distributions give `BLEU(max_order, "add-k")` of their tokens. No expected match in the
    first order gives 0, with a gradient of 0.
    """
    _check(probabilities, refs)
    refs, theirs, _ = SpecialIds(pad).read(refs, ref_lengths)
    matched = expected_matches(probabilities, refs, lengths, theirs, max_order=max_order)
    ours = _lengths(probabilities, lengths)
    orders = torch.arange(max_order, device=refs.device)
    more = (orders > 0).to(matched.dtype) * smooth_value
    total = (ours[:, None] - orders).clamp_min(0).to(matched.dtype)
    some = matched[:, :1] > 0
    # where there is nothing the logarithm of 1 stands in, so that no gradient is infinite
    share = torch.where(some & (total + more > 0), matched + more, 1.0)
    whole = torch.where(some & (total + more > 0), total + more, 1.0)
    near = closest(ours, theirs).to(matched.dtype)
    length = ours.to(matched.dtype).clamp_min(1)
    penalty = torch.exp((1 - near / length).clamp_max(0))
    score = 100 * penalty * (share / whole).log().mean(1).exp()
    return torch.where(some[:, 0], score, 0.0)


def _check(probabilities: Tensor, refs: Tensor) -> tuple[int, int, int]:
    if probabilities.dim() != 3 or refs.dim() != 3 or len(probabilities) != len(refs):
        raise TensorMTError(
            f"probabilities of shape {list(probabilities.shape)} and references of shape "
            f"{list(refs.shape)}: expected [B,T,V] and [B,R,T]"
        )
    if not probabilities.is_floating_point() or refs.is_floating_point() or not refs.shape[1]:
        raise TensorMTError(
            f"probabilities are {probabilities.dtype}, references {refs.dtype} "
            f"{list(refs.shape)}: expected floats, and integers [B,R,T] with R of at least 1"
        )
    size, width, words = probabilities.shape
    return size, width, words


def _lengths(probabilities: Tensor, lengths: Tensor | None) -> Tensor:
    """Lengths int64 [B] between 0 and T; without any, T."""
    size, width, _ = probabilities.shape
    if lengths is None:
        return torch.full((size,), width, dtype=torch.int64, device=probabilities.device)
    if lengths.is_floating_point() or lengths.shape != (size,):
        raise TensorMTError(
            f"lengths are {lengths.dtype} {list(lengths.shape)}: expected integers [{size}]"
        )
    return lengths.to(torch.int64).clamp(0, width)


def _inside(probabilities: Tensor, lengths: Tensor) -> Tensor:
    """1 for the places within the lengths, [B,T]; distributions there must add up to 1.

    That is looked at on the host only: elsewhere it would wait for the device.
    """
    width = probabilities.shape[1]
    real = torch.arange(width, device=probabilities.device) < lengths[:, None]
    if by_values(probabilities):
        total = probabilities.detach().sum(-1, dtype=torch.float64)
        if bool(((total - 1).abs() > _SLACK).logical_and(real).any()):
            worst = total[real][(total[real] - 1).abs().argmax()].item()
            raise TensorMTError(
                f"the probabilities of a token add up to {worst:g}: expected 1, "
                "give logits.softmax(-1)"
            )
    return real.to(probabilities.dtype)


def _reference_counts(
    refs: Tensor, lengths: Tensor, max_order: int
) -> tuple[list[Tensor], list[Tensor]]:
    """For the n-gram at each place of the references, an order at a time, [B,R,T'-n+1]:

    its largest count in one reference, and whether it stands here for the first time.
    """
    low = torch.iinfo(refs.dtype).min
    beyond = torch.arange(refs.shape[2] + 1, device=refs.device) >= lengths[..., None]
    rows = padded(refs, (0, 1)).masked_fill(beyond, low + 1).permute(1, 2, 0).contiguous()
    clips: list[list[Tensor]] = [[] for _ in range(max_order)]
    firsts: list[list[Tensor]] = [[] for _ in range(max_order)]
    for r in range(refs.shape[1]):
        ours = torch.where(rows[r, :-1] == low + 1, low, rows[r, :-1])
        for n, order in enumerate(compare(ours, rows, max_order)):
            new = order.rank == 0
            if r:
                new = new & (order.counts[:r].amax(0) == 0)
            place = torch.arange(order.rank.shape[0], device=refs.device)[:, None]
            clips[n].append(order.counts.amax(0).t())
            firsts[n].append((new & (place < lengths[:, r] - n)).t())
    return [torch.stack(c, 1) for c in clips], [torch.stack(f, 1) for f in firsts]
