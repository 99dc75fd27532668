"""Lines decoded a block at a time, and rows written by a template, against one at a time."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.data import files
from tensormt.data.segment_writer import SegmentWriter

pieces = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r", b"\r\n", "é".encode(), "\u2028".encode(), b"\x0b", b"\xff"]
    )
)


def one_by_one(data):
    """The lines, or how many there are before the first that is not UTF-8."""
    found = []
    for number, line in enumerate(cut(data)):
        try:
            text = line.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError:
            return number + 1
        found.append(text.rstrip("\r\n"))
    return found


def cut(data):
    parts = data.split(b"\n")
    ends = [part + b"\n" for part in parts[:-1]]
    return [*ends, parts[-1]] if parts[-1] else ends


@given(st.booleans(), pieces, st.integers(1, 9))
def test_blocks_hold_the_lines(tmp_path_factory, mark, parts, size):
    data = b"\xef\xbb\xbf" * mark + b"".join(parts)
    path = tmp_path_factory.mktemp("blocks") / "text"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_BLOCK", size)
        expected = one_by_one(data)
        if isinstance(expected, int):
            with pytest.raises(tm.TensorMTError, match=f"line {expected}: not UTF-8"):
                list(files.lines(str(path)))
            return
        assert list(files.lines(str(path))) == expected
        assert files.count(str(path)) == len(expected)
        assert [x for part in files.slices(str(path), 2, 1) for x in part] == expected[1:]


NAMES = ["bleu", 'a"%s', "é%"]
SCORES = [[0.1, 1e-300, -0.0], [math.nan, math.inf, -math.inf], [1.0, 2.5e17, 1 / 3]]


@pytest.mark.parametrize("docs", [None, ["d 1", 'q"\t%d', "é"]])
def test_rows_are_those_of_json(tmp_path, docs):
    out = tmp_path / "out.jsonl"
    writer = SegmentWriter(str(out), "mark", NAMES, False)
    systems = ["s%d", "t\t2"]
    writer.add(7, docs, {s: dict(zip(NAMES, SCORES, strict=True)) for s in systems}, {})
    writer.finish()
    expected = [
        {
            "segment": 8 + k,
            "system": system,
            **({"doc": docs[k]} if docs else {}),
            **{name: column[k] for name, column in zip(NAMES, SCORES, strict=True)},
        }
        for k in range(3)
        for system in systems
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in expected]
    assert out.read_text().splitlines() == lines


def test_cells_of_a_table_are_one_line(tmp_path):
    out = tmp_path / "out.tsv"
    writer = SegmentWriter(str(out), "mark", ["bleu"], False)
    writer.add(0, ["a\tb"], {"s %d\n": {"bleu": [math.nan]}}, {})
    writer.finish()
    assert out.read_text() == "segment\tsystem\tdoc\tbleu\n1\ts %d\ta b\tnan\n"
