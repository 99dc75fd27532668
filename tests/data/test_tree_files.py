"""treefiles: what a file of trees holds, and which of its sentences make a segment."""

import io
import re
import sys
from types import SimpleNamespace

import pytest

from tensormt.command.main import main
from tensormt.data.tree_files import read_trees, tree_format
from tensormt.errors import TensorMTError
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import TreesAsText


def row(number, word, head, name="dep"):
    return f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{name}\t_\t_\n"


def sentence(*heads, comments="", mark=""):
    return comments + "".join(row(k, f"w{k}{mark}", head) for k, head in enumerate(heads, 1))


A, B, C = sentence(0, 1), sentence(2, 0, mark="b"), sentence(0, mark="c")


def segments(path, rule="sentence"):
    """Words and heads of each segment."""
    trees = TreesAsText("conllu")(read_trees(str(path), rule))
    return trees.to_heads()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.conllu", "", "conllu"),
        ("a.txt", f"# text = x\n{A}", "conllu"),
        ("a.txt", "1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n" + A, "conllu"),
        ("a.ptb", "(S (NN a))\n", "brackets"),
        ("a.txt", "\n(S\n (NN a))\n", "mrg"),
        ("a.mrg", "(S (NN a))\n", "mrg"),
        ("a.txt", "1 word\n", "brackets"),
        ("a.txt", "", "brackets"),
    ],
)
def test_forms_by_suffix_or_content(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    assert tree_format(str(tmp_path / name)) == expected


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("blank", f"{A}\n{B}\n\n{C}\n"),
        ("blank", f"\n\n{A}\n{B}\n\n\n\n{C}"),
        ("newdoc", f"# newdoc id = 1\n{A}\n{B}\n# newpar\n{C}\n"),
        ("newdoc", f"{A}\n# a comment\n{B}\n# newdoc\n{C}\n"),
        ("sent_id", f"# sent_id = d-1-1\n{A}\n# sent_id = d-1-2\n{B}\n# sent_id = d-2-1\n{C}\n"),
    ],
)
def test_sentences_join_to_segments(tmp_path, rule, text):
    path = tmp_path / "a.conllu"
    path.write_text(text)
    words, heads = segments(path, rule)
    assert words == [["w1", "w2", "w1b", "w2b"], ["w1c"]]
    assert heads == [[0, 1, 4, 1], [0]]
    assert len(segments(path)[0]) == 3


def test_a_file_of_counts(tmp_path):
    path, counts = tmp_path / "a.conllu", tmp_path / "counts"
    path.write_text(f"{A}\n{B}\n{C}\n")
    counts.write_text("2\n0\n1\n")
    assert segments(path, str(counts)) == (
        [["w1", "w2", "w1b", "w2b"], [], ["w1c"]],
        [[0, 1, 4, 1], [], [0]],
    )
    counts.write_text("2\n")
    with pytest.raises(TensorMTError, match=r"counts 2 sentences, .*a.conllu has 3"):
        read_trees(str(path), str(counts))
    counts.write_text("2\nx\n")
    with pytest.raises(TensorMTError, match="line 2: expected the number of sentences"):
        read_trees(str(path), str(counts))
    with pytest.raises(TensorMTError, match="newdok cannot be read"):
        read_trees(str(path), "newdok")


def test_numbered_segments_may_be_empty(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(f"# segments = 4\n# sent_id = 2\n{A}\n# sent_id = 3\n{C}\n")
    assert segments(path)[0] == [[], ["w1", "w2"], ["w1c"], []]
    path.write_text("# segments = 2\n")
    assert segments(path)[0] == [[], []]
    path.write_text(f"# segments = 1\n# sent_id = 2\n{A}\n")
    with pytest.raises(
        TensorMTError, match=r"a.conllu, line 1: sent_id '2' is not a number from 1"
    ):
        read_trees(str(path))
    path.write_text(f"# segments = 1\n{A}\n")
    with pytest.raises(TensorMTError, match="has no '# sent_id'"):
        read_trees(str(path))


BAD = [
    (f"{A}\n1\tx\n\n", 4, "expected 10 columns separated by tabs, found 2"),
    (f"{A}\n{row(1, 'x', 7)}\n", 4, "head 7 is out of range"),
    (f"{A}\n{row(1, 'x', '-')}\n", 4, "the head .* is '-', expected a number"),
    (f"{A}\n{row(1, 'x', 0)}{row(2, 'y', 0)}\n", 5, "a second root"),
    (f"{A}\n{row(1, 'x', 2)}{row(2, 'y', 1)}\n", 4, "has no root"),
    (f"{A}\n# c\n{row(1, 'x', 0)}{row(2, 'y', 3)}{row(3, 'z', 2)}\n", 6, "is in a cycle"),
    (f"{A}\n{row(2, 'x', 0)}\n", 4, "word number '2', expected 1"),
    (A.replace("\n", "\r\n") + f"\r\n{C}\n", 4, "mixed line ends"),
]


@pytest.mark.parametrize(("text", "line", "cause"), BAD)
def test_bad_conllu_is_one_sentence_with_file_and_line(tmp_path, capsys, text, line, cause):
    good, bad = tmp_path / "good.conllu", tmp_path / "bad.conllu"
    good.write_text(f"{A}\n{B}\n")
    bad.write_bytes(text.encode())
    assert main(["score", str(good), "-i", str(bad), "--trees", "-m", "hwcm", "-q"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert re.search(rf"bad\.conllu, line {line}: .*{cause}", err), err
    with pytest.raises(TensorMTError, match=rf"bad\.conllu, line {line}: .*{cause}"):
        TreeBatch.from_file(bad)


def test_multiword_tokens_and_graphs_are_passed_over(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(
        "1-2\tzum\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tzu\t_\t_\t_\t_\t3\tcase\t3:case|0:x\t_\n"
        "2\tdem\t_\t_\t_\t_\t3\tdet\t_\t_\n"
        "3\tHaus\t_\t_\t_\t_\t0\troot\t0:root\t_\n"
        "3.1\tleer\t_\t_\t_\t_\t_\t_\t3:dep\t_\n"
    )
    assert segments(path) == ([["zu", "dem", "Haus"]], [[3, 3, 0]])


def test_trees_from_a_pipe_are_seen_by_their_beginning(tmp_path, capsys, monkeypatch):
    good = tmp_path / "good.conllu"
    good.write_text(f"{A}\n{B}\n")
    pipe = SimpleNamespace(buffer=io.BytesIO(good.read_bytes()))
    monkeypatch.setattr(sys, "stdin", pipe)
    assert main(["score", str(good), "-i", "-", "--trees", "-m", "hwcm", "-q"]) == 0
    assert "1.0000" in capsys.readouterr().out
