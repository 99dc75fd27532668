"""`compute_metrics` for Hugging Face's trainers, with any metrics of the package, in one call.

    Seq2SeqTrainer(…, compute_metrics=compute_metrics(tokenizer, ["bleu", "stm:balance=f1"]))

Predictions are ids as `predict_with_generate=True` gives them, labels the data set's; both hold
padding and −100, both are read as train/special_tokens.py says and decoded by the tokenizer. The
scores are corpus scores on the metrics' scales, named as metrics are typed; `length` is the mean
number of words that were predicted. Nothing of transformers is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.registry import make
from tensormt.segments import Segments
from tensormt.train.naming import label
from tensormt.train.special_tokens import SpecialIds, decoded
from tensormt.train.text_reward import Source


class ComputeMetrics:
    """What a trainer calls with predictions and labels; see `compute_metrics`."""

    def __init__(
        self,
        tokenizer: Any,
        metrics: Sequence[Metric[Any] | str],
        parser: Source,
        references: Sequence[Sequence[str]] | None,
        model: Any,
    ) -> None:
        self.tokenizer, self.references = tokenizer, references
        self.special = SpecialIds.from_tokenizer(tokenizer, model)
        made = [make(each) if isinstance(each, str) else each for each in metrics]
        names = [each if isinstance(each, str) else label(each) for each in metrics]
        if len(set(names)) < len(names) or not names:
            raise TensorMTError(f"metrics are {', '.join(names) or 'none'}: give some that differ")
        self.evaluator = Evaluator(dict(zip(names, made, strict=True)), parser)

    def __call__(self, prediction: Any) -> dict[str, float]:
        """Scores by name, from an EvalPrediction or a pair of predictions and labels."""
        pair = prediction
        outputs = getattr(pair, "predictions", None)
        labels = getattr(pair, "label_ids", None)
        if outputs is None:
            outputs, labels = pair[0], pair[1]
        # models give more than their ids: the first is what they predicted
        outputs = outputs[0] if isinstance(outputs, tuple | list) else outputs
        ids = _ids(outputs, "predictions")
        texts = decoded(ids, self.tokenizer, special=self.special)
        refs = self._references(labels, len(texts))
        statistics = self.evaluator.evaluate(Segments.from_rows({"": texts}, refs))
        found = {name: float(statistics.corpus(name)[0]) for name in self.evaluator.metrics}
        found["length"] = float(self.special.read(ids).lengths.double().mean())
        return found

    def _references(self, labels: Any, number: int) -> Sequence[Sequence[str]]:
        """References [n][R]: those that were given, or the labels."""
        if self.references is None:
            found = decoded(_ids(labels, "labels"), self.tokenizer, special=self.special)
            return [[text] for text in found]
        if len(self.references) != number:
            raise TensorMTError(
                f"{number} predictions, references for {len(self.references)}: give them for "
                "every row of the data set that is evaluated, in its order"
            )
        return [[row] if isinstance(row, str) else row for row in self.references]


def _ids(values: Any, what: str) -> Tensor:
    """Ids int64 [n,T] of an array."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 2:
        raise TensorMTError(
            f"{what} are {array.dtype} {list(array.shape)}: expected ids [n,T], set "
            "predict_with_generate=True (or preprocess_logits_for_metrics to their argmax)"
        )
    return torch.from_numpy(array.astype(np.int64))


def compute_metrics(
    tokenizer: Any,
    metrics: Sequence[Metric[Any] | str] = ("bleu",),
    *,
    parser: Source = "default",
    references: Sequence[Sequence[str]] | None = None,
    model: Any = None,
) -> ComputeMetrics:
    """The `compute_metrics` of a trainer: corpus scores of what was generated, by metric.

    `parser` for metrics on trees, as for TextReward; `references` [n][R] where a row has others
    than its labels, or several; `model` knows the decoder's start where the tokenizer does not.
    """
    return ComputeMetrics(tokenizer, metrics, parser, references, model)
