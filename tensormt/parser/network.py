"""The constituency network: word types to vectors, sentences to span scores, labels and nodes.

The character vector of every word type of the input is computed once; a batch of sentences is then
a table of type ids. The encoder, span scores, best trees, labels and nodes stay on the device.
Models that the fused encoder does not support (transformers) are encoded by supar.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tensormt.kernels.backend import argsort, at_a_time, move
from tensormt.kernels.charts import marginals
from tensormt.kernels.lstm import full_precision
from tensormt.parser.decode import Forest, LabelTable, best_slots, to_forest
from tensormt.parser.encoder import encode, fenceposts, flatten_weights, run_chars
from tensormt.parser.labels import SpanLabeler
from tensormt.parser.model import Settings, supar_encode

HEADS = (("span", "l"), ("span", "r"), ("label", "l"), ("label", "r"))
# word types per batch of the character LSTM on a CPU, and bytes of one elsewhere
TYPES, TYPE_BYTES = 1024, 100_000


@dataclass(frozen=True)
class Lexicon:
    """The word types of an input: their strings, and for the fused encoder ids and vectors.

    word int64 [U+2], chars float [U+2,C]; the last two rows are the boundaries of a sentence.
    """

    types: list[str]
    word: Tensor | None = None
    chars: Tensor | None = None

    def sentences(self, rows: Tensor, lengths: Tensor) -> list[list[str]]:
        """Return the words of sentences, given types int64 [B,T] and lengths int64 [B]."""
        pairs = zip(rows.tolist(), lengths.tolist(), strict=True)
        return [[self.types[i] for i in row[:length]] for row, length in pairs]


def type_vectors(
    model: Any, word: Tensor, chars: Tensor, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Send word types to a device in one copy and compute their character vectors.

    Args:
        model: supar's model.
        word: Word ids, int64 [U].
        chars: Character ids, int64 [U,C], padded with 0.
        device: Device.

    Returns:
        Word ids, int64 [U], and character vectors, float [U,D], on the device.
    """
    sizes = chars.ne(0).sum(-1)
    order = argsort(sizes)  # words of similar length together: less padding
    word, places, flat = move([word, order, chars[order].flatten()], device)
    blocks = torch.split(flat.view(chars.shape), at_a_time(flat, TYPES, TYPE_BYTES))
    widths = sizes[order].tolist()
    parts, end = [], 0
    for block in blocks:
        end += len(block)
        parts.append(run_chars(model.char_embed, block[:, : widths[end - 1]]))
    joined = torch.cat(parts)
    vectors = torch.empty_like(joined)
    vectors[places] = joined
    return word, vectors


class WordFeatures:
    """Converts words to word and character ids, by the settings of a model."""

    def __init__(self, settings: Settings) -> None:
        self.words = {word: i for i, word in enumerate(settings["words"])}
        chars = sorted((ord(c), i) for i, c in enumerate(settings["chars"]) if len(c) == 1)
        self.codes, self.chars = np.array([(-1, 1), *chars]).T  # without any: all unknown
        self.limit: int = settings["fix_len"]

    def __call__(self, types: list[str]) -> tuple[Tensor, Tensor]:
        """Return word ids int64 [U+2] and characters int64 [U+2,C], padded with 0.

        The last two rows are the boundaries of a sentence.
        """
        word = [*(self.words.get(word.lower(), 1) for word in types), 2, 3]
        # an empty word is an unknown character
        cut = [word[: self.limit] or "\0" for word in types]
        codes = np.frombuffer("".join(cut).encode("utf-32-le", "surrogatepass"), np.uint32)
        place = np.searchsorted(self.codes, codes, side="right") - 1
        known = self.codes[place] == codes
        sizes = np.array([*map(len, cut), 1, 1])
        rows = np.zeros((len(sizes), sizes.max()), np.int64)
        ids = np.append(np.where(known, self.chars[place], 1), (2, 3))
        rows[np.arange(rows.shape[1]) < sizes[:, None]] = ids
        return torch.tensor(word, device="cpu"), torch.from_numpy(rows)


class ConstituencyNetwork:
    """A supar constituency model on a device.

    Args:
        parser: supar's parser.
        settings: Settings of the model; None: unknown. Without characters (`chars`), supar's own
            encoder is used.
        device: Device.
        tagged: Whether the model predicts tags.
    """

    kind = "constituency"

    def __init__(
        self, parser: Any, settings: Settings | None, device: torch.device, tagged: bool
    ) -> None:
        self.parser, self.settings, self.device = parser, settings, device
        fused = settings is not None and "chars" in settings
        self.features = WordFeatures(settings) if settings is not None and fused else None
        self.model = parser.model.to(device).eval()
        if fused:
            flatten_weights(self.model)
        labels = parser.transform.CHART.vocab.itos
        every = list(range(len(labels)))
        inside = set(settings["narrow"]) if settings is not None and tagged else None
        narrow = every if inside is None else [i for i in every if labels[i] in inside]
        wide = every if inside is None else [i for i in every if labels[i] not in inside]
        self.table = LabelTable(labels, parser.transform.root, tagged, device)
        self.labeller = SpanLabeler(self.model.label_attn.weight, narrow, wide)
        # the four small layers on top of the encoder are computed as one product
        layers = [getattr(self.model, f"{part}_mlp_{side}") for part, side in HEADS]
        self.sizes = [layer.linear.out_features for layer in layers]
        self.slope = layers[0].activation.negative_slope
        self.weight = torch.cat([layer.linear.weight for layer in layers]).detach()
        self.bias = torch.cat([layer.linear.bias for layer in layers]).detach()

    @torch.inference_mode()
    @full_precision()
    def lexicon(self, types: list[str]) -> Lexicon:
        """Compute ids and character vectors of word types."""
        if self.features is None:
            return Lexicon(types)
        word, chars = self.features(types)
        return Lexicon(types, *type_vectors(self.model, word, chars, self.device))

    def posts(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor) -> Tensor:
        """Encode fenceposts: types int64 [B,T] (-1: padding), [B] -> float [B,T+1,H]."""
        if lexicon.word is None or lexicon.chars is None:
            sentences = lexicon.sentences(rows, lengths)
            return fenceposts(supar_encode(self.parser, sentences, self.device))
        first = len(lexicon.types)
        types = F.pad(rows, (1, 1), value=-1)
        types[:, 0] = first
        types.scatter_(1, lengths[:, None] + 1, first + 1)
        words = lexicon.word[types].masked_fill(types < 0, 0)
        return encode(self.model, words, lexicon.chars[types], lengths + 2)

    def heads(self, posts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute span scores float [B,T+1,T+1] and label vectors of both ends float [B,T+1,D]."""
        x = F.leaky_relu(F.linear(posts, self.weight, self.bias), self.slope)
        span_left, span_right, left, right = torch.split(x, self.sizes, -1)
        return self.model.span_attn(span_left, span_right), left, right

    @torch.inference_mode()
    @full_precision()
    def parse(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor, mbr: bool = True) -> Forest:
        """Parse sentences: types int64 [B,T] (-1: padding), int64 [B] -> Forest."""
        scores, left, right = self.heads(self.posts(lexicon, rows, lengths))
        slots = best_slots(marginals(scores, lengths) if mbr else scores, lengths)
        return to_forest(slots, self.labeller(left, right, slots), self.table)
