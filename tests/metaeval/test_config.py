"""A configuration that cannot be computed is an error before anything is computed."""

import math

import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.metaeval.config import Config, check_config, check_test
from tensormt.metaeval.judged_sets import JudgedSet

HUMAN = torch.rand(3, 4, dtype=torch.float64)


def judged(human=HUMAN):
    return [JudgedSet("set", "fluency", human, [], (torch.arange(4), 4), ["a", "b", "c"])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": ("word",)}, "level 'word' is unknown: use one of segment, document"),
        ({"statistics": ("r",)}, "statistic is 'r', expected pearson"),
        ({"grouping": "pooled"}, "grouping 'pooled' needs a statistic of pairs"),
        ({"statistics": ("spearman",), "least_gap": 1.0}, "a least gap needs a statistic of pair"),
        ({"test": "t"}, "test 't' is unknown: use one of permutation, williams"),
        ({"grouping": "all", "levels": ("system",)}, "grouping is 'all', expected segment"),
        ({"resamples": -1}, "resamples is -1"),
        ({"permutations": 0}, "permutations is 0"),
        ({"spa_permutations": -1}, "spa_permutations is -1"),
        ({"confidence": 1.0}, "confidence is 1"),
        ({"confidence": 95.0}, "confidence is 95"),
    ],
)
def test_wrong_configurations(options, message):
    with pytest.raises(TensorMTError, match=message):
        check_config(Config(**options), judged())
    with pytest.raises(TensorMTError, match=message):
        check_config(Config(**options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "williams", "statistics": ("tau_b",)}, "Williams' test is for Pearson"),
        ({"test": "williams", "statistics": ("pearson",)}, "the grouping none"),
        ({"units": "both"}, "units 'both': a corpus score belongs to a system"),
    ],
)
def test_wrong_tests(options, message):
    with pytest.raises(TensorMTError, match=message):
        check_test(Config(**options))


def test_valid_tests():
    check_test(Config())
    check_test(Config(levels=("segment", "mean"), units="both"))
    check_test(Config(levels=("system",), statistics=("spa",), units="both"))
    check_test(Config(statistics=("pearson",), grouping="none", test="williams"))
    check_test(Config(levels=("system",), statistics=("pearson",), test="williams"))


def test_valid_configurations():
    check_config(Config(), judged())
    check_config(Config(levels=("system",), grouping="pooled"), judged())  # no groups of systems
    check_config(Config(statistics=("spa",)), judged())


def test_human_scores_without_values():
    with pytest.raises(TensorMTError, match="human score 'fluency' has no values"):
        check_config(Config(), judged(HUMAN * math.nan))
