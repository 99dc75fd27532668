"""Token ids as models and data sets have them: where a text begins and ends, what is no word.

    <pad> <pad> <s> ▁the ▁dog <sep> ▁barks </s> <pad>  →  ▁the ▁dog ▁barks

Ids are read from the left: a run of `pad` and `bos` in front (left padding, the decoder's start,
which is the padding id in T5 and the end in BART) is passed over; the first `pad` or `eos` after it
ends the text; `skip` and −100, the label that Hugging Face's losses ignore, are left out wherever
they stand. Lengths that are given say where the text ends in place of `pad` and `eos`. What is left
moves to the front. All of it goes by shapes: nothing waits for the device.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import on_cpu

IGNORED = -100  # the label that Hugging Face and torch's cross entropy ignore
_FEW = 6  # ids that are compared one by one

Ids = int | Collection[int] | None


class Words(NamedTuple):
    """What is left of ids [...,T]: at the front of ids [...,T], as many as lengths [...]."""

    ids: Tensor
    lengths: Tensor
    kept: Tensor  # bool [...,T]: which of the ids that were given are left


@dataclass(frozen=True)
class SpecialIds:
    """Ids that are no words; none, one or several of each kind (see the module)."""

    pad: Ids = None
    eos: Ids = None
    bos: Ids = None
    skip: Ids = None

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, model: Any = None) -> SpecialIds:
        """Those of a Hugging Face tokenizer, and of a model's settings where it is given.

        All its special ids are left out but that of unknown words, which are words.
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
        # nothing that Hugging Face generates follows the end, so an end in front is BART's start
        bos |= eos
        return cls(*(tuple(sorted(k)) for k in (pad, eos, bos, special - pad - eos - unknown)))

    def read(self, ids: Tensor, lengths: Tensor | None = None) -> Words:
        """The words of ids [...,T], with lengths int64 [...] where they are known."""
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
        return Words(_to_front(ids, kept, number), number, kept)


def _numbers(owner: Any, *names: str) -> set[int]:
    """The ids that an object has under some names, each an id, several, or None."""
    return {k for name in names for k in _several(getattr(owner, name, None))}


def _several(ids: Any) -> tuple[int, ...]:
    """None, one id or several as a tuple."""
    if ids is None:
        return ()
    return tuple(int(k) for k in ids) if isinstance(ids, Iterable) else (int(ids),)


def _among(ids: Tensor, wanted: Collection[int]) -> Tensor:
    """Which ids are among the wanted ones, bool in the shape of the ids."""
    if len(wanted) > _FEW:
        return torch.isin(ids, torch.tensor(list(wanted), dtype=torch.int64, device=ids.device))
    found = torch.zeros_like(ids, dtype=torch.bool)
    for k in wanted:
        found = found | (ids == k)
    return found


def _to_front(ids: Tensor, kept: Tensor, number: Tensor) -> Tensor:
    """Ids [...,T] with those that are kept moved to the front; what follows them is anything."""
    width = ids.shape[-1]
    if by_values(ids):
        place = torch.arange(width, device=ids.device)
        if torch.equal(kept, place < number[..., None]):
            return ids
    # what is left out goes to one more place, which is cut off
    place = torch.where(kept, kept.cumsum(-1) - 1, width)
    room = ids.new_zeros((*ids.shape[:-1], width + 1))
    return room.scatter(-1, place, ids)[..., :width]


def by_values(ids: Tensor) -> bool:
    """Whether the values of a tensor may be looked at: on the host, and not while compiling."""
    return on_cpu(ids) and not torch.compiler.is_compiling()


def warn_if_empty(lengths: Tensor) -> None:
    """Say so where all hypotheses of a batch are empty: most often the wrong ids were named.

    Only on the host: to look at lengths on another device would wait for it.
    """
    if by_values(lengths) and lengths.numel() and not bool(lengths.any()):
        warn_all_empty(lengths.numel())


def warn_all_empty(number: int) -> None:
    """The warning that all hypotheses of a batch are empty."""
    warnings.warn(
        f"all {number} hypotheses of this batch are empty: see that pad, eos and bos "
        "(SpecialIds.from_tokenizer) are those of the model, and that lengths are right",
        stacklevel=3,
    )


def decoded(
    ids: Tensor, tokenizer: Any, model: Any = None, special: SpecialIds | None = None
) -> list[str]:
    """The text of ids [n,T] by a Hugging Face tokenizer, without what is no word."""
    ids, lengths, _ = (special or SpecialIds.from_tokenizer(tokenizer, model)).read(ids)
    rows = [row[:size] for row, size in zip(ids.tolist(), lengths.tolist(), strict=True)]
    found: list[str] = tokenizer.batch_decode(rows, skip_special_tokens=True)
    return found


def distinct(
    samples: Tensor, lengths: Tensor | None = None, special: SpecialIds | None = None
) -> Tensor:
    """The mask for `minimum_risk`: True for the first of equal samples, bool [B,K] of [B,K,T]."""
    words = (special or SpecialIds()).read(samples, lengths)
    beyond = torch.arange(samples.shape[-1], device=samples.device) >= words.lengths[..., None]
    ids = words.ids.masked_fill(beyond, 0)
    same = (ids[:, :, None] == ids[:, None]).all(-1)
    same = same & (words.lengths[:, :, None] == words.lengths[:, None])
    number = torch.arange(samples.shape[1], device=samples.device)
    earlier = number < number[:, None]
    return ~(same & earlier).any(-1)
