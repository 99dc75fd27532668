"""Training: the CRF loss of the constituency parser, averaged weights, checkpoints, resuming.

    loss = −Σ_b log p(tree_b) / Σ_b n_b  +  mean over gold spans of −log p(label | span)

as in supar (Zhang, Zhou and Li 2020), but faster: labels are scored at the 2n−1 gold spans only
(not in all n² cells), and the LSTMs are fused and use bfloat16 if the CPU supports it. With the
span and label probabilities of a teacher (`distillation`), the score of a tree is the expected one,
and the mean is weighted by the probabilities. The weights
that are evaluated and saved are a running average of the trained ones (Polyak and Juditsky 1992);
the learning rate follows a cosine to zero.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tensormt.data.atomic_write import atomic_file
from tensormt.parser import model as supar_model
from tensormt.parser.batching import SpanBatch, SpanCorpus
from tensormt.parser.checkpoint import dequantize, quantize
from tensormt.parser.encoder import encode, run_chars
from tensormt.parser.labels import label_scores
from tensormt.parser.model import Settings
from tensormt.parser.recipe import Recipe


@cache
def has_bfloat16() -> bool:
    """Return whether this CPU multiplies bfloat16 in hardware."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def mixed_precision(x: Tensor) -> Any:
    """Return a context in which matrix products use bfloat16 if the device of a tensor can."""
    kind = x.device.type
    return torch.autocast(kind, torch.bfloat16, enabled=kind != "cpu" or has_bfloat16())


def span_loss(model: Any, batch: SpanBatch, recurrent: float) -> Tensor:
    """Compute supar's training loss of one batch, float []."""
    with mixed_precision(batch.words):
        chars = F.embedding(batch.types, run_chars(model.char_embed, batch.chars))
        posts = encode(model, batch.words, chars, batch.lengths, recurrent)
    return head_loss(model, posts, batch)


def head_loss(model: Any, posts: Tensor, batch: SpanBatch) -> Tensor:
    """Compute the loss from the vectors of fenceposts, float [B,T+1,H] -> float []."""
    with mixed_precision(batch.words):
        scores = model.span_attn(model.span_mlp_l(posts), model.span_mlp_r(posts)).float()
        b, i, j, gold = batch.spans.unbind(-1)
        left, right = model.label_mlp_l(posts)[b, i], model.label_mlp_r(posts)[b, j]
        logits = label_scores(model.label_attn.weight, left, right).float()
    words, weights = batch.lengths - 2, batch.weights
    tree = supar_model.log_partition(scores, words).sum() - (weights * scores[b, i, j]).sum()
    label = (weights * F.cross_entropy(logits, gold, reduction="none")).sum() / weights.sum()
    total: Tensor = tree / words.sum() + label
    return total


def cosine_rate(step: int, steps: int, recipe: Recipe) -> float:
    """Return the learning rate: linear warm-up, then a cosine to zero.

    >>> recipe = Recipe(rate=1.0, warmup=2)
    >>> cosine_rate(0, 100, recipe) < cosine_rate(1, 100, recipe), cosine_rate(100, 100, recipe)
    (True, 0.0)
    """
    rise = min(1.0, (step + 1) / recipe.warmup)
    return recipe.rate * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


class Trainer(ABC):
    """A training run in a folder, which can be resumed after its last complete epoch.

    A subclass builds the model and defines the loss and the learning rate.

    Args:
        model: supar's model.
        settings: Its settings.
        recipe: Hyperparameters.
        folder: Folder of the parser and the checkpoint.
        device: Device.
        more: Weights besides those of the model, for training only.
        beta: Decay of Adam's second moment.
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

        self.settings, self.recipe, self.folder, self.device = settings, recipe, folder, device
        self.model = model.to(device)
        self.weights = [p for p in self.model.parameters() if p.requires_grad] + list(more)
        groups = self.groups()
        self.optimizer = torch.optim.Adam(
            groups, recipe.rate, (0.9, beta), 1e-12, fused=device.type in ("cpu", "cuda")
        )
        self.averaged = [p.detach().clone() for p in self.weights]
        self.epoch = self.step = 0
        self.best: dict[str, float] = {}
        self.history: list[dict[str, float]] = []

    def groups(self) -> list[dict[str, Any]]:
        """Return the groups of weights, each with its `scale` of the learning rate."""
        return [{"params": self.weights, "scale": 1.0}]

    @abstractmethod
    def loss(self, batch: Any) -> Tensor:
        """Return the loss of one batch, float []."""

    @abstractmethod
    def rate(self, done: int, batches: int) -> float:
        """Return the learning rate after `done` of the batches of this epoch."""

    def train_epoch(self, corpus: SpanCorpus, progress: Callable[[int], object]) -> float:
        """Train for one epoch; `progress` is called with the number of sentences of each batch.

        Returns:
            The mean loss of the batches.
        """
        recipe = self.recipe
        shuffle = random.Random(f"{recipe.seed}/{self.epoch}")  # the same order in a resumed run
        plan = corpus.plan(recipe.tokens, shuffle)
        total = torch.zeros((), dtype=torch.float64)
        self.model.train()
        for done, members in enumerate(plan):
            for group in self.optimizer.param_groups:
                group["lr"] = group["scale"] * self.rate(done, len(plan))
            value = self.loss(corpus.batch(members).to(self.device))
            self.optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(value)
            torch.nn.utils.clip_grad_norm_(self.weights, recipe.clip)
            self.optimizer.step()
            self.step += 1
            keep = min(recipe.average, (1 + self.step) / (10 + self.step))
            torch._foreach_lerp_(self.averaged, [p.detach() for p in self.weights], 1 - keep)
            total += value.detach().double().cpu()
            progress(len(members))
        self.epoch += 1
        return float(total) / len(plan)

    def swap(self) -> None:
        """Exchange the trained and the averaged weights."""
        for weight, mean in zip(self.weights, self.averaged, strict=True):
            kept = weight.detach().clone()
            weight.data.copy_(mean)
            mean.copy_(kept)

    def save(self) -> None:
        """Write the checkpoint of this epoch atomically."""
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
        with atomic_file(self.folder / "checkpoint.pt") as file:
            torch.save(state, file)

    def resume(self) -> bool:
        """Load the checkpoint of the folder; returns False if there is none."""
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return False
        state = torch.load(path, map_location="cpu", weights_only=True)
        for weight, kept in zip(self.weights, state["weights"], strict=True):
            weight.data.copy_(kept)
        self.averaged = [mean.to(self.device) for mean in state["averaged"]]
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:
            group.setdefault("scale", 1.0)  # runs of earlier versions
        self.epoch, self.step = state["epoch"], state["step"]
        self.best, self.history = state["best"], state["history"]
        torch.set_rng_state(state["random"])
        return True


class ConstituencyTrainer(Trainer):
    """Trains a constituency parser.

    Args:
        settings: Settings of the model.
        recipe: Hyperparameters.
        folder: Folder of the parser and the checkpoint.
        vectors: External word vectors by word; empty: none. They are trained if the settings have
            no external vectors, and constant otherwise.
        device: Device.
    """

    def __init__(
        self,
        settings: Settings,
        recipe: Recipe,
        folder: Path,
        vectors: dict[str, list[float]],
        device: torch.device,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.parser = supar_model.build_constituency(settings, training=True)
        if vectors:
            self._set_vectors(vectors, self.parser.model, settings)
        super().__init__(self.parser.model, settings, recipe, folder, device)

    def loss(self, batch: SpanBatch) -> Tensor:
        """Return supar's training loss."""
        return span_loss(self.model, batch, self.recipe.recurrent)

    def rate(self, done: int, batches: int) -> float:
        """Return the rate of a cosine over all epochs."""
        return cosine_rate(self.step, self.recipe.epochs * batches, self.recipe)

    @staticmethod
    def _set_vectors(vectors: dict[str, list[float]], model: Any, settings: Settings) -> None:
        """Copy external vectors to the model, scaled to unit variance as in supar."""
        index = {word: i for i, word in enumerate(settings["words"])}
        if settings["vectors"]:
            table = model.pretrained.weight.data
        else:
            table = nn.init.zeros_(model.word_embed.weight).data
        rows = torch.tensor([index[word] for word in vectors])
        table[rows] = torch.tensor(list(vectors.values()))
        table /= table.std()
        table.copy_(dequantize(*quantize(table)))  # the values that are saved
