"""Folders of mt-metrics-eval."""

import math

import numpy as np
import pytest

from tensormt.data.human_scores import read_scores
from tensormt.data.wmt import (
    NO_OUTPUT,
    language_pairs,
    read_folder,
    standard_reference,
    write_scores,
)
from tensormt.errors import TensorMTError


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "documents/en-de.docs": "news\td1\nnews\td1\n",
        "references/en-de.refA.txt": "a\nb\n",
        "references/en-de.refB.jsonl": '{"target": "c"}\n{"target": "d"}\n',
        "system-outputs/en-de/s.txt": f"x\n{NO_OUTPUT}\n",
        "system-outputs/en-de/t.jsonl": '{"hypothesis": "y"}\n{"hypothesis": "z"}\n',
        "system-outputs/en-de/refB.txt": "c\nd\n",
        "human-scores/en-de.mqm.seg.score": "s\t1\ns\tNone\nt\t3\nt\t4\n",
        "human-scores/en-de.mqm.sys.score": "s\t1\nt\t3.5\n",
        "metric-scores/en-de/M-refA.seg.score": "s\t1\ns\t2\nt\t3\nt\t4\n",
        "metric-scores/en-de/M-refB.seg.score": "s\t9\ns\t9\nt\t9\nt\t9\n",
        "metric-scores/en-de/Q-src.sys.score": "s\t1\nt\t2\n",
    }.items():
        path = tmp_path / "wmt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "wmt"


def test_a_language_pair(folder):
    assert language_pairs(folder) == ["en-de"]
    found = read_folder(folder, "en-de", human_outputs=True)
    assert (found.references, found.human_outputs) == (["refA"], [])
    assert found.test.outputs == {"refB": ["c", "d"], "s": ["x", None], "t": ["y", "z"]}
    assert (found.test.references, found.test.documents) == ([["a", "b"]], ["d1", "d1"])
    nan = math.nan
    np.testing.assert_array_equal(found.test.human["mqm"], [[nan, nan], [1, nan], [3, 4]])
    np.testing.assert_array_equal(found.human_systems["mqm"], [nan, 1, 3.5])
    np.testing.assert_array_equal(found.stored["M"], [[nan, nan], [1, 2], [3, 4]])
    np.testing.assert_array_equal(found.stored_systems["Q"], [nan, 1, 2])
    assert np.isnan(found.stored["Q"]).all()
    other = read_folder(folder, "en-de", ["refB"])
    assert list(other.test.outputs) == ["s", "t"]
    assert other.stored["M"][0].tolist() == [9, 9]


def test_human_outputs_are_left_out(folder):
    (folder / "system-outputs/en-de/synthetic_ref.txt").write_text("a\nb\n")
    (folder / "system-outputs/en-de/refA.txt").write_text("a\nb\n")
    found = read_folder(folder, "en-de")
    assert list(found.test.outputs) == ["s", "t"]
    assert found.human_outputs == ["refB", "synthetic_ref"]  # refA is the reference
    np.testing.assert_array_equal(found.test.human["mqm"], [[1, math.nan], [3, 4]])
    kept = read_folder(folder, "en-de", human_outputs=True)
    assert list(kept.test.outputs) == ["refB", "s", "synthetic_ref", "t"]


@pytest.mark.parametrize(
    ("name", "pair", "expected"),
    [
        ("wmt23", "he-en", "refB"),
        ("wmt23_part", "he-en", "refB"),
        ("wmt23", "zh-en", "refA"),
        ("wmt21.news", "en-de", "refC"),
        ("wmt21.tedtalks", "en-de", "refA"),
        ("wmt99", "he-en", "refA"),
    ],
)
def test_standard_references(tmp_path, name, pair, expected):
    assert standard_reference(tmp_path / name, pair, ["refC", "refB", "refA"]) == expected
    assert standard_reference(tmp_path / name, pair, ["refX"]) == "refX"


def test_the_folder_may_be_the_current_one(tmp_path, monkeypatch):
    (tmp_path / "wmt23").mkdir()
    monkeypatch.chdir(tmp_path / "wmt23")
    assert standard_reference(".", "he-en", ["refA", "refB"]) == "refB"


def test_what_is_missing_is_named(folder):
    with pytest.raises(TensorMTError, match=r"no reference 'refC' of en-de: use refA, refB"):
        read_folder(folder, "en-de", ["refC"])
    with pytest.raises(TensorMTError, match=r"en-xx.docs cannot be read"):
        read_folder(folder, "en-xx")
    with pytest.raises(TensorMTError, match="has no folder documents"):
        read_folder(folder / "documents", "en-de")
    (folder / "references/en-de.refA.txt").write_text("a\n")
    with pytest.raises(TensorMTError, match="has 1 lines, the documents have 2"):
        read_folder(folder, "en-de")


def test_scores_are_written_and_read(tmp_path):
    scores = {"s": [0.1, math.nan], "t": [1 / 3, 2.0]}
    path = write_scores(tmp_path / "new", "stm/f1", ["refA", "refB"], scores)
    assert path.name == "stm_f1-refA.refB.seg.score"
    assert repr(read_scores(path)) == repr(scores)
