"""Figures are PNG files with valid names."""

import pytest

from tensormt.errors import TensorMTError
from tensormt.figures import check_matplotlib, new_figure, save_figure

pytest.importorskip("matplotlib")


def test_names_become_valid_file_names(tmp_path):
    check_matplotlib()
    figure = new_figure(2, 1)
    assert figure.get_size_inches().tolist() == [2, 1]
    path = save_figure(figure, tmp_path / "new" / "folder", "zh-en, system: a/b=1+2")
    assert path == tmp_path / "new" / "folder" / "zh-en_system_a_b=1+2.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(TensorMTError, match="cannot be written"):
        save_figure(new_figure(1, 1), tmp_path / "file", "name")
