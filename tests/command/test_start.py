"""Small jobs start without torch (defaults, words) and print what the batched engine prints."""

import json
import subprocess
import sys

import pytest

HYPS = ["the dog ran away today", "it is the cat , “really”", "hello my friend", "", "e\u0301té"]
REFS = ["the dog ran home today", "it is a cat , really", "hello there my friend", "a b", "été"]
OTHER = ["a dog ran home", "", "hello friend", "a", "ete"]
RUN = """
import sys
from tensormt.command.main import main
status = main(sys.argv[2:]) if sys.argv[1] == "plain" else None
if status is None:
    import torch
    from tensormt.metric import Metric
    Metric._plain_statistics = lambda *sides: None
    from tensormt import BLEU, ROUGE, TER, ChrF
    for metric in (BLEU, ChrF, ROUGE, TER):
        metric._plain_statistics = Metric._plain_statistics
    status = main(sys.argv[2:])
else:
    loaded = {"torch", "pyarrow", "scipy.stats", "tqdm"} & set(sys.modules)
    assert not loaded, loaded
sys.exit(status)
"""


@pytest.fixture
def files(tmp_path):
    for name, lines in (("h", HYPS), ("r", REFS), ("o", OTHER)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines * 20) + "\n", "utf-8")
    (tmp_path / "docs.txt").write_text("\n".join(["a", "b"] * 50) + "\n")
    return tmp_path


def run(path, folder, arguments):
    command = [sys.executable, "-c", RUN, path, *arguments]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


FULL = ["--docs", "docs.txt", "--documents", "--confidence", "-f", "json"]
METRICS = ["-m", "bleu", "bleu:max_order=2,lowercase=yes", "chrf", "chrf++", "bleu+chrf"]
METRICS += ["ter", "ter:normalized=yes+wer", "wer", "cer", "per"]
METRICS += ["rouge", "rouge:variant=2", "blend"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "r.txt", "o.txt", "-i", "h.txt", "o.txt", *FULL],
        ["score", "r.txt", "o.txt", "-i", "h.txt", "o.txt", *METRICS, *FULL],
        ["compare", "r.txt", "-i", "h.txt", "o.txt", *METRICS, "-f", "json"],
        ["compare", "r.txt", "-i", "h.txt", "o.txt", "-m", "chrf", "--paired-ar"],
    ],
    ids=["defaults", "score", "compare", "randomization"],
)
def test_torch_is_not_imported_and_nothing_changes(files, arguments):
    assert run("engine", files, arguments) == run("plain", files, arguments)


def test_metrics_with_logarithms_agree_up_to_rounding(files):
    """NIST, BM and NM sum logarithms, whose last bits differ."""
    metrics = ["-m", "nist", "bm", "bma:weighting=zipf", "nm", "bleu+bm", "bleu"]
    arguments = ["score", "r.txt", "o.txt", "-i", "h.txt", "o.txt", *metrics, "-f", "json"]
    engine, plain = (json.loads(run(path, files, arguments)) for path in ("engine", "plain"))

    def close(one, other):
        if isinstance(one, dict):
            assert one.keys() == other.keys()
            return all(close(one[key], other[key]) for key in one)
        if isinstance(one, list):
            return all(close(*pair) for pair in zip(one, other, strict=True))
        return one == (pytest.approx(other, rel=1e-12) if isinstance(one, float) else other)

    assert close(engine, plain)


def test_large_jobs_import_torch(files):
    """The engine is faster than the plain path from some thousand outputs on."""
    for name in ("h.txt", "r.txt"):
        lines = (files / name).read_text("utf-8")
        (files / name).write_text(lines * 100, "utf-8")
    code = RUN.replace("assert not loaded", "assert 'torch' in loaded")
    command = [sys.executable, "-c", code, "plain", "score", "r.txt", "-i", "h.txt", "-m", "bleu"]
    assert subprocess.run(command, cwd=files, capture_output=True).returncode == 0
