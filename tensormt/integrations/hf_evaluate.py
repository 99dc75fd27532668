"""The metrics of the package for Hugging Face's evaluate, which loads this file.

    import evaluate
    from tensormt.integrations import EVALUATE

    chrf = evaluate.load(EVALUATE, "chrf")
    chrf.compute(predictions=["a dog"], references=[["a dog", "the dog"]])    # {"chrf": …}

The name of the configuration is that of a metric, with options, or several with commas between
them. References are a text or a list of texts for each prediction.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from tensormt.evaluator import named_metrics
from tensormt.scoring import score

__all__ = ["TranslationMetrics"]


class TranslationMetrics(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """Corpus scores of `tm.score`, under the names of the metrics."""

    def _info(self) -> Any:
        names = "bleu" if self.config_name == "default" else self.config_name
        metrics = named_metrics(names)  # unknown names are an error when the metric is loaded
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="Syntactic and multi-reference evaluation of machine translation.",
            citation="",
            inputs_description=f"Corpus scores by {', '.join(metrics)}.",
            features=[
                datasets.Features({"predictions": text, "references": datasets.Sequence(text)}),
                datasets.Features({"predictions": text, "references": text}),
            ],
        )

    def _compute(
        self, predictions: Any, references: Any, parser: Any = "default", lang: str | None = None
    ) -> dict[str, float]:
        names = "bleu" if self.config_name == "default" else self.config_name
        rows = [[row] if isinstance(row, str) else row for row in references]
        return dict(score(list(predictions), rows, names, parser, lang=lang, rows=True).corpus)
