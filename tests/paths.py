"""The plain path of a metric raced against its batched engine."""

from __future__ import annotations

from typing import Any

import torch

import tensormt as tm


def _outcome(work: Any) -> Any:
    try:
        return work()
    except tm.TensorMTError as error:
        return type(error), str(error)


def race(metric: Any, hyp: Any, refs: Any) -> None:
    """Both paths give the same integers and, up to rounding, the same scores, or one error."""
    expected = _outcome(lambda: metric.statistics(hyp, refs, batched=True))
    if isinstance(expected, tuple):
        assert _outcome(lambda: metric.statistics(hyp, refs)) == expected
        assert _outcome(lambda: metric(hyp, refs)) == expected
        return
    assert metric._plain_statistics(hyp, refs) is not None
    rows = metric.statistics(hyp, refs)
    assert rows.dtype == expected.dtype
    if rows.is_floating_point():
        assert torch.allclose(rows, expected, rtol=1e-12, atol=0)
    else:
        assert torch.equal(rows, expected)
    scores = metric(hyp, refs)
    assert scores.dtype == torch.float64
    assert torch.allclose(scores, metric.score(expected, segment=True), rtol=1e-12, atol=0)
    corpus = metric.score(expected.sum(0), segment=False)
    assert torch.allclose(metric.corpus(hyp, refs), corpus, rtol=1e-12, atol=0)
