"""What no function of the package is made for, given to it: a right result or one sentence.

Every argument of every public function gets a share of the values in misuse.py, another one for
each function; bench/fuzz.py --python tries all of them.
"""

import misuse
import pytest
import torch

import tensormt as tm
from tensormt.validation import count_weights, integer, list_of, resolve_index, tensor_of, validate

NAMES = list(misuse.calls())


@pytest.mark.parametrize("name", NAMES)
def test_misuse(name):
    values = list(misuse.VALUES)
    some = values[NAMES.index(name) % 3 :: 3]
    count, faults = misuse.tried(name, some)
    assert count
    assert not faults


def test_all_public_names_are_tried():
    """What can be called and is no container of results."""
    tried = {name.split(".")[0].split("(")[0].split("[")[0] for name in NAMES}
    results = {"Result", "Results", "TensorMTError", "__version__", "metaeval", "qarla"}
    assert set(tm.__all__) - results - tried == set()
    for module in (tm.qarla, tm.metaeval):
        room = module.__name__.split(".")[-1]
        results = {"MetricSet", "Difference", "PairwisePermutation", "Interval", "PairCounts"}
        results |= {"CorrelationTest", "STATISTICS"}
        assert {n for n in module.__all__ if f"{room}.{n}" not in NAMES} <= results


def test_the_harness_finds_what_is_wrong(monkeypatch):
    def careless(lines):
        return len(lines) and sorted(lines)

    found = {"careless": (careless, {"lines": ["a"]}, {"lines": "lines"})}
    monkeypatch.setattr(misuse, "calls", lambda: found)
    _, faults = misuse.tried("careless")
    assert any("(lines=None): TypeError" in fault for fault in faults)
    assert "careless(lines=word): taken in silence" in faults


def test_arguments_are_checked_by_name_and_place():
    @validate(size=integer(1, 9), other=integer())
    def function(a, size=3):
        """Words."""
        return a, size

    assert function(1, 2) == (1, 2)
    assert function(1) == (1, 3)
    assert function.__doc__ == "Words."
    for bad in (0, 10, True, 1.0, "1"):
        with pytest.raises(tm.TensorMTError, match=r"size is .*, expected a whole number"):
            function(1, bad)
        with pytest.raises(tm.TensorMTError, match="size is"):
            function(1, size=bad)
    with pytest.raises(TypeError):
        function()


def test_places():
    """An index is read as Python reads it from a list."""
    items = list(range(5))
    for index in (0, 4, -1, -5, slice(1, 3), slice(None), slice(4, 1, -2), slice(9, 20)):
        places = resolve_index(index, 5, "items")
        found = items[places] if isinstance(places, slice) else places.tolist()
        assert found == (items[index] if isinstance(index, slice) else [items[index]])
    assert resolve_index([4, -5, 0], 5, "items").tolist() == [4, 0, 0]
    assert resolve_index([], 5, "items").tolist() == []
    assert resolve_index([True, False, True, False, False], 5, "items").tolist() == [0, 2]
    for bad in (5, -6, [5], [True], torch.tensor([9])):
        with pytest.raises(IndexError):
            resolve_index(bad, 5, "items")
        with pytest.raises(tm.TensorMTError):
            resolve_index(bad, 5, "items")


def test_a_mask_of_truth_values_chooses_segments():
    """Of tokens as of trees; it was once read as the numbers 0 and 1."""
    lines = ["a b", "c", "d e f"]
    kept = torch.tensor([False, True, True])
    assert tm.TokenBatch.from_text(lines)[kept].to_tokens() == [["c"], ["d", "e", "f"]]
    trees = tm.TreeBatch.from_brackets(["(A a)", "(B b)", "(C c)"])
    assert trees[kept].to_brackets() == ["(B b)", "(C c)"]
    assert [len(batch) for batch in trees] == [1, 1, 1]


def test_heads_that_are_no_whole_numbers():
    """0.5 was once the root."""
    with pytest.raises(tm.TensorMTError, match="whole numbers"):
        tm.TreeBatch.from_heads([["a", "b"]], [[0.5, 1]])


def test_one_batch_is_no_list_of_references():
    batch = tm.TokenBatch.from_text(["a b", "c"])
    with pytest.raises(tm.TensorMTError, match=r"pass \[refs\]"):
        tm.BLEU()(batch, batch)


def test_tensors():
    kind = tensor_of("systems", "segments")
    table = torch.zeros(2, 3)
    assert kind(table, "scores") is table
    with pytest.raises(tm.TensorMTError, match=r"scores is Tensor of shape \[3\].*\[systems, seg"):
        kind(table[0], "scores")
    with pytest.raises(tm.TensorMTError, match="mask contains -1: expected at least 0"):
        count_weights(torch.tensor([1, -1]), "mask")
    with pytest.raises(tm.TensorMTError, match=r"numbers\[1\] is 'a', expected a number"):
        list_of(int, "a number")([1, "a"], "numbers")


def test_a_metric_of_ones_own_is_checked_too():
    class Count(tm.STM):
        def _score(self, rows, segment):
            return rows[..., 0]

    metric = Count(2)
    assert metric.score(torch.ones(3, 5)).tolist() == [1, 1, 1]
    for bad in (torch.ones(3, 4), [1.0] * 5, torch.ones(3, 5, dtype=torch.bool)):
        with pytest.raises(tm.TensorMTError, match="statistics"):
            metric.score(bad)
