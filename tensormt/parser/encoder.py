"""supar's sentence encoder with fused LSTM calls: the same parameters and results, but faster.

supar's `VariationalLSTM` iterates over a packed batch step by step in Python, and its `CharLSTM`
reads every token of a batch. Here a layer is one call of torch's LSTM per direction, over padded
rows; the backward direction reads each row reversed within its length,

    reverse[b, t] = length_b − 1 − t   (t < length_b),   else t,

so that padding never precedes a word; and characters are read once per word type. In training,
dropout is that of supar (masks shared along the sentence), except that the recurrent mask is
applied to the weights of a whole batch (Merity et al. 2018), since a fused call cannot apply one
per step.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tensormt.kernels.lstm import flatten, lstm


def reverse_index(lengths: Tensor, width: int) -> Tensor:
    """Return positions that reverse each row within its length: int64 [B] -> int64 [B,width].

    >>> reverse_index(torch.tensor([2, 3]), 3).tolist()
    [[1, 0, 2], [2, 1, 0]]
    """
    place = torch.arange(width, device=lengths.device)
    return torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)


def shared_mask(x: Tensor, p: float) -> Tensor:
    """Draw a dropout mask that is constant along the sentence: float [T,B,D] -> float [1,B,D]."""
    return torch.empty_like(x[:1]).bernoulli_(1 - p) / (1 - p)


def run_cell(cell: nn.LSTMCell, x: Tensor, recurrent: float) -> Tensor:
    """Run one direction of one layer as a fused call: float [T,B,D] -> float [T,B,H]."""
    weights = _cell_weights(cell)
    weights[1] = F.dropout(cell.weight_hh, recurrent, recurrent > 0.0)
    return lstm(x, weights)


def _cell_weights(cell: nn.LSTMCell) -> list[Tensor]:
    """The weights of one direction of one layer of the sentence encoder."""
    return [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]


def _character_weights(layer: nn.LSTM, suffix: str) -> list[Tensor]:
    """The weights of one direction of the character LSTM; suffix "" or "_reverse"."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [getattr(layer, f"{name}_l0{suffix}") for name in names]


def flatten_weights(model: Any) -> None:
    """Store the weights of all LSTM calls of a model as cuDNN reads them, in place."""
    for cell in (*model.encoder.f_cells, *model.encoder.b_cells):
        flatten(_cell_weights(cell))
    for suffix in ("", "_reverse"):
        flatten(_character_weights(model.char_embed.lstm, suffix))


def run_lstm(encoder: Any, x: Tensor, lengths: Tensor, recurrent: float = 0.0) -> Tensor:
    """Run all layers of a supar VariationalLSTM on padded rows: float [B,T,D] -> float [B,T,2H].

    Inside, time is the first dimension; each layer reads its input in both directions.
    """
    rows = torch.arange(len(x), device=x.device)[:, None]
    turn = (reverse_index(lengths, x.shape[1]) * len(x) + rows).T.flatten()

    def turned(y: Tensor) -> Tensor:
        return y.flatten(0, 1).index_select(0, turn).view_as(y)

    x = x.transpose(0, 1).contiguous()
    sides: tuple[Tensor, ...] = ()
    for forward, backward in zip(encoder.f_cells, encoder.b_cells, strict=True):
        back = torch.cat((turned(sides[0]), sides[1]), -1) if sides else turned(x)
        if encoder.training:
            mask = shared_mask(x, encoder.dropout)
            x, back = x * mask, back * mask
        p = recurrent if encoder.training else 0.0
        sides = run_cell(forward, x, p), run_cell(backward, back, p)
        x = torch.cat((sides[0], turned(sides[1])), -1)
    return x.transpose(0, 1)


def run_chars(chars: Any, types: Tensor) -> Tensor:
    """Run supar's CharLSTM on word types: int64 [U,C] (padded) -> float [U,D]."""
    lengths = types.ne(chars.pad_index).sum(-1)
    x = chars.embed(types)
    turn = reverse_index(lengths, types.shape[1])[:, :, None]
    ends = []
    for suffix, row in (("", x), ("_reverse", x.gather(1, turn.expand_as(x)))):
        out = lstm(row, _character_weights(chars.lstm, suffix), batch_first=True)
        last = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, out.shape[-1])
        ends.append(out.gather(1, last).squeeze(1))
    result: Tensor = chars.projection(chars.dropout(torch.cat(ends, -1)))
    return result


def embed(model: Any, words: Tensor, chars: Tensor) -> Tensor:
    """Concatenate word and character vectors: int64 [B,T], float [B,T,C] -> float [B,T,D]."""
    known = words
    if hasattr(model, "pretrained"):
        known = words.masked_fill(words.ge(model.word_embed.num_embeddings), model.args.unk_index)
    word: Tensor = model.word_embed(known)
    if hasattr(model, "pretrained"):
        outer = model.pretrained(words)
        if model.args.n_embed == model.args.n_pretrained:
            word = word + outer
        else:
            word = torch.cat((word, model.embed_proj(outer)), -1)
    return torch.cat(model.embed_dropout(word, chars), -1)


def encode(
    model: Any, words: Tensor, chars: Tensor, lengths: Tensor, recurrent: float = 0.0
) -> Tensor:
    """Encode the fenceposts 0 … n between the words of each sentence.

    Args:
        model: supar's model.
        words: Word ids with a boundary on either side, int64 [B,T+2].
        chars: Character vectors, float [B,T+2,C].
        lengths: Lengths including both boundaries, int64 [B].
        recurrent: Dropout of the recurrent weights in training.

    Returns:
        Vectors of the fenceposts, float [B,T+1,2H].
    """
    x = run_lstm(model.encoder, embed(model, words, chars), lengths, recurrent)
    return fenceposts(model.encoder_dropout(x))


def fenceposts(x: Tensor) -> Tensor:
    """Combine forward and backward states at each fencepost: float [B,T+2,H] -> [B,T+1,H]."""
    ahead, behind = x.chunk(2, -1)
    return torch.cat((ahead[:, :-1], behind[:, 1:]), -1)
