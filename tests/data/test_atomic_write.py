"""Output files: never over an input or a device, and written completely or not at all."""

import os
import stat

import pytest

from tensormt.data.atomic_write import atomic_file, check_regular, is_stream, output_path
from tensormt.errors import TensorMTError


def test_an_output_is_no_input_and_no_folder(tmp_path):
    given = tmp_path / "in.txt"
    given.write_text("x")
    (tmp_path / "link").symlink_to(given)
    (tmp_path / "copy").hardlink_to(given)
    for name in ("in.txt", "link", "copy"):
        with pytest.raises(TensorMTError, match="is an input of this run"):
            output_path(tmp_path / name, [given])
    with pytest.raises(TensorMTError, match=r"in.txt.part is an input"):
        output_path(given, [f"{given}.part"], ".part")
    with pytest.raises(TensorMTError, match="it is a folder"):
        output_path(tmp_path)
    with pytest.raises(TensorMTError, match="does not exist"):
        output_path(tmp_path / "none" / "a")
    with pytest.raises(TensorMTError, match="not a valid file name"):
        output_path("a\0b")
    assert output_path(tmp_path / "new", [given, "-"]) == tmp_path / "new"


def test_a_file_is_replaced_when_the_block_succeeds(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)

    def fail():
        with atomic_file(path) as file:
            file.write(b"newer")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (path.read_text(), os.listdir(tmp_path)) == ("new", ["a"])


def test_pipes_are_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert is_stream(pipe)
    assert not is_stream(tmp_path / "none")
    with pytest.raises(TensorMTError, match="not a regular file"):
        check_regular(pipe)
    check_regular(tmp_path / "none")
