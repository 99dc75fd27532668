"""The notebooks run from start to end."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("notebooks/*.ipynb"))


@pytest.mark.heavy(needs="notebooks")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name, tmp_path):
    copytree(EXAMPLES, tmp_path / "examples")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
    folder = tmp_path / "examples" / "notebooks"
    found = subprocess.run([*command, name], cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert '"tensormt: ' not in (folder / name).read_text(encoding="utf-8")  # a command failed


def test_there_are_notebooks():
    assert NOTEBOOKS == ["metaeval.ipynb", "parquet.ipynb", "report.ipynb", "reward.ipynb"]
