"""Rows with hypotheses and references: JSONL and TSV."""

import json

import pytest

import tensormt as tm
from tensormt.data.corpus import open_corpus
from tensormt.data.row_columns import Columns


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
        ("a.tsv", ["x\ty"], "a.tsv has no column 'hypothesis': it has x, y; name one of these"),
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


def test_csv_and_named_columns(tmp_path):
    table = write(
        tmp_path / "rows.csv",
        "key,mt,gold a,gold b,source,chapter",
        '1,"a, b","the ""A""',
        'of two lines",B,s,x',
        "2,c,,C,t,y",
    )
    columns = Columns("mt", ("gold a", "gold b"), "chapter", "key", "source")
    corpus = open_corpus([table], [], columns=columns)
    (found,) = corpus.chunks(10)
    assert list(found.outputs.values()) == [["a, b", "c"]]
    assert found.references == [['the "A"\nof two lines', None], ["B", "C"]]
    assert (found.documents, found.ids, found.sources) == (["x", "y"], ["1", "2"], ["s", "t"])


def test_rows_of_references_beside_rows_of_outputs(tmp_path):
    own = write(tmp_path / "a.jsonl", '{"mt": "a", "references": ["x"], "reference": "y"}')
    gold = write(tmp_path / "b.csv", "gold", "r")
    corpus = open_corpus([own], [gold], columns=Columns("mt", ("gold",)))
    assert gather(corpus) == ([["a"]], [["r"]], [])


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        (['{"mt": "a", "ref": "b"}'], {}, "line 1: the row has no 'hypothesis': it has mt, ref"),
        (['{"mt": "a", "ref": "b"}'], {"hyp": "mt", "refs": ("rf",)}, "no column 'rf': it has mt"),
        (
            ['{"hypothesis": "a", "hypothesis": "b"}'],
            {},
            "line 1: the key 'hypothesis' occurs twic",
        ),
        (['{"hypothesis": "a", "reference": "b"}'], {"id": "key"}, "no column 'key': it has hyp"),
        (['{"hypothesis": "a", "reference": "b", "references": "c"}'], {}, "can be read from"),
    ],
)
def test_named_columns_that_are_not_there(tmp_path, lines, columns, message):
    with pytest.raises(tm.TensorMTError, match=message):
        open_corpus([write(tmp_path / "a.jsonl", *lines)], [], columns=Columns(**columns))


def test_columns_are_named_for_rows_only(tmp_path):
    path = write(tmp_path / "a.txt", "a")
    with pytest.raises(tm.TensorMTError, match=r"no file has rows: expected .csv, .jsonl, .tsv"):
        open_corpus([path], [path], columns=Columns("mt"))
