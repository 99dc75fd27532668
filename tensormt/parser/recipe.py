"""Recipe: the settings of a training run, with a line of help each (they are options too)."""

from dataclasses import dataclass, field
from typing import Any


def option(default: Any, text: str) -> Any:
    """A dataclass field with a line of help."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Recipe:
    """What a training run is made of; every field is an option of `tensormt train-parser`."""

    epochs: int = option(60, "passes over the training trees")
    tokens: int = option(1500, "tokens a batch")
    rate: float = option(2e-3, "highest learning rate of Adam")
    warmup: int = option(200, "batches until the highest rate")
    average: float = option(0.999, "decay of the running average of the weights")
    clip: float = option(5.0, "norm at which gradients are clipped")
    dropout: float = option(0.33, "dropout of embeddings, LSTM inputs and heads")
    recurrent: float = option(0.2, "dropout of the recurrent weights")
    embedding: int = option(100, "size of word vectors (that of --embed, where given)")
    characters: int = option(100, "size of a word's character vector")
    hidden: int = option(256, "LSTM size, each direction")
    layers: int = option(3, "LSTM layers")
    span: int = option(250, "size of the span head")
    label: int = option(56, "size of the label head")
    min_count: int = option(2, "times a word must be seen to have a vector of its own")
    seed: int = option(1, "seed of weights, dropout and order")

    def model(self) -> dict[str, Any]:
        """The arguments of supar's model."""
        return {
            "n_embed": self.embedding,
            "n_pretrained": self.embedding,
            "n_feat_embed": self.characters,
            "n_char_embed": self.characters // 2,
            "n_char_hidden": self.characters,
            "n_lstm_hidden": self.hidden,
            "n_lstm_layers": self.layers,
            "n_span_mlp": self.span,
            "n_label_mlp": self.label,
            "embed_dropout": self.dropout,
            "encoder_dropout": self.dropout,
            "mlp_dropout": self.dropout,
        }
