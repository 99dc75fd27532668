"""Recipes: the hyperparameters of training, each with a line of help (they are also options).

`Recipe` is that of constituency parsers, `DependencyRecipe` that of dependency parsers; they share
the fields of `BaseRecipe`. `TeacherRecipe` is that of a transformer with the heads of a
constituency parser; of the sizes it uses those of the heads only.
"""

import math
from dataclasses import dataclass, field, fields
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.options import Integer, Number, Option

SIZE = 10_000  # largest size of a layer
MANY = 10**9


def option(default: Any, text: str, low: float, high: float, above: bool = False) -> Any:
    """A dataclass field with a line of help and its range; `above`: the lower bound is excluded."""
    return field(default=default, metadata={"help": text, "range": (low, high, above)})


def override(name: str, default: Any) -> Any:
    """A field of `BaseRecipe` with another default."""
    return field(default=default, metadata=BaseRecipe.__dataclass_fields__[name].metadata)


@dataclass(frozen=True)
class BaseRecipe:
    """The hyperparameters that both kinds of parsers have.

    Raises:
        TensorMTError: If a value is out of range.
    """

    epochs: int = option(60, "passes over the training trees", 1, 100_000)
    tokens: int = option(1500, "tokens per batch", 1, MANY)
    rate: float = option(2e-3, "highest learning rate of Adam", 0, 1, above=True)
    warmup: int = option(200, "batches of linear warm-up", 1, MANY)
    average: float = option(0.999, "decay of the running average of the weights", 0, 1)
    clip: float = option(5.0, "norm at which gradients are clipped", 0, math.inf, above=True)
    dropout: float = option(0.33, "dropout of LSTM inputs and output layers", 0, 0.99)
    recurrent: float = option(0.2, "dropout of the recurrent weights", 0, 0.99)
    embedding: int = option(100, "size of word vectors (that of pretrained ones)", 1, SIZE)
    characters: int = option(100, "size of a word's character vector", 2, SIZE)
    hidden: int = option(256, "LSTM size per direction", 1, SIZE)
    layers: int = option(3, "LSTM layers", 1, 100)
    min_count: int = option(2, "occurrences of a word that has its own vector", 1, MANY)
    seed: int = option(1, "seed of weights, dropout and order", 0, 2**63 - 1)

    def __post_init__(self) -> None:
        for entry in fields(self):
            low, high, above = entry.metadata["range"]
            known: Option = (
                Integer("", low, high, name=entry.name, default=entry.default)
                if isinstance(entry.default, int)
                else Number("", low, high, above, name=entry.name, default=entry.default)
            )
            try:
                known.check(getattr(self, entry.name))
            except TensorMTError as error:
                raise TensorMTError(str(error), options=entry.name) from None

    def model(self) -> dict[str, Any]:
        """Return the arguments of supar's model."""
        return {
            "n_embed": self.embedding,
            "n_pretrained": self.embedding,
            "n_feat_embed": self.characters,
            "n_char_embed": self.characters // 2,
            "n_char_hidden": self.characters,
            "n_lstm_hidden": self.hidden,
            "n_lstm_layers": self.layers,
            "embed_dropout": self.dropout,
            "encoder_dropout": self.dropout,
            "mlp_dropout": self.dropout,
        }


@dataclass(frozen=True)
class Recipe(BaseRecipe):
    """The hyperparameters of a constituency parser.

    >>> Recipe(epochs=10).model()["n_span_mlp"]
    250
    """

    span: int = option(250, "size of the span layer", 1, SIZE)
    label: int = option(56, "size of the label layer", 1, SIZE)

    def model(self) -> dict[str, Any]:
        """Return the arguments of supar's model."""
        return {**super().model(), "n_span_mlp": self.span, "n_label_mlp": self.label}


@dataclass(frozen=True)
class TeacherRecipe(Recipe):
    """The hyperparameters of a transformer with the heads of a constituency parser.

    >>> TeacherRecipe().model()["n_bert_layers"]
    4
    """

    epochs: int = override("epochs", 3)
    tokens: int = override("tokens", 1000)
    rate: float = override("rate", 1e-3)
    dropout: float = override("dropout", 0.2)
    encoder_rate: float = option(1e-4, "highest learning rate of the transformer", 0, 1)
    mixed: int = option(4, "last layers of the transformer that are mixed", 1, 100)

    def model(self) -> dict[str, Any]:
        """Return the arguments of supar's model."""
        dropout = {"encoder_dropout": self.dropout, "mlp_dropout": self.dropout}
        heads = {"n_span_mlp": self.span, "n_label_mlp": self.label}
        return {"n_bert_layers": self.mixed, **heads, **dropout}


@dataclass(frozen=True)
class DependencyRecipe(BaseRecipe):
    """The hyperparameters of a dependency parser.

    >>> DependencyRecipe().epochs
    20
    """

    epochs: int = override("epochs", 20)
    tokens: int = override("tokens", 600)
    warmup: int = override("warmup", 100)
    average: float = override("average", 0.998)
    dropout: float = override("dropout", 0.25)
    recurrent: float = override("recurrent", 0.1)
    hidden: int = override("hidden", 200)
    min_count: int = override("min_count", 3)
    beta: float = option(0.95, "decay of Adam's second moment", 0, 1)
    decay: float = option(0.5, "last part of training, in which the rate falls", 0, 1)
    spread: float = option(0.05, "standard deviation of initial word vectors", 0, 10)
    embed_dropout: float = option(0.33, "dropout of embeddings", 0, 0.99)
    arc: int = option(256, "size of the arc layer", 1, SIZE)
    relation: int = option(80, "size of the relation layer", 1, SIZE)
    tags: float = option(0.5, "weight of the universal tags in the loss", 0, 100)
    balance: float = option(0.3, "0: languages as they are, 1: all as often as the largest", 0, 1)
    min_chars: int = option(3, "occurrences of a character that has its own id", 1, MANY)
    word_chars: int = option(20, "characters of a word that are read, at both ends", 2, 1000)

    def model(self) -> dict[str, Any]:
        """Return the arguments of supar's model."""
        more = {"n_arc_mlp": self.arc, "n_rel_mlp": self.relation}
        return {**super().model(), **more, "embed_dropout": self.embed_dropout}
