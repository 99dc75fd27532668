"""`tensormt compare`."""

import json
import signal
from pathlib import Path

import pytest

from tensormt.command.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


REFS = [str(EXAMPLES / "ref1.txt"), str(EXAMPLES / "ref2.txt")]


SYSTEMS = [str(EXAMPLES / "sysA.txt"), str(EXAMPLES / "sysB.txt")]


def here(capsys, *arguments):
    """The command in this process: status, standard output, standard error."""
    previous = signal.getsignal(signal.SIGTERM)
    try:
        status = main([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, previous)
    return status, *capsys.readouterr()


def test_compare(capsys):
    arguments = ("compare", *REFS, "-i", *SYSTEMS, "-m", "bleu")
    status, text, _ = here(capsys, *arguments)
    assert status == 0
    assert "paired bootstrap, 10,000 resamples, seed 12345" in text
    _, old, _ = here(capsys, *arguments, "--sacrebleu-p")
    assert "paired bootstrap, 1,000 resamples, seed 12345, p-values as in sacrebleu" in old
    head, baseline, system = (line.split() for line in text.splitlines()[:3])
    assert head[:4] == ["metric", "system", "score", "difference"]
    assert baseline == ["bleu", "sysA", "78.23", "baseline"]
    assert system[:4] == ["bleu", "sysB", "30.64", "-47.59"]
    assert system[-2:] == ["worse", "0/0/12"]
    _, out, _ = here(capsys, *arguments, "--paired-ar", "--samples", 99, "-f", "json")
    report = json.loads(out)
    assert (report["test"], report["samples"]) == ("ar", 99)
    assert report["comparisons"][0]["system"] == "sysB.txt"
    assert report["comparisons"][0]["p"] == pytest.approx(0.01)
    assert report["comparisons"][0]["verdict"] == "worse"
    assert report["scores"]["bleu"]["sysA.txt"] == pytest.approx(78.23, abs=0.01)


def test_names_in_tables(tmp_path, capsys):
    """Names of files may hold anything; LaTeX and TSV keep their form."""
    for name in ("a_b%&#", "\\x^", "[é中]"):
        (tmp_path / name).write_text(Path(SYSTEMS[0]).read_text())
    files = ["compare", *REFS, "-i", *sorted(tmp_path.iterdir()), "-m", "bleu", "-q", "-f"]
    _, latex, _ = here(capsys, *files, "latex")
    assert latex.startswith(r"\begin{tabular}{llrrrrrrr}")
    for name in (r"{}[é", r"\textbackslash{}x\textasciicircum{}", r"a\_b\%\&\#"):
        assert name in latex
    body = latex.partition("midrule")[2].partition("\\bottomrule")[0].strip().splitlines()
    assert [len(line.replace(r"\&", "").split("&")) for line in body] == [9, 9, 9]
    _, rows, _ = here(capsys, *files, "tsv")
    assert [len(line.split("\t")) for line in rows.splitlines()] == [9, 9, 9, 9]
