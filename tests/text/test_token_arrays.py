"""The tensors of token batches: those of plain rows are those of text, selections and joins."""

import pytest
import torch

import tensormt as tm
from tensormt.text import plain_tokens, token_arrays

LINES = ["A dog, a cat.", "", "été İ — 3.5%", "dog"]


@pytest.mark.parametrize("tokenize", ["13a", "none", "char", "letters", "spaced"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_rows_and_text_have_the_same_tensors(tokenize, lowercase):
    streams = [LINES, LINES[::-1]]
    made = token_arrays.from_text(streams, tokenize, lowercase)
    rows = [plain_tokens.tokenize(lines, tokenize, lowercase) for lines in streams]
    for one, two in zip(made, token_arrays.from_rows(rows, tokenize), strict=True):
        assert torch.equal(one.lengths, two.lengths)
        names = [[part.dictionary[k] for k in part.tokens.tolist()] for part in (one, two)]
        assert names[0] == names[1]
        assert one.dictionary is made[0].dictionary


def test_selected_padded_and_joined():
    [made] = token_arrays.from_text([LINES], "none", False)
    assert made.padded().tolist() == [[0, 1, 2, 3], [-1] * 4, [4, 5, 6, 7], [8, -1, -1, -1]]
    assert torch.equal(made.real, made.padded() >= 0)
    for places, numbers in ((slice(1, 3), [1, 2]), (torch.tensor([3, 0]), [3, 0])):
        some = made.select(places, made.starts)
        found = [some.dictionary[k] for k in some.tokens.tolist()]
        assert found == [token for k in numbers for token in LINES[k].split()]
    joined = token_arrays.concat([made, made])
    assert joined.lengths.tolist() == [4, 0, 4, 1] * 2
    lower = made.lower()
    assert [lower.dictionary[k] for k in lower.tokens.tolist()][:2] == ["a", "dog,"]


def test_text_does_not_meet_ids():
    [made] = token_arrays.from_text([LINES], "none", False)
    ids = token_arrays.from_ids(torch.tensor([[1, 2]]), torch.tensor([1]))
    assert (ids.tokens.tolist(), ids.dictionary) == ([1], None)
    with pytest.raises(tm.TensorMTError, match="meets one made from ids"):
        token_arrays.unify([made, ids])
    [other] = token_arrays.from_text([["dog A"]], "none", False)
    one, two = token_arrays.unify([made, other])
    assert one.dictionary is two.dictionary
    assert [two.dictionary[k] for k in two.tokens.tolist()] == ["dog", "A"]
