"""Argument validation; many more values are tried in test_misuse.py."""

import pytest
import torch
from fake_cuda import FakeCuda

from tensormt import validation as check
from tensormt.errors import OutOfRange, TensorMTError


@check.validate(count=check.integer(1, 9), name=check.optional(check.one_of("ab")), absent=len)
def function(count, name=None, *, flag=False):
    return count, name, flag


def test_arguments_are_checked_by_name():
    assert function(1) == (1, None, False)
    assert function(count=9, name="a", flag=3) == (9, "a", 3)
    with pytest.raises(TensorMTError, match="count is 10, expected"):
        function(10)
    with pytest.raises(TensorMTError, match="name is 'c'"):
        function(1, name="c")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (check.boolean, True, 1),
        (check.string, "a", 1),
        (check.number(0, 1, above=True), 0.5, 0),
        (check.file_name, "a.txt", "a\0"),
        (check.function, len, 3),
        (check.on_device, "cpu", "gpu"),
        (check.list_of(int, "an integer"), [1, 2], [1, "a"]),
        (check.list_of(int, "an integer", 2), (1, 2), [1]),
        (check.tensor_of("B"), torch.zeros(2), torch.zeros(2, 2)),
        (check.tensor_of("B", kind="truth values"), torch.tensor([True]), torch.zeros(1)),
        (check.tensor_of("B", kind="whole numbers"), torch.tensor([1]), torch.zeros(1)),
        (check.count_weights, torch.tensor([0, 2]), torch.tensor([-1])),
    ],
)
def test_checks(kind, good, bad):
    kind(good, "x")
    with pytest.raises(TensorMTError):
        kind(bad, "x")


def test_indices():
    resolve = check.resolve_index
    assert resolve(slice(1, None), 3, "a batch") == slice(1, 3)
    assert resolve(slice(None, None, -1), 3, "a batch").tolist() == [2, 1, 0]
    assert resolve(torch.tensor([True, False, True]), 3, "a batch").tolist() == [0, 2]
    assert resolve([], 3, "a batch").tolist() == []
    for index in (3, -4, [3], torch.tensor([True])):
        with pytest.raises(OutOfRange):
            resolve(index, 3, "a batch")
    for index in ("a", None, 1.5, [[1]]):
        with pytest.raises(TensorMTError, match="is not an index of a batch"):
            resolve(index, 3, "a batch")


def test_indices_are_checked_before_the_device_reads_them():
    """On a CUDA device a bad index is an error that ends the process's use of the device."""
    with FakeCuda():
        good, bad = (torch.tensor(rows, device="cuda") for rows in ([0, -1], [0, 3]))
        assert check.resolve_index(good, 3, "a batch").tolist() == [0, 2]
        with pytest.raises(OutOfRange):
            check.resolve_index(bad, 3, "a batch")
