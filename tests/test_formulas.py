"""Formulas give the same for numpy arrays and torch tensors, and the papers' numbers."""

import numpy as np
import pytest
import torch

from tensormt.formulas import as_float64, brevity_penalty, namespace


def test_namespaces():
    assert namespace(torch.ones(1)) is torch
    assert namespace(np.ones(1)) is np
    assert as_float64(torch.ones(1, dtype=torch.int64)).dtype == torch.float64
    assert as_float64(np.ones(1, np.int64)).dtype == np.float64


@pytest.mark.parametrize("make", [torch.tensor, np.array])
def test_brevity_penalty(make):
    """Papineni et al. 2002: 1 at equal length, exp(1 - r/c) below it."""
    with np.errstate(divide="ignore"):
        penalty = brevity_penalty(make([5, 4, 10, 0]), make([5, 5, 5, 5]))
    assert penalty.tolist() == pytest.approx([1, 0.7788007830714049, 1, 0])
