"""A parser's weights at work: word types to vectors, sentences to span scores and labels.

Every word type of the input is numbered and read by characters once; a batch of sentences is then
a table of type numbers. What follows never leaves the device: encoder, span scores, best trees,
labels at their spans, nodes. Models that the fused encoder does not know (transformers) are
encoded by supar itself, sentence strings in, and share all the rest.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tensormt.kernels.charts import marginals
from tensormt.parser.decode import Forest, LabelTable, best_slots, to_forest
from tensormt.parser.encoder import encode, fenceposts, run_chars
from tensormt.parser.labels import Labeller
from tensormt.parser.model import Settings, supar_encode

HEADS = (("span", "l"), ("span", "r"), ("label", "l"), ("label", "r"))
TYPES = 1024  # word types that are read by characters at once


@dataclass(frozen=True)
class Lexicon:
    """The word types of an input: their strings, and for the fused encoder ids and vectors.

    word int64 [U+2], chars float [U+2,C]; the last two rows are the boundaries of a sentence.
    """

    types: list[str]
    word: Tensor | None = None
    chars: Tensor | None = None


def number_types(types: list[str], settings: Settings) -> tuple[Tensor, Tensor]:
    """Word ids int64 [U+2] and characters int64 [U+2,C] (0 fills up) of types and boundaries."""
    word_ids = {word: i for i, word in enumerate(settings["words"])}
    char_ids = {char: i for i, char in enumerate(settings["chars"])}
    limit = settings["fix_len"]
    word = [*(word_ids.get(word.lower(), 1) for word in types), 2, 3]
    rows = [*([char_ids.get(char, 1) for char in word[:limit]] or [1] for word in types), [2], [3]]
    width = max(len(row) for row in rows)
    filled = [row + [0] * (width - len(row)) for row in rows]
    return torch.tensor(word, device="cpu"), torch.tensor(filled, device="cpu")


class Network:
    """A supar constituency model on a device, run over batches of sentences."""

    kind = "constituency"

    def __init__(
        self, parser: Any, settings: Settings | None, device: torch.device, tagged: bool
    ) -> None:
        self.parser, self.settings, self.device = parser, settings, device
        self.model = parser.model.to(device).eval()
        labels = parser.transform.CHART.vocab.itos
        every = list(range(len(labels)))
        inside = set(settings["narrow"]) if settings is not None and tagged else None
        narrow = every if inside is None else [i for i in every if labels[i] in inside]
        wide = every if inside is None else [i for i in every if labels[i] not in inside]
        self.table = LabelTable(labels, parser.transform.root, tagged, device)
        self.labeller = Labeller(self.model.label_attn.weight, narrow, wide)
        # the four small layers on top of the encoder are one product here
        layers = [getattr(self.model, f"{part}_mlp_{side}") for part, side in HEADS]
        self.sizes = [layer.linear.out_features for layer in layers]
        self.slope = layers[0].activation.negative_slope
        self.weight = torch.cat([layer.linear.weight for layer in layers]).detach()
        self.bias = torch.cat([layer.linear.bias for layer in layers]).detach()

    def lexicon(self, types: list[str]) -> Lexicon:
        """Number word types and read their characters."""
        if self.settings is None:
            return Lexicon(types)
        word, chars = number_types(types, self.settings)
        order = chars.ne(0).sum(-1).argsort()  # short words together: less padding
        parts = []
        for rows in torch.split(order, TYPES):
            block = chars[rows]
            block = block[:, : int(block.ne(0).sum(-1).max())].to(self.device)
            parts.append(run_chars(self.model.char_embed, block))
        vectors = torch.empty_like(torch.cat(parts))
        vectors[order.to(self.device)] = torch.cat(parts)
        return Lexicon(types, word.to(self.device), vectors)

    def posts(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor) -> Tensor:
        """Vectors between words: types int64 [B,T] (-1 fills up), [B] -> float [B,T+1,H]."""
        if lexicon.word is None or lexicon.chars is None:
            pairs = zip(rows.tolist(), lengths.tolist(), strict=True)
            sentences = [[lexicon.types[i] for i in row[:length]] for row, length in pairs]
            return fenceposts(supar_encode(self.parser, sentences, self.device))
        first = len(lexicon.types)
        types = F.pad(rows, (1, 1), value=-1)
        types[:, 0] = first
        types.scatter_(1, lengths[:, None] + 1, first + 1)
        words = lexicon.word[types].masked_fill(types < 0, 0)
        return encode(self.model, words, lexicon.chars[types], lengths + 2)

    def heads(self, posts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Span scores float [B,T+1,T+1], label vectors of left and right ends float [B,T+1,D]."""
        x = F.leaky_relu(F.linear(posts, self.weight, self.bias), self.slope)
        span_left, span_right, left, right = torch.split(x, self.sizes, -1)
        return self.model.span_attn(span_left, span_right), left, right

    @torch.inference_mode()
    def parse(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor, mbr: bool = True) -> Forest:
        """Trees of sentences: types int64 [B,T] (-1 fills up), int64 [B] -> Forest."""
        scores, left, right = self.heads(self.posts(lexicon, rows, lengths))
        slots = best_slots(marginals(scores, lengths) if mbr else scores, lengths)
        return to_forest(slots, self.labeller(left, right, slots), self.table)
