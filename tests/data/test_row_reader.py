"""Rows with hypotheses and references: JSONL and TSV."""

import json

import pytest

import tensormt as tm
from tensormt.data.corpus import open_corpus


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def gather(corpus, size=2, start=0):
    hyps, refs, docs = {}, [[] for _ in range(corpus.reference_count)], []
    for chunk in corpus.chunks(size, start):
        assert len(chunk) <= size
        for name, lines in chunk.outputs.items():
            hyps.setdefault(name, []).extend(lines)
        for stream, lines in zip(refs, chunk.references, strict=True):
            stream.extend(lines)
        docs.extend(chunk.documents or [])
    return list(hyps.values()), refs, docs


def test_rows(tmp_path):
    rows = [
        {"hypothesis": "a", "references": ["A", "B"], "doc": "x", "source": "s"},
        {"hypothesis": "b", "references": ["C"], "doc": 7},
        {"hypothesis": "", "reference": "D", "doc": "x"},
    ]
    path = write(tmp_path / "rows.jsonl", *map(json.dumps, rows))
    found = gather(open_corpus([path], []))
    assert found == ([["a", "b", ""]], [["A", "C", "D"], ["B", None, None]], ["x", "7", "x"])
    table = write(
        tmp_path / "rows.tsv",
        "source\thypothesis\treference1\treference2\tdoc",
        "s\ta\tA\tB\tx",
        "s\tb\tC\t\ty",
    )
    found = gather(open_corpus([table], []))
    assert found == ([["a", "b"]], [["A", "C"], ["B", None]], ["x", "y"])


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("a.jsonl", ["{"], "line 1: not a JSON object"),
        ("a.jsonl", ["[]"], "line 1: expected a JSON object"),
        ("a.jsonl", ['{"hypothesis": "a", "references": [1]}'], "'references' must be a list of"),
        ("a.jsonl", ['{"references": ["a"]}'], "line 1: the row has no 'hypothesis'"),
        ("a.tsv", ["x\ty"], "line 1: expected a header"),
        ("a.tsv", ["hypothesis\treference", "a"], "line 2: 1 columns, the header has 2"),
        ("a.tsv", ["hypothesis\treference\treference"], "two columns have the same name"),
        ("a.sgm", ["nothing"], "no <seg>"),
    ],
)
def test_bad_rows(tmp_path, name, lines, message):
    with pytest.raises(tm.TensorMTError, match=message):
        open_corpus([write(tmp_path / name, *lines)], [])


def test_columns_whose_names_only_begin_like_a_reference(tmp_path):
    table = write(
        tmp_path / "a.tsv", "hypothesis\treference_url\treference\treference-2", "a\tu\tA\tB"
    )
    assert gather(open_corpus([table], []))[1] == [["A"], ["B"]]
