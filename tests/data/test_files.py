"""Lines decoded block by block against lines one at a time; pipes, gzip, JSON."""

import gzip
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.data import files

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
    expected = one_by_one(data)
    if isinstance(expected, int):
        with pytest.raises(tm.TensorMTError, match=f"line {expected}: not UTF-8"):
            list(files.lines(str(path), block_size=size))
        return
    assert list(files.lines(str(path), block_size=size)) == expected
    assert files.count_lines(str(path), block_size=size) == len(expected)
    batches = files.line_batches(str(path), 2, 1, block_size=size)
    assert [line for part in batches for line in part] == expected[1:]


def test_gzip_is_decompressed_and_named_when_damaged(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a\nb"))
    assert list(files.lines(str(path))) == ["a", "b"]
    assert files.suffix(str(path)) == ".txt"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(tm.TensorMTError, match=r"a.txt.gz cannot be read"):
        files.text(str(path))


def test_pipes_are_copied_once(tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("a\nb\n"))
    writer.start()
    spool = files.Spool()
    copy = spool.path(str(pipe))
    writer.join()
    assert [list(files.lines(copy)) for _ in range(2)] == [["a", "b"]] * 2
    assert (files.display_name(copy), files.suffix(copy)) == (str(pipe), ".jsonl")
    with pytest.raises(tm.TensorMTError, match="is named twice"):
        spool.path(str(pipe))


@pytest.mark.parametrize(
    ("line", "message"),
    [("[1]", "expected a JSON object"), ("{", "not a JSON object"), ("[" * 100_000, "nested")],
)
def test_lines_that_are_no_json_objects(line, message):
    with pytest.raises(tm.TensorMTError, match=rf"x, line 3: .*{message}"):
        files.json_line(line, "x, line 3")


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_encoding_is_checked_while_lines_are_counted(tmp_path, block):
    path = tmp_path / "a.txt"
    path.write_bytes("é\n犬\n".encode() + b"\xff\n")
    message = r"a\.txt, line 3: not UTF-8 text: convert it to UTF-8$"
    with pytest.raises(tm.TensorMTError, match=message):
        files.count_lines(str(path), block_size=block)
    path.write_bytes("a\nb".encode("utf-16"))
    for read in (files.count_lines, files.text, lambda name: list(files.lines(name))):
        with pytest.raises(tm.TensorMTError, match="line 1: not UTF-8 text but UTF-16: convert it"):
            read(str(path))


def test_objects_of_a_file_have_their_places(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n {"b": 2}\n[]\n', encoding="utf-8")
    found = files.json_objects(str(path))
    assert [next(found), next(found)] == [
        (f"{path}, line 1", {"a": 1}),
        (f"{path}, line 3", {"b": 2}),
    ]
    with pytest.raises(tm.TensorMTError, match="line 4: expected a JSON object"):
        next(found)
