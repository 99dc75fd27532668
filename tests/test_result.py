"""Results of tm.score: tables, frames, several systems."""

import pyarrow as pa
import pytest
import torch

import tensormt as tm
from tensormt.result import Result, Results, format_score

REFS = [["the dog ran home", "a cat sat"]]
HYPS = {"A": ["the dog ran home", "a cat sat"], "B": ["the dog", "a <b>cat</b>"]}


@pytest.fixture(scope="module")
def results():
    return tm.score(HYPS, REFS, ["bleu", "bm"])


def test_several_systems_score_as_each_alone(results):
    assert isinstance(results, Results)
    assert list(results) == ["A", "B"]
    for name, hyps in HYPS.items():
        alone = tm.score(hyps, REFS, ["bleu", "bm"])
        assert isinstance(alone, Result)
        assert results[name].corpus == alone.corpus
        assert results[name].signatures == alone.signatures
        for metric, scores in alone.segments.items():
            assert torch.equal(results[name].segments[metric], scores)


def test_results_print_as_tables(results):
    lines = str(results).splitlines()
    assert lines[0].split() == ["system", "bleu", "bm"]
    assert lines[1].split() == ["A", "100.00", f"{results['A'].corpus['bm']:.4f}"]
    alone = tm.score(HYPS["B"], REFS, ["bleu"], docs=["x", "y"])
    assert [line.split()[0] for line in repr(alone).splitlines()] == ["bleu", "corpus", "x", "y"]


def test_a_notebook_shows_tables_and_runs_nothing():
    found = tm.score({"<script>": ["a"], "B": ["b"]}, [["a"]], ["chrf"])
    page = found._repr_html_()
    assert page.startswith("<table")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "100.00" in found["B"]._repr_html_() or "0.00" in found["B"]._repr_html_()


def test_frames_have_a_row_for_each_segment(results):
    frame = results.to_frame()
    assert isinstance(frame, pa.Table)
    assert hasattr(frame, "__arrow_c_stream__")  # what pandas and polars take
    assert frame.column_names == ["system", "segment", "bleu", "bm"]
    assert frame["system"].to_pylist() == ["A", "A", "B", "B"]
    assert frame["segment"].to_pylist() == [1, 2, 1, 2]
    assert frame["bleu"].to_pylist()[2:] == results["B"].segments["bleu"].tolist()
    assert results["B"].to_frame().column_names == ["segment", "bleu", "bm"]
    assert len(tm.score([], [[]], ["bleu"]).to_frame()) == 0


def test_scores_have_the_digits_of_their_metric():
    assert format_score(31.4159, 2) == "31.42"
    assert format_score(0.5, 4) == "0.5000"
    assert format_score(0.0004, 4) == "4.00e-04"
    assert format_score(-0.5, 4) == "-0.5000"
    assert format_score(0, 4) == "0.0000"


def test_of_which_metrics_less_is_better():
    found = tm.score(HYPS, REFS, ["bleu", "ter", "wer"])
    for shown in (found, found["A"], tm.score(HYPS["A"], REFS, "ter")):
        names = "ter, wer" if " wer" in repr(shown) else "ter"
        assert repr(shown).endswith(f"\n\nlower is better: {names}")
        assert shown._repr_html_().endswith(f"<p>lower is better: {names}</p>")
    assert "lower" not in repr(tm.score(HYPS, REFS, "bleu"))
