"""Dictionaries: strings to ids and back, merging, hashes that depend on the string alone."""

import pickle

import pyarrow as pa
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.text.dictionary import Dictionary


@given(st.lists(st.text(max_size=6)), st.lists(st.text(max_size=6)))
def test_dictionaries(first, second):
    texts = [text.encode("utf-8", "ignore").decode() for text in (*first, *second)]
    first, second = texts[: len(first)], texts[len(first) :]
    ids, names = Dictionary.encode(first)
    assert [names[i] for i in ids] == first
    assert len(names) == len(set(first))
    other_ids, others = Dictionary.encode(second)
    assert [others[i] for i in other_ids] == second
    hashes = dict(zip(names.strings, names.hashes.tolist(), strict=True))
    for string, value in zip(others.strings, others.hashes.tolist(), strict=True):
        assert hashes.setdefault(string, value) == value
    assert len(set(hashes.values())) == len(hashes)
    merged, maps = Dictionary.merge([names, others])
    assert merged.strings[: len(names)] == names.strings
    assert [merged[i] for i in maps[0]] == names.strings
    assert [merged[i] for i in maps[1]] == others.strings
    known = {name: number for number, name in enumerate(others.strings)}
    assert names.among(others).tolist() == [known.get(n, len(others)) for n in names.strings]
    new, lowered = names.lowered
    assert [lowered[i] for i in new] == [name.lower() for name in names.strings]


def test_chunked_arrays():
    for chunks in ([], [[]], [["b", "a"], [], ["a"]]):
        ids, names = Dictionary.encode(pa.chunked_array(chunks, pa.string()))
        assert [names[i] for i in ids] == [name for chunk in chunks for name in chunk]


def test_dictionary_of_a_sliced_array():
    array = pa.array(["a", "bb", "ccc", "dd"])[1:3]
    assert torch.equal(Dictionary(array).hashes, Dictionary(["bb", "ccc"]).hashes)
    assert pickle.loads(pickle.dumps(Dictionary(["x", "y"]))).strings == ["x", "y"]


def test_pieces():
    words = Dictionary(["a,", "né", '"b"', "."]).words
    assert [words.names[i - 1] for i in words.ids] == ["a", ",", "né", '"b', '"', "."]
    assert words.lengths.tolist() == [2, 1, 2, 1]
    letters = Dictionary(["ab", "né", ""]).characters
    assert "".join(letters.names[i - 1] for i in letters.ids) == "abné"
    assert letters.starts.tolist() == [0, 2, 4]
    assert not letters.single
