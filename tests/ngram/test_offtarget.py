"""OffTarget against its definition in plain Python."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.registry import make

ALPHABETS = {"latin": "abcé", "cyrillic": "бвг", "greek": "αβ", "han": "漢のカ"}
LINE = st.text(alphabet="".join(ALPHABETS.values()) + " 1.", max_size=12)


def count(text, alphabet):
    return sum(letter in alphabet for letter in text)


def oracle(hyp, refs, borrowed):
    """Letters in another script, and letters; alphabets in place of Unicode names."""
    refs = [ref for ref in refs if ref]
    main = set()
    for ref in refs:
        sizes = {name: count(ref, own) for name, own in ALPHABETS.items()}
        main |= {name for name, size in sizes.items() if size and size == max(sizes.values())}
    wrong = letters = 0
    for name, own in ALPHABETS.items():
        letters += count(hyp, own)
        if main and name not in main:
            lent = max(count(ref, own) for ref in refs) if borrowed else 0
            wrong += max(0, count(hyp, own) - lent)
    return [1, wrong, letters]


@pytest.mark.parametrize("borrowed", [True, False])
@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(LINE, LINE, st.none() | LINE), min_size=1, max_size=5))
def test_statistics_are_those_of_the_definition(borrowed, rows):
    hyps, *streams = (list(column) for column in zip(*rows, strict=True))
    batches = [tm.TokenBatch.from_text(lines, "none") for lines in (hyps, *streams)]
    metric = tm.OffTarget(borrowed=borrowed)
    found = metric.statistics(batches[0], batches[1:])
    expected = [oracle(hyp, refs, borrowed) for hyp, *refs in rows]
    assert found.tolist() == expected
    assert metric(batches[0], batches[1:]).tolist() == [w / max(n, 1) for _, w, n in expected]
    _, wrong, letters = (sum(column) for column in zip(*expected, strict=True))
    assert metric.corpus(batches[0], batches[1:]).item() == wrong / max(letters, 1)


def test_what_it_says():
    hyps = ["the news of the BBC", "новости BBC", "", "12", "новости"]
    refs = [["новости Би-би-си (BBC)"] * 4 + ["3"]]
    with pytest.warns(UserWarning, match="2 of 5 outputs are empty or less than half as long"):
        found = tm.score(hyps, refs, ["offtarget", "offtarget:borrowed=no"])
    # 12 of 15 Latin letters: three are in the reference
    assert found.segments["offtarget"].tolist() == [12 / 15, 0, 0, 0, 0]
    assert found.segments["offtarget:borrowed=no"].tolist() == [1, 0.3, 0, 0, 0]
    assert not make("offtarget").higher_is_better


def test_as_a_penalty_in_a_mean():
    """A reward of chrF and OffTarget: a mean takes 1 - x of an error rate."""
    spec = "chrf+offtarget"
    found = tm.score(["да нет", "da"], [["да", "да"]], [spec, "chrf", "offtarget"])
    assert found.segments["offtarget"].tolist() == [0, 1]
    expected = found.segments["chrf"] / 200 + torch.tensor([0.5, 0])
    assert found.segments[spec].tolist() == pytest.approx(expected.tolist())


def test_token_ids_are_refused():
    ids = tm.TokenBatch(torch.tensor([1, 2]), torch.tensor([2]), None)
    with pytest.raises(TensorMTError, match="token ids have no script"):
        tm.OffTarget()(ids, [ids])
