"""Padded batches of training sentences.

Sentences of similar length are batched by a token budget; lengths are increased by up to 10 % at
random before sorting, so that the composition of batches differs between epochs.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tensormt.parser.model import Settings
from tensormt.parser.network import WordFeatures
from tensormt.parser.treebank import Example


@dataclass(frozen=True)
class SpanBatch:
    """Sentences as padded ids, with their spans as rows of (sentence, i, j, label)."""

    words: Tensor  # int64 [B,T+2]
    types: Tensor  # int64 [B,T+2]
    chars: Tensor  # int64 [U,C]
    lengths: Tensor  # int64 [B], including both boundaries
    spans: Tensor  # int64 [S,4]
    weights: Tensor  # float32 [S]

    def to(self, device: torch.device) -> "SpanBatch":
        """Return the batch on another device."""
        return SpanBatch(*(tensor.to(device) for tensor in vars(self).values()))


class SpanCorpus:
    """Training sentences as ids, which are batched by a token budget.

    Args:
        examples: The sentences.
        settings: Settings of the model.
        features: Converts word types to ids, as `WordFeatures`, which is the default.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        settings: Settings,
        features: Callable[[list[str]], tuple[Tensor, Tensor]] | None = None,
    ) -> None:
        types = sorted({word for example in examples for word in example.words})
        row = {word: i for i, word in enumerate(types)}
        bos, eos = len(types), len(types) + 1
        label = {name: i for i, name in enumerate(settings["labels"])}
        self.word, self.chars = (features or WordFeatures(settings))(types)
        self.types = [torch.tensor([bos, *(row[w] for w in e.words), eos]) for e in examples]
        self.spans = [
            torch.tensor([(0, i, j, label[name]) for i, j, name in e.spans]) for e in examples
        ]
        self.weights = [torch.tensor(e.weights or [1.0] * len(e.spans)) for e in examples]

    def chosen(self, shuffle: random.Random) -> list[int]:
        """Return the sentences of one epoch: each once."""
        return list(range(len(self.types)))

    def plan(self, budget: int, shuffle: random.Random) -> list[list[int]]:
        """Return the sentence numbers of each batch, in random order."""
        chosen = self.chosen(shuffle)
        keys = [len(self.types[i]) * (1 + 0.1 * shuffle.random()) for i in chosen]
        plan: list[list[int]] = []
        size = 0
        for k in sorted(range(len(keys)), key=keys.__getitem__):
            i = chosen[k]
            if not plan or size + len(self.types[i]) > budget:
                plan.append([])
                size = 0
            plan[-1].append(i)
            size += len(self.types[i])
        shuffle.shuffle(plan)
        return plan

    def numbers(self, members: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return words and types int64 [B,T], characters of the types [U,C] and lengths [B]."""
        rows = [self.types[i] for i in members]
        lengths = torch.tensor([len(row) for row in rows])
        padded = torch.nn.utils.rnn.pad_sequence(rows, True, -1)
        used, types = torch.unique(padded.clamp(min=0), return_inverse=True)
        chars = self.chars[used]
        chars = chars[:, : int(chars.ne(0).sum(-1).max())]
        words = self.word[padded.clamp(min=0)].masked_fill(padded < 0, 0)
        return words, types, chars, lengths

    def batch(self, members: list[int]) -> Any:
        """Return the sentences `members` as one padded batch."""
        numbers = self.numbers(members)
        spans = torch.cat([self.spans[i] for i in members])
        spans[:, 0] = torch.repeat_interleave(
            torch.arange(len(members)), torch.tensor([len(self.spans[i]) for i in members])
        )
        return SpanBatch(*numbers, spans, torch.cat([self.weights[i] for i in members]))
