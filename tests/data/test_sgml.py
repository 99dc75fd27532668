"""mteval and WMT markup: systems, references, documents, and markup that would lose a segment."""

import gzip

import pytest

import tensormt as tm
from tensormt.command.arguments import display_names
from tensormt.data.corpus import open_corpus
from tensormt.data.sgml import read_markup


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


def test_source_text_is_carried(tmp_path):
    (tmp_path / "a.xml").write_text(WMT)
    corpus = open_corpus([str(tmp_path / "a.xml")], [])
    assert [part.sources for part in corpus.chunks(5)] == [["q"]]
    (tmp_path / "hyp.sgm").write_text(TST)
    source = """<srcset><doc docid="d2"><seg id="1">drei</seg></doc>
<doc docid="d1"><seg id="2">zwei</seg></doc></srcset>"""
    for name, text in (("ref.sgm", SGM), ("both.sgm", SGM + source)):
        (tmp_path / name).write_text(text)
    for name, expected in (("ref.sgm", [None, None]), ("both.sgm", [[None, "zwei"], ["drei"]])):
        corpus = open_corpus([str(tmp_path / "hyp.sgm")], [str(tmp_path / name)])
        assert [part.sources for part in corpus.chunks(2)] == expected


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


def test_wmt_markup(tmp_path):
    path = tmp_path / "wmt.xml"
    path.write_text(WMT)
    corpus = open_corpus([str(path)], [])
    assert corpus.systems == ["one", "two"]
    assert gather(corpus) == ([["a"], ["b"]], [["A"]], ["d1"])


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
