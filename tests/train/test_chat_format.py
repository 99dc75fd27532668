"""Texts of completions and references."""

import numpy as np
import pyarrow as pa
import pytest

import tensormt as tm
from tensormt.train.chat_format import completion_text, reference_texts


def said(text, role="assistant"):
    return {"role": role, "content": text}


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("a b", "a b"),
        (None, ""),
        ([], ""),
        ([said("?", "user"), said("a b")], "a b"),
        ([said("a b"), said("?", "user")], "a b"),
        ([said(None), said("42", "tool"), said("a b")], "a b"),
        ([said("a b"), said("42", "tool")], "a b"),
        ([said("a b"), {"role": "assistant", "tool_calls": []}], ""),
        ([said([{"type": "text", "text": "a "}, {"type": "image"}, {"text": "b"}])], "a b"),
        ([{"content": "a b"}], "a b"),
        (said("a b"), "a b"),
    ],
)
def test_the_text_of_a_completion(completion, text):
    assert completion_text(completion) == text


def test_what_is_no_completion():
    for wrong in (3, [1, 2], b"a"):
        with pytest.raises(tm.TensorMTError, match="a completion is"):
            completion_text(wrong)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("a", ["a"]),
        (["a", "", None, "b"], ["a", "b"]),
        (None, []),
        ("", []),
        ([], []),
        ([None], []),
        (said("a"), ["a"]),
        ([said("?", "user"), said("a")], ["a"]),
        ([[said("a")], [said("b")], "c"], ["a", "b", "c"]),
        (float("nan"), []),
        (np.array(["a", None], dtype=object), ["a"]),
        (np.array([said("?", "user"), said("a")], dtype=object), ["a"]),
        (pa.scalar(["a", "b"]), ["a", "b"]),
    ],
)
def test_references_of_a_row(row, found):
    assert reference_texts(row) == found
