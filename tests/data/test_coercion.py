"""lines: what Python users have their texts in."""

import math

import numpy as np
import pyarrow as pa
import pytest

import tensormt as tm
from tensormt.data.coercion import as_lines, as_streams

HYPS = ["the cat sat on the mat", "a dog ran home today"]
REFS = [["the cat sat on a mat", "a dog ran home"], [None, "the dog went home today"]]


def forms():
    yield "generators", (x for x in HYPS), ((x for x in stream) for stream in REFS)
    yield "tuples", tuple(HYPS), tuple(map(tuple, REFS))
    yield "numpy", np.array(HYPS), [np.array(stream, object) for stream in REFS]
    yield "numpy table", np.array(HYPS, object), np.array(REFS, object)
    yield "nan", HYPS, [REFS[0], [math.nan, REFS[1][1]]]
    yield "arrow", pa.array(HYPS), [pa.array(stream) for stream in REFS]
    yield (
        "arrow chunks",
        pa.chunked_array([HYPS[:1], HYPS[1:]]),
        pa.table({"1": REFS[0], "2": REFS[1]}),
    )
    yield "arrow scalars", list(pa.array(HYPS)), [list(pa.array(stream)) for stream in REFS]
    yield "numpy strings", [np.str_(x) for x in HYPS], REFS


@pytest.mark.parametrize(
    ("hyps", "refs"), [form[1:] for form in forms()], ids=[f[0] for f in forms()]
)
def test_all_forms_score_alike(hyps, refs):
    expected = tm.score(HYPS, REFS, ["bleu", "nist"])
    found = tm.score(hyps, refs, (name for name in ("bleu", tm.NIST())), docs=np.array([0, 1]))
    assert found.corpus == expected.corpus
    assert list(found.documents) == ["0", "1"]


@pytest.mark.heavy(needs="pandas")
def test_pandas():
    import pandas as pd

    frame = pd.DataFrame({"hyp": HYPS, "ref1": REFS[0], "ref2": [math.nan, REFS[1][1]]})
    expected = tm.score(HYPS, REFS).corpus
    assert tm.score(frame["hyp"], frame[["ref1", "ref2"]]).corpus == expected
    assert tm.score(frame.hyp, [frame.ref1, frame.ref2]).corpus == expected
    typed = frame.astype("string")
    assert typed["ref2"].isna()[0]
    assert tm.score(typed["hyp"], [typed["ref1"], typed["ref2"]]).corpus == expected
    assert len(tm.TokenBatch.from_text(frame["ref2"])) == 2


@pytest.mark.parametrize(
    ("hyps", "refs", "message"),
    [
        ("a", [["a"]], "list of hyps, got one string"),
        (["a"], "a", "got a string"),
        (["a"], ["a"], "got a string"),
        ([1], [["a"]], "hyps, number 1: expected a string, got int 1"),
        (["a"], [[b"a"]], r"refs\[0\], number 1: expected a string, got bytes"),
        ({"a": 1}, [["a"]], r"hyps\['a'\] must be a list of strings: got int"),
        ({}, [["a"]], "hyps has no system"),
        ({"a"}, [["a"]], "hyps must be a list of strings: got set"),
        (7, [["a"]], "hyps must be a list of strings: got int"),
        (None, [["a"]], "hyps must be a list of strings: got NoneType"),
        (["a"], None, "refs must be a list of strings: got NoneType"),
        (np.array("a"), [["a"]], "a 0-dimensional array"),
        (np.array([["a"]]), [["a"]], "number 1: expected a string, got list"),
        (["a"], [[["a"]]], r"refs\[0\], number 1: expected a string, got list"),
        (["a"], [], "no reference given"),
    ],
)
def test_what_is_no_text_is_one_sentence(hyps, refs, message):
    with pytest.raises(tm.TensorMTError, match=message):
        tm.score(hyps, refs)


def test_references_by_segment_are_recognised():
    """The most frequent mistake: [segment][reference] instead of [reference][segment]."""
    hyps = ["a b", "c d", "e f"]
    with pytest.raises(tm.TensorMTError, match=r"reference k of segment i; pass list\(zip\(\*refs"):
        tm.score(hyps, [["a b"], ["c d"], ["e f"]])
    turned = [["a b", "x"], ["c d", "y"], ["e f", "z"]]
    with pytest.raises(tm.TensorMTError, match=r"pass list\(zip\(\*refs\)\)"):
        tm.score(hyps, turned)
    again = tm.score(hyps, list(zip(*turned, strict=True)), ["bleu:max_order=2"])
    assert again.segments["bleu:max_order=2"].tolist() == [100, 100, 100]
    with pytest.raises(tm.TensorMTError, match=r"pass list\(itertools.zip_longest"):
        tm.score(hyps, [["a b", "x"], ["c d"], ["e f"]])
    with pytest.raises(tm.TensorMTError, match="reference 1 has 2 segments"):
        tm.score(hyps, [["a", "b"]])


def test_metrics_devices_and_parsers_that_are_none():
    for metrics in ("", tm.BLEU(), tm.BLEU, [], None, 5):
        with pytest.raises(tm.TensorMTError, match="metrics is a list of at least one name"):
            tm.score(["a"], [["a"]], metrics)
    for metrics in ([5], [tm.BLEU], [None]):
        with pytest.raises(tm.TensorMTError, match="a metric is named by a text"):
            tm.score(["a"], [["a"]], metrics)
    with pytest.raises(tm.TensorMTError, match="two metrics are called 'bleu'"):
        tm.score(["a"], [["a"]], [tm.BLEU(2), tm.BLEU(3)])
    with pytest.raises(tm.TensorMTError, match="there is no device 'quantum'"):
        tm.score(["a"], [["a"]], device="quantum")
    with pytest.raises(tm.TensorMTError, match="parser is int"):
        tm.score(["a"], [["a"]], ["stm"], parser=5)
    with pytest.raises(tm.TensorMTError, match="trees is True, or"):
        tm.score(["a"], [["a"]], ["stm"], trees=5)
    with pytest.raises(tm.TensorMTError, match="docs, number 1: expected a string or a number"):
        tm.score(["a"], [["a"]], docs=[["x"]])
    with pytest.raises(tm.TensorMTError, match="expected a tensor"):
        tm.TokenBatch.from_ids([[1]], [1])


def test_lists_of_strings_are_not_copied():
    assert as_lines(HYPS) is HYPS
    assert as_streams([HYPS])[0] is HYPS
