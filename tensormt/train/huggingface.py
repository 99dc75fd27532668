"""`compute_metrics` of Hugging Face's trainers, with any metrics of the package.

    Seq2SeqTrainer(…, compute_metrics=compute_metrics(tokenizer, ["bleu", "stm:balance=f1"]))

Predictions are ids as returned by `predict_with_generate=True`, labels are those of the data set;
both may contain padding and −100. Special ids are removed (train/special_tokens.py), and the
tokenizer decodes the rest. The results are corpus scores on the scales of the metrics, under the
names of the metrics; `length` is the mean number of predicted tokens. transformers is not imported.
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
from tensormt.train.naming import metric_label
from tensormt.train.special_tokens import SpecialIds, decode_texts
from tensormt.train.text_reward import TreeSourceLike


class ComputeMetrics:
    """The function that a trainer calls with predictions and labels; see `compute_metrics`.

    Args:
        tokenizer: Hugging Face tokenizer.
        metrics: Metrics or their names.
        parser: Source of trees.
        references: References [n][R]; None: the labels.
        model: Model with further special ids; None: only those of the tokenizer.
        sources: Source texts [n]; None: not given.

    Raises:
        TensorMTError: If there is no metric, or one is given twice.
    """

    def __init__(
        self,
        tokenizer: Any,
        metrics: Sequence[Metric[Any] | str],
        parser: TreeSourceLike,
        references: Sequence[Sequence[str]] | None,
        model: Any,
        sources: Sequence[str] | None = None,
    ) -> None:
        self.tokenizer, self.references, self.sources = tokenizer, references, sources
        self.special = SpecialIds.from_tokenizer(tokenizer, model)
        made = [make(each) if isinstance(each, str) else each for each in metrics]
        names = [each if isinstance(each, str) else metric_label(each) for each in metrics]
        if len(set(names)) < len(names) or not names:
            raise TensorMTError(f"metrics are {', '.join(names) or 'none'}: pass distinct metrics")
        self.evaluator = Evaluator(dict(zip(names, made, strict=True)), parser)

    def __call__(self, prediction: Any) -> dict[str, float]:
        """Compute corpus scores by name, from an EvalPrediction or (predictions, labels).

        Raises:
            TensorMTError: If predictions are not ids, or references do not align.
        """
        pair = prediction
        outputs = getattr(pair, "predictions", None)
        labels = getattr(pair, "label_ids", None)
        if outputs is None:
            outputs, labels = pair[0], pair[1]
        # some models return further outputs after the predicted ids
        outputs = outputs[0] if isinstance(outputs, tuple | list) else outputs
        ids = _ids(outputs, "predictions")
        texts = decode_texts(ids, self.tokenizer, special=self.special)
        refs = self._references(labels, len(texts))
        if self.sources is not None:
            self._check_rows("sources", self.sources, len(texts))
        rows = Segments.from_rows({"": texts}, refs, sources=self.sources)
        statistics = self.evaluator.evaluate(rows)
        found = {name: float(statistics.corpus(name)[0]) for name in self.evaluator.metrics}
        found["length"] = float(self.special.read(ids).lengths.double().mean())
        return found

    def _references(self, labels: Any, number: int) -> Sequence[Sequence[str]]:
        """References [n][R]: those of the constructor, or the labels."""
        if self.references is None:
            found = decode_texts(_ids(labels, "labels"), self.tokenizer, special=self.special)
            return [[text] for text in found]
        self._check_rows("references", self.references, number)
        return [[row] if isinstance(row, str) else row for row in self.references]

    @staticmethod
    def _check_rows(what: str, rows: Sequence[Any], number: int) -> None:
        if len(rows) != number:
            raise TensorMTError(
                f"{number} predictions, {what} for {len(rows)}: pass {what} for every row of the "
                "evaluated data set, in its order"
            )


def _ids(values: Any, what: str) -> Tensor:
    """Ids int64 [n,T] of an array."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 2:
        raise TensorMTError(
            f"{what} are {array.dtype} {list(array.shape)}: expected ids [n,T], set "
            "predict_with_generate=True (or let preprocess_logits_for_metrics return the argmax)"
        )
    return torch.from_numpy(array.astype(np.int64))


def compute_metrics(
    tokenizer: Any,
    metrics: Sequence[Metric[Any] | str] = ("bleu",),
    *,
    parser: TreeSourceLike = "default",
    references: Sequence[Sequence[str]] | None = None,
    model: Any = None,
    sources: Sequence[str] | None = None,
) -> ComputeMetrics:
    """Return the `compute_metrics` function of a trainer: corpus scores of generated text.

    Args:
        tokenizer: Hugging Face tokenizer.
        metrics: Metrics or their names.
        parser: Source of trees for metrics on trees, as for `TextReward`.
        references: References [n][R] if they are not the labels; None: the labels.
        model: Model whose configuration has further special ids, such as the decoder's start.
        sources: Source texts [n] of the evaluated data set, for metrics that read them (`copied`).

    Returns:
        A function from predictions and labels to scores by metric.

    Raises:
        TensorMTError: If there is no metric, or one is given twice.

    >>> class Tokenizer:  # a stand-in for a tokenizer of transformers
    ...     pad_token_id, eos_token_id, all_special_ids = 0, 1, [0, 1]
    ...     def batch_decode(self, rows, **options):
    ...         return [" ".join(map(str, row)) for row in rows]
    >>> ids = np.array([[5, 6, 7, 8, 1, 0]])
    >>> compute_metrics(Tokenizer(), ["bleu"])((ids, ids))["length"]
    4.0
    """
    return ComputeMetrics(tokenizer, metrics, parser, references, model, sources)
