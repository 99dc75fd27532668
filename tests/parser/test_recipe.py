"""Recipes: ranges, defaults, and the arguments of supar's models."""

from dataclasses import asdict, fields

import pytest

from tensormt.errors import TensorMTError
from tensormt.parser.recipe import BaseRecipe, DependencyRecipe, Recipe


@pytest.mark.parametrize("kind", [Recipe, DependencyRecipe])
def test_every_field_has_help_and_a_range(kind):
    for entry in fields(kind):
        low, high, _ = entry.metadata["range"]
        assert entry.metadata["help"]
        assert low <= entry.default <= high
    assert {entry.name for entry in fields(BaseRecipe)} <= set(asdict(kind()))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (Recipe, {"epochs": 0}, "epochs is 0"),
        (Recipe, {"rate": 0.0}, "rate is 0"),
        (Recipe, {"layers": 2.5}, "layers is 2.5"),
        (DependencyRecipe, {"dropout": 1.0}, "dropout is 1"),
        (DependencyRecipe, {"word_chars": 1}, "word_chars is 1"),
    ],
)
def test_values_out_of_range(kind, change, message):
    with pytest.raises(TensorMTError, match=message) as raised:
        kind(**change)
    assert raised.value.options == next(iter(change))


def test_arguments_of_supar():
    one, two = Recipe(dropout=0.1).model(), DependencyRecipe(dropout=0.1).model()
    assert (one["embed_dropout"], two["embed_dropout"]) == (0.1, 0.33)
    assert (one["n_span_mlp"], one["n_label_mlp"]) == (250, 56)
    assert (two["n_arc_mlp"], two["n_rel_mlp"]) == (256, 80)
    assert set(one) - set(two) == {"n_span_mlp", "n_label_mlp"}
