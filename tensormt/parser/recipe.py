"""Recipes: the settings of a training run, with a line of help each (they are options too).

`Recipe` is that of constituency parsers, `DependencyRecipe` that of dependency parsers; what both
have is named alike.
"""

import math
from dataclasses import dataclass, field, fields
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.options import Integer, Number, Option

SIZE = 10_000  # of a layer
MANY = 10**9


def option(default: Any, text: str, low: float, high: float, above: bool = False) -> Any:
    """A dataclass field with a line of help and its range; `above`: without the lower end."""
    return field(default=default, metadata={"help": text, "range": (low, high, above)})


def check(recipe: Any) -> None:
    """Raise unless every setting is in its range."""
    for entry in fields(recipe):
        low, high, above = entry.metadata["range"]
        known: Option = (
            Integer("", low, high, name=entry.name, default=entry.default)
            if isinstance(entry.default, int)
            else Number("", low, high, above, name=entry.name, default=entry.default)
        )
        try:
            known.check(getattr(recipe, entry.name))
        except TensorMTError as error:
            raise TensorMTError(str(error), options=entry.name) from None


@dataclass(frozen=True)
class Recipe:
    """What a training run is made of; every field is an option of `tensormt train-parser`."""

    epochs: int = option(60, "passes over the training trees", 1, 100_000)
    tokens: int = option(1500, "tokens a batch", 1, MANY)
    rate: float = option(2e-3, "highest learning rate of Adam", 0, 1, above=True)
    warmup: int = option(200, "batches until the highest rate", 1, MANY)
    average: float = option(0.999, "decay of the running average of the weights", 0, 1)
    clip: float = option(5.0, "norm at which gradients are clipped", 0, math.inf, above=True)
    dropout: float = option(0.33, "dropout of embeddings, LSTM inputs and heads", 0, 0.99)
    recurrent: float = option(0.2, "dropout of the recurrent weights", 0, 0.99)
    embedding: int = option(100, "size of word vectors (as pretrained ones have it)", 1, SIZE)
    characters: int = option(100, "size of a word's character vector", 2, SIZE)
    hidden: int = option(256, "LSTM size, each direction", 1, SIZE)
    layers: int = option(3, "LSTM layers", 1, 100)
    span: int = option(250, "size of the span head", 1, SIZE)
    label: int = option(56, "size of the label head", 1, SIZE)
    min_count: int = option(2, "times a word must be seen to have a vector of its own", 1, MANY)
    seed: int = option(1, "seed of weights, dropout and order", 0, 2**63 - 1)

    def __post_init__(self) -> None:
        check(self)

    def model(self) -> dict[str, Any]:
        """The arguments of supar's model."""
        return {
            **_encoder(self),
            "n_span_mlp": self.span,
            "n_label_mlp": self.label,
            "embed_dropout": self.dropout,
        }


@dataclass(frozen=True)
class DependencyRecipe:
    """What a training run on CoNLL-U is made of; every field is an option of `train-parser`."""

    epochs: int = option(20, "passes over the training trees", 1, 100_000)
    tokens: int = option(600, "tokens a batch", 1, MANY)
    rate: float = option(2e-3, "highest learning rate of Adam", 0, 1, above=True)
    beta: float = option(0.95, "decay of Adam's second moment", 0, 1)
    warmup: int = option(100, "batches until the highest rate", 1, MANY)
    decay: float = option(0.5, "share of the run, at its end, in which the rate falls", 0, 1)
    average: float = option(0.998, "decay of the running average of the weights", 0, 1)
    clip: float = option(5.0, "norm at which gradients are clipped", 0, math.inf, above=True)
    spread: float = option(0.05, "standard deviation of fresh word vectors", 0, 10)
    embed_dropout: float = option(0.33, "dropout of embeddings", 0, 0.99)
    dropout: float = option(0.25, "dropout of LSTM inputs and heads", 0, 0.99)
    recurrent: float = option(0.1, "dropout of the recurrent weights", 0, 0.99)
    embedding: int = option(100, "size of word vectors", 1, SIZE)
    characters: int = option(100, "size of a word's character vector", 2, SIZE)
    hidden: int = option(200, "LSTM size, each direction", 1, SIZE)
    layers: int = option(3, "LSTM layers", 1, 100)
    arc: int = option(256, "size of the arc head", 1, SIZE)
    relation: int = option(80, "size of the relation head", 1, SIZE)
    tags: float = option(0.5, "weight of the universal tags in the loss", 0, 100)
    balance: float = option(
        0.3, "0: languages as they are, 1: all read as often as the largest", 0, 1
    )
    min_count: int = option(3, "times a word must be seen to have a vector of its own", 1, MANY)
    min_chars: int = option(3, "times a character must be seen to be known", 1, MANY)
    spelling: int = option(20, "characters of a word that are read, from both its ends", 2, 1000)
    seed: int = option(1, "seed of weights, dropout and order", 0, 2**63 - 1)

    def __post_init__(self) -> None:
        check(self)

    def model(self) -> dict[str, Any]:
        """The arguments of supar's model."""
        return {
            **_encoder(self),
            "n_arc_mlp": self.arc,
            "n_rel_mlp": self.relation,
            "embed_dropout": self.embed_dropout,
        }


def _encoder(recipe: Recipe | DependencyRecipe) -> dict[str, Any]:
    """The arguments of supar's models that both recipes have: sizes of the encoder, dropout."""
    return {
        "n_embed": recipe.embedding,
        "n_pretrained": recipe.embedding,
        "n_feat_embed": recipe.characters,
        "n_char_embed": recipe.characters // 2,
        "n_char_hidden": recipe.characters,
        "n_lstm_hidden": recipe.hidden,
        "n_lstm_layers": recipe.layers,
        "encoder_dropout": recipe.dropout,
        "mlp_dropout": recipe.dropout,
    }
