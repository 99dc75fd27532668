"""Ids as people have them: what is a word, by a reader in plain Python."""

import random
from types import SimpleNamespace

import pytest
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.train.special_tokens import SpecialIds, decode_texts, distinct


def words(row, pad=(), eos=(), bos=(), skip=(), length=None):
    """The words of a row, read one id after the other."""
    found, started = [], False
    for place, k in enumerate(row):
        if length is not None and place >= length:
            break
        no_word = k == -100 or k in skip
        if not started and (no_word or k in bos or (length is None and k in pad)):
            continue
        started = True
        if length is None and (k in pad or k in eos):
            break
        if no_word:
            continue
        found.append(k)
    return found


def left(found):
    """What is left, as lists."""
    rows, lengths = found.ids.flatten(0, -2).tolist(), found.lengths.flatten().tolist()
    return [row[:size] for row, size in zip(rows, lengths, strict=True)]


kinds = st.lists(st.integers(0, 6), max_size=2)


@given(
    st.lists(st.lists(st.sampled_from([*range(8), -100]), min_size=9, max_size=9), min_size=1),
    *(kinds for _ in range(4)),
    st.booleans(),
)
def test_a_reader_in_plain_python_agrees(rows, pad, eos, bos, skip, by_length):
    special = SpecialIds(pad, eos, bos, skip)
    rng = random.Random(len(rows))
    lengths = [rng.randint(0, 9) if by_length else None for _ in rows]
    given_lengths = torch.tensor(lengths) if by_length else None
    ids = torch.tensor(rows)
    found = special.read(ids, given_lengths)
    expected = [
        words(row, pad, eos, bos, skip, size) for row, size in zip(rows, lengths, strict=True)
    ]
    assert left(found) == expected
    kept = [[k for k, is_kept in zip(row, keep, strict=True) if is_kept]
            for row, keep in zip(rows, found.kept.tolist(), strict=True)]  # fmt: skip
    assert kept == expected
    with FakeCuda() as cuda:
        lengths_there = None if given_lengths is None else given_lengths.to("cuda")
        there = special.read(ids.to("cuda"), lengths_there)
    assert not cuda.syncs
    assert torch.equal(to_host(there.lengths), found.lengths)


def test_many_ids_to_skip():
    special = SpecialIds(skip=range(100, 200))
    assert left(special.read(torch.tensor([[3, 150, 4, 199, 5]]))) == [[3, 4, 5]]


TOKENIZER = SimpleNamespace(
    pad_token_id=0,
    eos_token_id=2,
    bos_token_id=1,
    sep_token_id=None,
    unk_token_id=3,
    all_special_ids=[0, 1, 2, 3, 9],
    batch_decode=lambda rows, skip_special_tokens: [" ".join(map(str, row)) for row in rows],
)


@pytest.mark.parametrize(
    "row",
    [
        [1, 5, 3, 6, 2, 0, 0],  # as encoded
        [0, 5, 3, 6, 2, 0, 0],  # T5: the decoder starts with the padding
        [2, 1, 5, 3, 6, 2, 0],  # BART: it starts with the end
        [0, 0, 1, 5, 3, 6, 2],  # left-padded
        [-100, -100, 5, 3, 6, 2, -100],  # a prompt that the loss ignores
        [2, 9, 5, 3, 9, 6, 2],  # NLLB: the name of the language
    ],
)
def test_what_models_of_hugging_face_write(row):
    special = SpecialIds.from_tokenizer(TOKENIZER)
    assert left(special.read(torch.tensor([row]))) == [[5, 3, 6]]
    assert decode_texts(torch.tensor([row]), TOKENIZER) == ["5 3 6"]


def test_a_model_knows_more_than_its_tokenizer():
    model = SimpleNamespace(
        config=SimpleNamespace(decoder_start_token_id=7, pad_token_id=None),
        generation_config=SimpleNamespace(eos_token_id=[2, 8]),
    )
    special = SpecialIds.from_tokenizer(TOKENIZER, model)
    assert left(special.read(torch.tensor([[7, 5, 6, 8, 4]]))) == [[5, 6]]


def test_repeated_samples_count_once():
    samples = torch.tensor([[[1, 2, 0], [1, 2, 0], [0, 1, 2], [1, 0, 2]], [[1, 1, 1]] * 4])
    found = distinct(samples, special=SpecialIds(pad=0))
    assert found.tolist() == [[True, False, False, True], [True, False, False, False]]
    assert distinct(samples)[0].tolist() == [True, False, True, True]
    by_length = distinct(samples, torch.tensor([[1, 1, 2, 3], [1, 2, 3, 3]]))
    assert by_length.tolist() == [[True, False, True, True], [True, True, True, False]]


def test_lengths_are_checked():
    with pytest.raises(tm.TensorMTError, match="expected integers"):
        SpecialIds().read(torch.ones(2, 3).long(), torch.tensor([1.0, 2.0]))
