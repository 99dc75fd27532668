"""Removal of special ids from token ids.

    <pad> <pad> <s> ▁the ▁dog <sep> ▁barks </s> <pad>  →  ▁the ▁dog ▁barks

Ids are read from left to right: `pad` and `bos` at the beginning are skipped (left padding, and the
decoder's start, which is the padding id in T5 and the end in BART); the first `pad` or `eos` after
them ends the text; `skip` and −100, the label that Hugging Face's losses ignore, are left out
everywhere. If lengths are given, they determine the end instead of `pad` and `eos`. The remaining
ids are moved to the front. All sizes follow from the shapes, so there is no synchronization.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import on_cpu

IGNORED = -100  # the label that Hugging Face and torch's cross entropy ignore
_FEW = 6  # largest number of ids that are compared one by one

Ids = int | Collection[int] | None


class ContentIds(NamedTuple):
    """Token ids without special ids.

    Attributes:
        ids: Ids [...,T], of which the first `lengths` count.
        lengths: Number of ids that count, int64 [...].
        kept: Which of the original ids count, bool [...,T].
    """

    ids: Tensor
    lengths: Tensor
    kept: Tensor


@dataclass(frozen=True)
class SpecialIds:
    """Special ids: None, one or several of each kind.

    Args:
        pad: Padding.
        eos: End of the text.
        bos: Beginning of the text, including the decoder's start.
        skip: Ids that are left out at all positions.

    >>> special = SpecialIds(pad=0, eos=1, bos=2)
    >>> special.read(torch.tensor([[2, 7, 8, 1, 0]])).lengths
    tensor([2])
    """

    pad: Ids = None
    eos: Ids = None
    bos: Ids = None
    skip: Ids = None

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, model: Any = None) -> SpecialIds:
        """Return the special ids of a Hugging Face tokenizer.

        All special ids of the tokenizer are left out, except that of unknown words.

        Args:
            tokenizer: The tokenizer.
            model: Model whose configuration has further special ids.
        """
        eos = _numbers(tokenizer, "eos_token_id", "sep_token_id")
        bos = _numbers(tokenizer, "bos_token_id", "cls_token_id")
        pad = _numbers(tokenizer, "pad_token_id")
        for settings in (getattr(model, "config", None), getattr(model, "generation_config", None)):
            eos |= _numbers(settings, "eos_token_id")
            pad |= _numbers(settings, "pad_token_id")
            bos |= _numbers(settings, "bos_token_id", "decoder_start_token_id")
        unknown = _numbers(tokenizer, "unk_token_id") - eos - bos - pad
        special = set(_several(getattr(tokenizer, "all_special_ids", None)))
        # nothing follows the end in generated ids, so an end at the beginning is BART's start
        bos |= eos
        return cls(*(tuple(sorted(k)) for k in (pad, eos, bos, special - pad - eos - unknown)))

    def read(self, ids: Tensor, lengths: Tensor | None = None) -> ContentIds:
        """Remove special ids.

        Args:
            ids: Token ids, int [...,T].
            lengths: Lengths, int [...]; None: given by `pad` and `eos`.

        Raises:
            TensorMTError: If the shape or type of `lengths` is invalid.
        """
        pad, eos, bos = (_several(k) for k in (self.pad, self.eos, self.bos))
        ignored = (IGNORED,) if ids.dtype.is_signed else ()
        left_out = _among(ids, (*ignored, *_several(self.skip)))
        if lengths is None:
            front = _among(ids, (*pad, *bos)) | left_out
            front = front.to(torch.int64).cumprod(-1) > 0
            over = (_among(ids, (*pad, *eos)) & ~front).to(torch.int64).cumsum(-1) > 0
        else:
            if lengths.shape != ids.shape[:-1] or lengths.is_floating_point():
                raise TensorMTError(
                    f"lengths are {lengths.dtype} {list(lengths.shape)} for ids of shape "
                    f"{list(ids.shape)}: expected integers {list(ids.shape[:-1])}"
                )
            front = (_among(ids, bos) | left_out).to(torch.int64).cumprod(-1) > 0
            over = torch.arange(ids.shape[-1], device=ids.device) >= lengths[..., None]
        kept = ~(front | over | left_out)
        number = kept.sum(-1)
        return ContentIds(_to_front(ids, kept, number), number, kept)


def _numbers(owner: Any, *names: str) -> set[int]:
    """The ids of some attributes of an object, each one id, several, or None."""
    return {k for name in names for k in _several(getattr(owner, name, None))}


def _several(ids: Any) -> tuple[int, ...]:
    """None, one id or several as a tuple."""
    if ids is None:
        return ()
    return tuple(int(k) for k in ids) if isinstance(ids, Iterable) else (int(ids),)


def _among(ids: Tensor, wanted: Collection[int]) -> Tensor:
    """Whether each id is among the wanted ones, bool of the shape of the ids."""
    if len(wanted) > _FEW:
        return torch.isin(ids, torch.tensor(list(wanted), dtype=torch.int64, device=ids.device))
    if not wanted:
        return torch.zeros_like(ids, dtype=torch.bool)
    return reduce(torch.logical_or, [ids == k for k in wanted])


def _to_front(ids: Tensor, kept: Tensor, number: Tensor) -> Tensor:
    """Ids [...,T] with those that are kept moved to the front; the others are undefined."""
    width = ids.shape[-1]
    if values_readable(ids):
        place = torch.arange(width, device=ids.device)
        if torch.equal(kept, place < number[..., None]):
            return ids
    # ids that are left out are written to an extra position, which is dropped
    place = torch.where(kept, kept.cumsum(-1) - 1, width)
    target = ids.new_zeros((*ids.shape[:-1], width + 1))
    return target.scatter(-1, place, ids)[..., :width]


def values_readable(ids: Tensor) -> bool:
    """Return whether values can be read without synchronization: on a CPU, and not compiling."""
    return on_cpu(ids) and not torch.compiler.is_compiling()


def warn_if_empty(lengths: Tensor) -> None:
    """Warn if all hypotheses of a batch are empty, usually because of wrong special ids.

    Only on the CPU, since reading lengths causes a synchronization on other devices.
    """
    if values_readable(lengths) and lengths.numel() and not bool(lengths.any()):
        warnings.warn(
            f"all {lengths.numel()} hypotheses of this batch are empty: check that pad, eos and "
            "bos (SpecialIds.from_tokenizer) are those of the model, and that lengths are correct",
            stacklevel=2,
        )


def decode_texts(
    ids: Tensor, tokenizer: Any, model: Any = None, special: SpecialIds | None = None
) -> list[str]:
    """Decode ids with a Hugging Face tokenizer, without special ids.

    Args:
        ids: Token ids, int [n,T].
        tokenizer: The tokenizer.
        model: Model whose configuration has further special ids.
        special: Special ids; None: those of the tokenizer and the model.

    Returns:
        n texts.
    """
    ids, lengths, _ = (special or SpecialIds.from_tokenizer(tokenizer, model)).read(ids)
    rows = [row[:size] for row, size in zip(ids.tolist(), lengths.tolist(), strict=True)]
    found: list[str] = tokenizer.batch_decode(rows, skip_special_tokens=True)
    return found


def distinct(
    samples: Tensor, lengths: Tensor | None = None, special: SpecialIds | None = None
) -> Tensor:
    """Return which samples are the first of equal ones, the mask of `minimum_risk`.

    Args:
        samples: Ids of K samples per segment, int [B,K,T].
        lengths: Their lengths, int [B,K]; None: given by the special ids.
        special: Special ids; None: only −100.

    Returns:
        Mask bool [B,K].

    >>> distinct(torch.tensor([[[1, 2], [1, 2], [3, 4]]]))
    tensor([[ True, False,  True]])
    """
    words = (special or SpecialIds()).read(samples, lengths)
    beyond = torch.arange(samples.shape[-1], device=samples.device) >= words.lengths[..., None]
    ids = words.ids.masked_fill(beyond, 0)
    same = (ids[:, :, None] == ids[:, None]).all(-1)
    same = same & (words.lengths[:, :, None] == words.lengths[:, None])
    number = torch.arange(samples.shape[1], device=samples.device)
    earlier = number < number[:, None]
    return ~(same & earlier).any(-1)
