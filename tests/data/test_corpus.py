"""Input files: text, rows, markup; chunks, alignment, errors with their place."""

import gzip
import json
import os
import threading

import pytest

import tensormt as tm
from tensormt.command.arguments import display_names
from tensormt.command.main import main
from tensormt.data.corpus import open_corpus
from tensormt.data.sgml import read_markup
from tensormt.segments import Segments


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


def test_text_files_in_chunks(tmp_path):
    hyp = write(tmp_path / "hyp", "a", "", "c", "d", "e")
    one, two = write(tmp_path / "r1", "A", "B", "", "D", "E"), write(tmp_path / "r2", *"12345")
    corpus = open_corpus([hyp], [one, two])
    assert len(corpus) == 5
    for size in (1, 2, 5, 9):
        found = gather(corpus, size)
        assert found == ([["a", "", "c", "d", "e"]], [["A", "B", "", "D", "E"], [*"12345"]], [])
    assert gather(corpus, 2, start=3)[0] == [["d", "e"]]


def test_line_ends_and_gzip(tmp_path):
    (tmp_path / "dos").write_bytes("\ufeffa\r\nb".encode())
    with gzip.open(tmp_path / "r.gz", "wb") as file:
        file.write(b"A\nB\n")
    corpus = open_corpus([str(tmp_path / "dos")], [str(tmp_path / "r.gz")])
    assert gather(corpus)[:2] == ([["a", "b"]], [["A", "B"]])


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


SGM = """<refset setid="t" srclang="de" trglang="en">
<DOC docid="d1" sysid="r1"><seg id=1> A &amp; B </seg>
<seg id=2>C</seg></DOC>
<DOC docid="d1" sysid="r2"><seg id=1>X</seg></DOC>
<DOC docid="d2" sysid="r1"><seg id="1">E</seg></DOC></refset>"""
TST = """<tstset><doc docid="d1" sysid="s"><hl><seg id="1">a</seg></hl><p><seg id="2">c</seg></p>
</doc><doc docid="d2" sysid="s"><seg id="1">e</seg></doc></tstset>"""
WMT = """<?xml version='1.0'?><dataset id="x"><doc id="d1" origlang="de">
<src lang="de"><p><seg id="1">q</seg></p></src>
<ref lang="en" translator="A"><p><seg id="1">A</seg></p></ref>
<hyp system="one"><p><seg id="1">a</seg></p></hyp>
<hyp system="two"><p><seg id="1">b</seg></p></hyp></doc></dataset>"""


def test_mteval_markup(tmp_path):
    refs, hyps = tmp_path / "ref.sgm", tmp_path / "hyp.sgm"
    refs.write_text(SGM)
    hyps.write_text(TST)
    found = gather(open_corpus([str(hyps)], [str(refs)]))
    assert found == (
        [["a", "c", "e"]],
        [["A & B", "C", "E"], ["X", None, None]],
        ["d1", "d1", "d2"],
    )


def test_markup_is_aligned_by_document_and_segment(tmp_path):
    """The second file follows the order of the first, whatever its own; both have the same ids."""
    refs, hyps = tmp_path / "ref.sgm.gz", tmp_path / "hyp.sgm"
    with gzip.open(refs, "wt") as file:
        file.write(SGM)
    turned = """<tstset><doc docid="d2" sysid="s"><seg id="1">e</seg></doc>
    <doc docid="d1" sysid="s"><seg id="2">c</seg><seg id="1">a</seg></doc></tstset>"""
    hyps.write_text(turned)
    found = gather(open_corpus([str(hyps)], [str(refs)]))
    assert found == (
        [["e", "c", "a"]],
        [["E", "C", "A & B"], [None, None, "X"]],
        ["d2", "d1", "d1"],
    )
    hyps.write_text(turned.replace('<seg id="2">c</seg>', ""))
    read_markup.cache_clear()
    with pytest.raises(tm.TensorMTError, match="segment '2' of document 'd1' is in only one of"):
        open_corpus([str(hyps)], [str(refs)])


def test_pipes_are_kept(tmp_path):
    """Process substitution: what can be read only once is copied."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_text("A\nB\n"))
    feeder.start()
    corpus = open_corpus([write(tmp_path / "hyp", "a", "b")], [str(pipe)])
    feeder.join()
    for _ in range(2):
        assert gather(corpus)[1] == [["A", "B"]]
    with pytest.raises(tm.TensorMTError, match="Is a directory"):
        open_corpus([str(tmp_path)], [str(tmp_path / "hyp")])


def test_row_files_must_agree_on_references(tmp_path):
    row = '{"hypothesis": "a", "references": ["A"]}'
    paths = [write(tmp_path / f"{name}.jsonl", row) for name in "ab"]
    assert gather(open_corpus(paths, [])) == ([["a"], ["a"]], [["A"]], [])
    write(tmp_path / "b.jsonl", row.replace("A", "B"))
    with pytest.raises(tm.TensorMTError, match="segment 1: the hypothesis files have different"):
        open_corpus(paths, [])
    write(tmp_path / "b.jsonl", row.replace('"A"', '"A", "B"'))
    with pytest.raises(tm.TensorMTError, match="different references"):
        open_corpus(paths, [])


def test_damaged_gzip(tmp_path):
    path = tmp_path / "a.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a\n" * 1000)
    data = bytearray(path.read_bytes())
    data[12:20] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(tm.TensorMTError, match="cannot be read"):
        open_corpus([str(path)], [str(path)])


def test_wmt_markup(tmp_path):
    path = tmp_path / "wmt.xml"
    path.write_text(WMT)
    corpus = open_corpus([str(path)], [])
    assert corpus.systems == ["one", "two"]
    assert gather(corpus) == ([["a"], ["b"]], [["A"]], ["d1"])


def test_misaligned_and_missing(tmp_path):
    two, three = write(tmp_path / "two", "a", "b"), write(tmp_path / "three", *"abc")
    with pytest.raises(tm.TensorMTError, match=r"three has 3 lines, .*two has 2: they must align"):
        open_corpus([two], [three])
    with pytest.raises(tm.TensorMTError, match="gone cannot be read: No such file"):
        open_corpus([two], [str(tmp_path / "gone")])
    with pytest.raises(tm.TensorMTError, match="no references: name at least one"):
        open_corpus([two], [])
    with pytest.raises(tm.TensorMTError, match="two systems are named"):
        open_corpus([two, two], [two])
    with pytest.raises(tm.TensorMTError, match="reference 1 has 1 segments, hypothesis 'a' has 2"):
        Segments({"a": ["x", "y"]}, [["z"]])


def test_segment_without_any_reference(tmp_path):
    hyp = write(tmp_path / "hyp", *"abcd")
    refs = [write(tmp_path / "r1", "A", "B", "", "D"), write(tmp_path / "r2", "A", "B", " ", "")]
    with pytest.raises(tm.TensorMTError, match="segment 3 has no reference"):
        gather(open_corpus([hyp], refs))


def test_not_utf8(tmp_path):
    (tmp_path / "bad").write_bytes(b"a\nb\n\xff\n")
    ref = write(tmp_path / "r", *"abc")
    with pytest.raises(tm.TensorMTError, match=r"bad, line 3: not UTF-8"):
        gather(open_corpus([str(tmp_path / "bad")], [ref]))


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


def marked(tmp_path, text, name="a.sgm"):
    path = tmp_path / name
    path.write_text(text)
    read_markup.cache_clear()
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<tstset><doc docid="d" sysid="s"><seg id="1">a</seg>\n<seg id="1">b</seg></doc>',
            "line 2: segment '1' of document 'd' of 's' occurs twice",
        ),
        ('<tstset><doc docid="d"><seg id="1">a', "line 1: a <seg> that is never closed"),
        ("<tstset><doc><seg>a<seg>b</seg>", "a <seg> begins inside another one"),
        (
            '<tstset><doc>\n<!DOCTYPE x <seg id="1">a</seg></doc>',
            "line 2: a </seg> without <seg>",
        ),
        ('<srcset><doc><seg id="1">a</seg></doc></srcset>', "no <seg> of a reference"),
        ("<!DOCTYPE unclosed", "no <seg>"),
        ("", "no <seg>"),
    ],
)
def test_markup_that_would_lose_a_segment(tmp_path, text, message):
    with pytest.raises(tm.TensorMTError, match=message):
        open_corpus([marked(tmp_path, text)], [])


@pytest.mark.parametrize(
    "text", ["<![foo", "<![foo[ <seg>a</seg> ]]>", "<!", "<![", "<?", "&#x110000;"]
)
def test_declarations_end_in_one_sentence(tmp_path, text):
    with pytest.raises(tm.TensorMTError):
        open_corpus([marked(tmp_path, f"<tstset><doc>{text}")], [])


def test_cdata_and_tags_of_html_are_text(tmp_path):
    path = marked(
        tmp_path,
        '<tstset sysid="a/b"><doc docid="d"><seg id="1"><![CDATA[x < y & z]]> w</seg>'
        '<seg id="2"><title>a <b>c</b></title> d</seg><seg id="3">p <plaintext> q</seg></doc>'
        '</tstset><refset><doc docid="d"><seg id="1">r</seg><seg id="2">r</seg>'
        '<seg id="3">r</seg></doc></refset>',
    )
    corpus = open_corpus([path], [])
    assert gather(corpus)[0] == [["x < y & z w", "a c d", "p q"]]
    assert display_names(corpus.systems) == {"a/b": "a/b"}


def test_documents_outside_a_set_are_a_system(tmp_path):
    hyp = marked(tmp_path, '<doc docid="d" sysid="s"><seg id="1">a</seg></doc>')
    ref = marked(tmp_path, '<doc docid="d" sysid="r"><seg id="1">A</seg></doc>', "r.sgm")
    corpus = open_corpus([hyp], [ref])
    assert (corpus.systems, gather(corpus)) == (["s"], ([["a"]], [["A"]], ["d"]))


def test_segments_without_ids_are_numbered_in_their_document(tmp_path):
    hyp = marked(
        tmp_path, "<tstset><doc docid=x><seg>a</seg><seg>b</seg></doc><doc docid=y><seg>c</seg>"
    )
    ref = marked(
        tmp_path,
        "<refset><doc docid=x><seg id=1>A</seg><seg id=2>B</seg></doc>"
        "<doc docid=y><seg id=1>C</seg>",
        "r.sgm",
    )
    assert gather(open_corpus([hyp], [ref]))[:2] == ([["a", "b", "c"]], [["A", "B", "C"]])


def test_columns_whose_names_only_begin_like_a_reference(tmp_path):
    table = write(
        tmp_path / "a.tsv", "hypothesis\treference_url\treference\treference-2", "a\tu\tA\tB"
    )
    assert gather(open_corpus([table], []))[1] == [["A"], ["B"]]


def test_files_without_a_segment(tmp_path):
    empty = write(tmp_path / "empty")
    with pytest.raises(tm.TensorMTError, match="empty contains no segment: expected at least one"):
        open_corpus([empty], [empty])
    with pytest.raises(tm.TensorMTError, match="contains no segment"):
        open_corpus([write(tmp_path / "a.tsv", "hypothesis\treference")], [])


MRG = """( (S (NP (DT the) (NN dog))
   (VP (VBD ran)) ))

( (S
  (NP (NN it))
  (VP (VBD ran))))
"""
CONLLU = "# one\n1\tdog\t_\t_\t_\t_\t2\t_\t_\t_\n2\tran\t_\t_\t_\t_\t0\t_\t_\t_\n\n" * 2


@pytest.mark.parametrize(("name", "text"), [("a.mrg", MRG), ("a.conllu", CONLLU)])
def test_trees_of_several_lines(tmp_path, capsys, name, text):
    path, other = tmp_path / name, tmp_path / f"b{name}"
    path.write_text(text)
    other.write_text(text.replace("dog", "cat"))
    metric = "stm:lexical=yes" if name == "a.mrg" else "hwcm"
    for ref, expected in ((path, 1.0), (other, None)):
        arguments = ["score", ref, "-i", path, "--trees", "-m", metric, "bleu", "-f", "json"]
        assert main([str(argument) for argument in arguments]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["segments"] == 2
        score = found["systems"][name][metric]["score"]
        assert score == 1 if expected else 0 < score < 1
    (tmp_path / "short.ptb").write_text("(S (A a))\n")
    assert (
        main(["score", str(tmp_path / "short.ptb"), "-i", str(path), "--trees", "-m", "stm"]) == 2
    )
    path.write_text(text[:-3] if name == "a.mrg" else text.replace("\t2\t", "\t9\t"))
    assert main(["score", str(path), "-i", str(path), "--trees", "-m", metric]) == 2
    assert capsys.readouterr().err.count("\n") == 2
