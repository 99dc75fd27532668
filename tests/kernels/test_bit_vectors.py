"""The layout of pairs: bits of matches, parts of bounded size."""

import torch
from kernels.test_edit_distance import sequences

from tensormt.kernels.bit_vectors import (
    active_of,
    ends_of,
    in_steps,
    pack,
    parts,
    popcount,
    reverse,
    single_bit,
)


def test_bits_of_matches():
    check_bits(1)
    check_bits(600)  # compared, not looked up


def check_bits(one):
    text, pattern = [one + 2, one, one + 1], [one, one + 1] * 40
    [part] = parts(sequences([text]), sequences([pattern]))
    assert part.matches.shape == (4, 2, 1)
    odd, even = (sum(1 << k for k in range(first, 64, 2)) for first in (0, 1))
    low, high = ([own & ((1 << size) - 1) for own in (0, odd, even)] for size in (64, 16))
    assert [n & ((1 << 64) - 1) for n in part.matches[:3, 0, 0].tolist()] == low
    assert part.matches[1:, 1, 0].tolist() == high
    assert part.ends.tolist() == [[-1], [(1 << 16) - 1]]


def test_parts_are_bounded():
    texts = [[1] * size for size in (3, 9, 1, 9, 0, 4)]
    texts = [[600] * len(text) for text in texts]
    found = list(parts(sequences(texts), sequences([[1] * 5] * 6), cells=100))
    assert [part.rows.tolist() for part in found] == [[3, 1], [5, 0, 2, 4]]
    assert found[1].active == [3, 2, 2, 1]


def test_active_and_ends():
    assert active_of([]) == []
    assert active_of([2, 2, 0]) == [2, 2]
    assert ends_of(torch.tensor([0, 3, 64, 65]), 2).tolist() == [[0, 7, -1, -1], [0, 0, 0, 1]]


def test_popcount():
    numbers = [0, 1, -1, 1 << 62, -(1 << 63), 0x0123456789ABCDEF, -2]
    expected = [bin(n & ((1 << 64) - 1)).count("1") for n in numbers]
    assert popcount(torch.tensor(numbers)).tolist() == expected


def test_bits_in_the_opposite_order():
    numbers = torch.tensor([0, 1, -1, 1 << 62, -(1 << 63), 0x0123456789ABCDEF, -2])
    expected = [int(f"{n & ((1 << 64) - 1):064b}"[::-1], 2) for n in numbers.tolist()]
    for bits in (numbers, numbers.numpy()):
        assert [n & ((1 << 64) - 1) for n in reverse(bits).tolist()] == expected


def test_number_of_a_bit():
    bits = torch.ones(64, dtype=torch.int64) << torch.arange(64)
    for own in (bits, bits.numpy()):
        assert single_bit(own).tolist() == list(range(64))
        assert (single_bit(own * 0) < 0).all()


def test_rows_stand_in_the_steps_of_their_integers():
    """Rows whose first places are set, as comparisons and as integers."""
    for width in (8, 64, 136):
        lengths = torch.randint(0, width + 1, (5, 3))
        same = (torch.arange(width)[:, None] < lengths[:, None]).to(torch.uint8)
        assert torch.equal(in_steps(ends_of(lengths, -(-width // 64))), pack(same))
