"""Input files: text, rows, markup; chunks, alignment, errors with their place."""

import gzip
import json
import os
import threading

import pytest

import tensormt as tm
from tensormt.command.main import main
from tensormt.data.corpus import open_corpus
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
