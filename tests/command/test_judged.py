"""Arguments of the commands on test sets with human scores."""

import json

import pytest

from tensormt.command import arguments, judged
from tensormt.command.main import build_parser
from tensormt.errors import TensorMTError
from tensormt.segments import Segments


def parsed(*words):
    return build_parser(["metaeval"]).parse_args(["metaeval", "set.jsonl", "-q", *words])


def test_the_selected_part():
    found = judged.selection(parsed("--human", "da", "--without", "s", "--min-references", "2"))
    assert (found.human, found.without) == (["da"], ["s"])
    assert (found.min_references, found.max_references) == (2, None)


@pytest.mark.parametrize(("text", "form"), [(" (S (A a))", "brackets"), ("1\ta\t", "conllu")])
def test_texts_that_are_trees(text, form):
    segments = Segments({"s": ["x"]}, [[text]])
    assert judged.trees_for(parsed(), segments) is None
    assert judged.trees_for(parsed("--trees"), segments).form == form


def test_the_bar_shows_parsed_texts():
    progress = arguments.ParseProgress()
    with judged.ParsingBar(parsed(), progress):
        progress(3)
    assert progress._parsed == 3


def test_metrics_that_read_sources(tmp_path):
    row = {
        "refs": ["a b", "a c", "b c"],
        "sys": {s: {"hyp": "a", "scores": {"f": 1}} for s in "xy"},
    }
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row) + "\n")
    args = build_parser(["metaeval"]).parse_args(["metaeval", str(path), "-m", "copied", "-q"])
    with pytest.raises(TensorMTError, match="copied compares with the source text: the rows of"):
        args.run(args)
    args = build_parser(["qarla"]).parse_args(["qarla", str(path), "-m", "copied", "-q"])
    with pytest.raises(TensorMTError, match="QARLA compares any two texts of a segment"):
        args.run(args)
