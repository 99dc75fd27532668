"""The constituency network: layers, word types, character vectors."""

from supar.modules import MLP


def test_supars_activation_has_the_slope_that_the_network_reads():
    assert MLP(3, 2).activation.negative_slope == 0.1
