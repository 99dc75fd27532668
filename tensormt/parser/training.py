"""Training of the constituency parser: the CRF loss, averaged weights, checkpoints, resume.

    loss = −Σ_b log p(tree_b) / Σ_b n_b  +  mean over gold spans of −log p(label | span)

as in supar (Zhang, Zhou and Li 2020), made cheap: labels are scored at the 2n−1 gold spans only
(not in all n² cells), the LSTMs run fused, and in bfloat16 where the processor has it. The weights
that are evaluated and kept are a running average of the trained ones (Polyak and Juditsky 1992);
the learning rate falls to zero along a cosine.
"""

import math
import os
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tensormt.parser import model as supar_model
from tensormt.parser.batching import Batch, Corpus
from tensormt.parser.checkpoint import dequantise, quantise
from tensormt.parser.encoder import encode, run_chars
from tensormt.parser.labels import label_scores
from tensormt.parser.model import Settings
from tensormt.parser.recipe import Recipe


@cache
def has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def loss(model: Any, batch: Batch, recurrent: float) -> Tensor:
    """supar's training loss of one batch, float []."""
    kind = batch.words.device.type
    with torch.autocast(kind, torch.bfloat16, enabled=kind != "cpu" or has_bfloat16()):
        chars = F.embedding(batch.types, run_chars(model.char_embed, batch.chars))
        posts = encode(model, batch.words, chars, batch.lengths, recurrent)
        scores = model.span_attn(model.span_mlp_l(posts), model.span_mlp_r(posts)).float()
        b, i, j, gold = batch.spans.unbind(-1)
        left, right = model.label_mlp_l(posts)[b, i], model.label_mlp_r(posts)[b, j]
        logits = label_scores(model.label_attn.weight, left, right).float()
    words = batch.lengths - 2
    tree = supar_model.log_partition(scores, words).sum() - scores[b, i, j].sum()
    total: Tensor = tree / words.sum() + F.cross_entropy(logits, gold)
    return total


def rate_at(step: int, steps: int, recipe: Recipe) -> float:
    """Learning rate: a short linear rise, then a cosine down to zero."""
    rise = min(1.0, (step + 1) / recipe.warmup)
    return recipe.rate * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


class Run(ABC):
    """One training run in a folder; a run that was killed goes on from its last epoch.

    A subclass makes the model and says the loss of a batch.
    """

    def __init__(
        self,
        model: Any,
        settings: Settings,
        recipe: Any,
        folder: Path,
        device: torch.device,
        more: Sequence[Tensor] = (),
        beta: float = 0.9,
    ) -> None:
        """`more`: weights beside the model's, for training only; `beta` of Adam's second moment."""
        self.settings, self.recipe, self.folder, self.device = settings, recipe, folder, device
        self.model = model.to(device)
        self.weights = [p for p in self.model.parameters() if p.requires_grad] + list(more)
        self.optimizer = torch.optim.Adam(self.weights, recipe.rate, (0.9, beta), 1e-12)
        self.averaged = [p.detach().clone() for p in self.weights]
        self.epoch = self.step = 0
        self.best: dict[str, float] = {}
        self.history: list[dict[str, float]] = []

    @abstractmethod
    def loss(self, batch: Any) -> Tensor:
        """The loss of one batch, float []."""

    @abstractmethod
    def rate(self, done: int, batches: int) -> float:
        """The learning rate after some of the batches of this epoch."""

    def train_epoch(self, corpus: Corpus, tick: Callable[[int], object]) -> float:
        """One pass over the corpus; `tick` hears how many sentences each batch held."""
        recipe = self.recipe
        shuffle = random.Random(f"{recipe.seed}/{self.epoch}")  # a resumed run sees the same order
        plan = corpus.plan(recipe.tokens, shuffle)
        total = torch.zeros((), dtype=torch.float64)
        self.model.train()
        for done, members in enumerate(plan):
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate(done, len(plan))
            value = self.loss(corpus.batch(members).to(self.device))
            self.optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(value)
            torch.nn.utils.clip_grad_norm_(self.weights, recipe.clip)
            self.optimizer.step()
            self.step += 1
            keep = min(recipe.average, (1 + self.step) / (10 + self.step))
            torch._foreach_lerp_(self.averaged, [p.detach() for p in self.weights], 1 - keep)
            total += value.detach().double().cpu()
            tick(len(members))
        self.epoch += 1
        return float(total) / len(plan)

    def swap(self) -> None:
        """Exchange the trained and the averaged weights."""
        for weight, mean in zip(self.weights, self.averaged, strict=True):
            kept = weight.detach().clone()
            weight.data.copy_(mean)
            mean.copy_(kept)

    def save(self) -> None:
        """Write the checkpoint of this epoch, whole or not at all."""
        state = {
            "weights": [p.detach() for p in self.weights],
            "averaged": self.averaged,
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "step": self.step,
            "best": self.best,
            "history": self.history,
            "random": torch.get_rng_state(),
        }
        temporary = self.folder / "checkpoint.pt.tmp"
        torch.save(state, temporary)
        os.replace(temporary, self.folder / "checkpoint.pt")

    def resume(self) -> bool:
        """Take up the checkpoint in the folder; False where there is none."""
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return False
        state = torch.load(path, map_location="cpu", weights_only=True)
        for weight, kept in zip(self.weights, state["weights"], strict=True):
            weight.data.copy_(kept)
        self.averaged = [mean.to(self.device) for mean in state["averaged"]]
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step = state["epoch"], state["step"]
        self.best, self.history = state["best"], state["history"]
        torch.set_rng_state(state["random"])
        return True


class Trainer(Run):
    """A run of the constituency parser."""

    def __init__(
        self,
        settings: Settings,
        recipe: Recipe,
        folder: Path,
        vectors: dict[str, list[float]],
        device: torch.device,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.parser = supar_model.build(settings, training=True)
        if vectors:
            self._place(vectors, self.parser.model, settings)
        super().__init__(self.parser.model, settings, recipe, folder, device)

    def loss(self, batch: Batch) -> Tensor:
        """supar's training loss."""
        return loss(self.model, batch, self.recipe.recurrent)

    def rate(self, done: int, batches: int) -> float:
        """A cosine over all epochs."""
        return rate_at(self.step, self.recipe.epochs * batches, self.recipe)

    @staticmethod
    def _place(vectors: dict[str, list[float]], model: Any, settings: Settings) -> None:
        """Put external vectors into the model, scaled to unit variance as supar does."""
        index = {word: i for i, word in enumerate(settings["words"])}
        table = model.pretrained.weight.data
        rows = torch.tensor([index[word] for word in vectors])
        table[rows] = torch.tensor(list(vectors.values()))
        table /= table.std()
        table.copy_(dequantise(*quantise(table)))  # trained on what will be kept
