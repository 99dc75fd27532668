"""What ROUGE explains is what it counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm

LINE = st.lists(st.sampled_from(["a", "b", "c", "d\n", "***"]), max_size=9).map(" ".join)
FILLED = LINE.filter(str.strip)


@pytest.mark.parametrize("variant", ["1", "3", "l", "lsum", "s", "su"])
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(LINE, FILLED, LINE), min_size=1, max_size=4))
def test_counts_are_the_statistics(variant, rows):
    metric = tm.ROUGE(variant)
    streams = [list(column) for column in zip(*rows, strict=True)]
    hyp, *refs = tm.TokenBatch.from_texts(streams, metric.reads.tokenize)
    counts = [sum(found.counts.values()) for found in tm.explain(metric, hyp, refs)]
    assert counts == metric.statistics(hyp, refs)[:, 4].tolist()


def test_words():
    [found] = tm.explain("rouge:variant=su", ["a b c"], [["a x c"]])
    assert [match.text for match in found.matches if match.counted] == ["a", "a … c", "c"]
    assert found.names == ["words", *(f"pairs of words at a distance of {k}" for k in (1, 2))]
    [found] = tm.explain("rouge:variant=w", ["a b c"], [["a x c"]])
    assert [match.text for match in found.matches if match.counted] == ["a", "c"]
