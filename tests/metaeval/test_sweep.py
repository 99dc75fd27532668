"""Metrics at several orders."""

import pytest

from tensormt.errors import TensorMTError
from tensormt.metaeval.sweep import order_option, sweep
from tensormt.registry import make


def test_orders_are_swept_where_a_metric_has_one():
    named = sweep(["bleu", "tkm", "hwcm:max_length=2"], [1, 3])
    assert list(sweep(["blend", "chrf+bleu"], [1])) == ["blend", "chrf+bleu"]
    assert list(named) == ["bleu-1", "bleu-3", "tkm", "hwcm:max_length=2"]
    assert named["bleu-3"].signature == make("bleu:max_order=3").signature
    with pytest.raises(TensorMTError, match="no metric named 'blue'"):
        sweep(["blue"], [1])


def test_the_option_that_is_the_order():
    assert [order_option(spec) for spec in ("bleu", "stm", "hwcm", "tkm", "bleu+stm")] == [
        "max_order",
        "max_depth",
        "max_length",
        None,
        None,
    ]
    assert order_option("bleu:max_order=2") is None


def test_the_language_sets_the_tokeniser():
    found = sweep(["bleu", "chrf"], [2], "zh")
    assert found["bleu-2"].tokenize == "zh"
    assert sweep(["bleu"], [], "zh")["bleu"].tokenize == "zh"
