"""Plots of a summary are PNG files."""

from importlib.util import find_spec

import pytest
from qarla.text_samples import human_scores, judged_set, tensors_of

from tensormt.errors import TensorMTError
from tensormt.qarla import plots
from tensormt.qarla.summary import SummaryOptions, summarize


def test_plots_are_files(tmp_path):
    test_set, human = judged_set(), human_scores()
    tensors = tensors_of(test_set)
    found = summarize(tensors, test_set.systems, SummaryOptions(), {}, human)
    if find_spec("matplotlib") is None:
        with pytest.raises(TensorMTError, match=r"pip install 'tensormt\[report\]'"):
            plots.save_plots(found, tmp_path)
        return
    files = plots.save_plots(found, tmp_path / "figures")
    assert [file.name for file in files] == ["king.png", "jack.png", "king-fluency.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
