"""Expected n-gram matches: clipped counts of token distributions, with gradients.

Let pᵢ be the distribution of token i, independent of the others (the output of a model under
teacher forcing, or of a non-autoregressive one). The expected count of an n-gram g and the clipped
matches of the expected counts are

    E[g] = Σᵢ Πₖ pᵢ₊ₖ(gₖ)        M = Σ over g of the references min(E[g], max over refs of count(g))

(Zhukov & Kretov 2017; Shao et al. 2018). M is an upper bound of the expected clipped matches, since
min is concave; for one-hot distributions it equals the discrete clipped count. Only n-grams of the
references matter, so memory is B·R·T·T', and the vocabulary is accessed by one gather.
`expected_bleu` is BLEU of these counts with add-k smoothing of the orders above 1, which keeps all
logarithms and gradients finite.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad as padded

from tensormt.errors import TensorMTError
from tensormt.kernels.lengths import closest
from tensormt.kernels.ngrams import compare
from tensormt.train.special_tokens import Ids, SpecialIds, values_readable

_TOLERANCE = 0.05  # of the sum of a distribution: the error of bfloat16 over a vocabulary


def expected_matches(
    probabilities: Tensor,
    refs: Tensor,
    lengths: Tensor | None = None,
    ref_lengths: Tensor | None = None,
    *,
    max_order: int = 4,
    pad: Ids = None,
) -> Tensor:
    """Compute the clipped matches of expected n-gram counts.

    Args:
        probabilities: Distributions of the tokens, float [B,T,V].
        refs: Token ids of the references, int [B,R,T'].
        lengths: Lengths of the hypotheses, int [B]; None: T.
        ref_lengths: Lengths of the references, int [B,R]; None: given by `pad`.
        max_order: Largest order N of n-grams.
        pad: Ids of padding in the references.

    Returns:
        Expected clipped matches of orders 1 to N, [B,N], of the type of the probabilities.

    Raises:
        TensorMTError: If shapes or types are invalid, or distributions on the CPU do not sum to 1.

    >>> one_hot = torch.nn.functional.one_hot(torch.tensor([[1, 2, 1]]), 4).double()
    >>> expected_matches(one_hot, torch.tensor([[[1, 2, 3]]]), max_order=2)
    tensor([[2., 1.]], dtype=torch.float64)
    """
    size, width, _ = _check(probabilities, refs)
    refs, theirs, _ = SpecialIds(pad).read(refs, ref_lengths)
    real = _inside(probabilities, _lengths(probabilities, lengths))
    number, other = refs.shape[1:]
    ids = refs.to(torch.int64)
    # ids beyond the end of a reference are not counted, but must be valid indices
    inside = torch.arange(other, device=refs.device) < theirs[..., None]
    index = torch.where(inside, ids, 0).reshape(size, 1, number * other).expand(-1, width, -1)
    each = probabilities.gather(2, index).view(size, width, number, other)
    each = each * real[:, :, None, None]
    clip, first = _reference_counts(ids, theirs, max_order)
    found = []
    together = each
    for n in range(max_order):
        if n:
            # probability of the (n-1)-gram times that of the last token
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
    """Compute BLEU of expected n-gram counts with add-k smoothing.

    One-hot distributions give `BLEU(max_order, "add-k")` of their tokens. If there is no expected
    unigram match, the score and its gradient are 0.

    Args:
        probabilities: Distributions of the tokens, float [B,T,V].
        refs: Token ids of the references, int [B,R,T'].
        lengths: Lengths of the hypotheses, int [B]; None: T.
        ref_lengths: Lengths of the references, int [B,R]; None: given by `pad`.
        max_order: Largest order of n-grams.
        smooth_value: Value k that is added to matches and totals of orders above 1.
        pad: Ids of padding in the references.

    Returns:
        Scores from 0 to 100, [B], of the type of the probabilities.

    Raises:
        TensorMTError: As for `expected_matches`.

    >>> logits = torch.zeros(1, 2, 4, requires_grad=True)
    >>> loss = -expected_bleu(logits.softmax(-1), torch.tensor([[[1, 2]]]), max_order=2).mean()
    >>> loss.backward()
    >>> bool(logits.grad.isfinite().all())
    True
    """
    _check(probabilities, refs)
    refs, theirs, _ = SpecialIds(pad).read(refs, ref_lengths)
    matched = expected_matches(probabilities, refs, lengths, theirs, max_order=max_order)
    ours = _lengths(probabilities, lengths)
    orders = torch.arange(max_order, device=refs.device)
    more = (orders > 0).to(matched.dtype) * smooth_value
    total = (ours[:, None] - orders).clamp_min(0).to(matched.dtype)
    some = matched[:, :1] > 0
    # without matches the logarithm of 1 is used, so that no gradient is infinite
    numerator = torch.where(some & (total + more > 0), matched + more, 1.0)
    denominator = torch.where(some & (total + more > 0), total + more, 1.0)
    reference = closest(ours, theirs).to(matched.dtype)
    length = ours.to(matched.dtype).clamp_min(1)
    penalty = torch.exp((1 - reference / length).clamp_max(0))
    score = 100 * penalty * (numerator / denominator).log().mean(1).exp()
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
    """Lengths int64 [B] between 0 and T; None: T."""
    size, width, _ = probabilities.shape
    if lengths is None:
        return torch.full((size,), width, dtype=torch.int64, device=probabilities.device)
    if lengths.is_floating_point() or lengths.shape != (size,):
        raise TensorMTError(
            f"lengths are {lengths.dtype} {list(lengths.shape)}: expected integers [{size}]"
        )
    return lengths.to(torch.int64).clamp(0, width)


def _inside(probabilities: Tensor, lengths: Tensor) -> Tensor:
    """1 for positions within the lengths, [B,T]; distributions there must sum to 1.

    This is checked on the CPU only, since it would cause a synchronization on other devices.
    """
    width = probabilities.shape[1]
    real = torch.arange(width, device=probabilities.device) < lengths[:, None]
    if values_readable(probabilities):
        total = probabilities.detach().sum(-1, dtype=torch.float64)
        if bool(((total - 1).abs() > _TOLERANCE).logical_and(real).any()):
            worst = total[real][(total[real] - 1).abs().argmax()].item()
            raise TensorMTError(
                f"the probabilities of a token sum to {worst:g}: expected 1, "
                "pass logits.softmax(-1)"
            )
    return real.to(probabilities.dtype)


def _reference_counts(
    refs: Tensor, lengths: Tensor, max_order: int
) -> tuple[list[Tensor], list[Tensor]]:
    """For each order, of the n-gram at each position of the references, [B,R,T'-n+1]:

    its largest count in a reference, and whether this is its first occurrence.
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
