"""command: `tensormt parse` and `tensormt train-parser`."""

import io
import json
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny_parser

from tensormt.command.main import build_parser, main
from tensormt.data.tree_files import read_trees
from tensormt.errors import TensorMTError
from tensormt.parser import Parser
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import TreesAsText

TREES = ["(TOP (S (NP (DT the) (NN dog)) (VP (VBD ran)) (. .)))", "(TOP (NP (NN town)))"] * 4


def run(*words):
    args = build_parser(words[:1]).parse_args([str(word) for word in words])
    return args.run(args)


def test_parse_writes_one_tree_a_line(tmp_path, capsys):
    text = ["A dog ran home.", "", "It is here. They left!", "caf\u00e9 \u2028 x"]
    source, target = tmp_path / "a.txt", tmp_path / "a.ptb"
    source.write_text("\n".join(text) + "\n", encoding="utf-8")
    assert run("parse", source, "-o", target) == 0
    expected = Parser.load().parse(text).to_brackets()
    assert target.read_text(encoding="utf-8") == "\n".join(expected) + "\n"
    assert len(list(tmp_path.iterdir())) == 2
    assert capsys.readouterr() == ("", "")
    assert run("parse", source) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8")


def test_parse_reads_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"it is x-y . no")))
    assert run("parse", "-", "--tokenized", "--whole") == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "x-y)" in out


def test_parse_leaves_nothing_behind_when_it_fails(tmp_path, monkeypatch):
    source, target = tmp_path / "a.txt", tmp_path / "a.ptb"
    source.write_text("A dog.\n")
    target.write_text("old\n")

    def fail(*_):
        raise RuntimeError("power cut")

    monkeypatch.setattr(Parser, "parse", fail)
    with pytest.raises(RuntimeError, match="power cut"):
        run("parse", source, "-o", target)
    assert target.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ptb", "a.txt"]


def test_parse_replaces_regular_files_only(tmp_path, capsys):
    """Not its input, not a pipe, not a device; a link stays and its file is replaced."""
    source, target, link = tmp_path / "a.txt", tmp_path / "a.ptb", tmp_path / "link.ptb"
    source.write_text("A dog.\n")
    for name in (source, tmp_path / "here" / ".." / "a.txt"):
        (tmp_path / "here").mkdir(exist_ok=True)
        with pytest.raises(TensorMTError, match="is an input of this run"):
            run("parse", source, "-o", name)
    assert source.read_text() == "A dog.\n"
    target.write_text("old\n")
    target.chmod(0o640)
    link.symlink_to("a.ptb")
    assert run("parse", source, "-o", link) == 0
    assert link.is_symlink()
    assert target.read_text().startswith("(")
    assert target.stat().st_mode & 0o777 == 0o640
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    assert run("parse", source, "-o", pipe) == 0
    reader.join(60)
    assert found == [target.read_text()]
    assert pipe.is_fifo()
    assert run("parse", source, "-o", "/dev/null") == 0
    assert Path("/dev/null").is_char_device()
    with pytest.raises(TensorMTError, match="it is a folder"):
        run("parse", source, "-o", tmp_path)


def test_parse_says_what_is_wrong(tmp_path):
    with pytest.raises(TensorMTError, match=r"nothing.txt cannot be read"):
        run("parse", tmp_path / "nothing.txt")
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"good\n\xff\xfe\n")
    with pytest.raises(TensorMTError, match=r"bad.txt, line 2: not UTF-8 text"):
        run("parse", bad)
    bad.write_bytes(b"good\n")
    with pytest.raises(TensorMTError, match="the folder"):
        run("parse", bad, "-o", tmp_path / "none" / "a.ptb")


def test_parse_warns_of_long_sentences_on_standard_error(tmp_path, capsys):
    source = tmp_path / "a.txt"
    source.write_text("a b c d e f\n")
    assert main(["parse", str(source), "--max-length", "3"]) == 0
    assert "1 sentences have more than 3 tokens" in capsys.readouterr().err


def test_train_and_use(tmp_path, capsys):
    files = [tmp_path / name for name in ("train.ptb", "dev.ptb")]
    for file in files:
        file.write_text("\n".join(TREES) + "\n")
    folder = tmp_path / "mine"
    small = "--tokens 30 --hidden 8 --layers 1 --span 8 --label 8 --embedding 8 --characters 8"
    options = [*small.split(), "--min-count", 1, "--rate", 0.02, "--warmup", 2]
    data = ["--train", files[0], "--dev", files[1], "-o", folder]
    assert run("train-parser", *data, *options, "--epochs", 2) == 0
    out, err = capsys.readouterr()
    assert json.loads(out).keys() == {"parser", "dev"}
    assert "epoch 2/2" in err
    test = ["--test", files[1], "--resume", "-q"]
    assert run("train-parser", *data, *options, "--epochs", 3, *test) == 0
    out, err = capsys.readouterr()
    figures = json.loads(out)
    assert figures["dev"] == figures["test"]
    assert err == ""
    source = tmp_path / "a.txt"
    source.write_text("the dog ran .\n")
    assert run("parse", source, "--parser", folder) == 0
    assert "dog" in capsys.readouterr().out


def test_dependencies_are_written_as_conllu(tmp_path, capsys):
    """What is written reads back to the same trees, and gives the scores of the text."""
    tiny_parser.write(tmp_path / "tiny")
    text = ["Der Hund lief. Er kam!", "", "Die Katze (alt) schlief am 3. Mai.", "Nein"]
    refs = ["Der Hund lief. Es kam!", "Ja", "Die Katze schlief am 3. Juni.", ""]
    for name, lines in (("hyp", text), ("ref", refs)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
        own = ("--parser", tmp_path / "tiny", "--lang", "de")
        target = tmp_path / f"{name}.conllu"
        assert run("parse", tmp_path / f"{name}.txt", "-o", target, *own, "-q") == 0
        trees = Parser.load(tmp_path / "tiny", lang="de").parse(lines)
        read = TreesAsText("conllu")(read_trees(str(target)))
        assert read.to_heads() == trees.to_heads()
        assert read.to_relations() == trees.to_relations()
        with pytest.raises(
            TensorMTError, match="cannot be written as brackets: use --format conllu"
        ):
            run("parse", tmp_path / f"{name}.txt", *own, "--format", "brackets")
    (tmp_path / "ref2.txt").write_text("\n".join(text[:3]) + "\nNein\n")
    target = tmp_path / "ref2.conllu"
    assert run("parse", tmp_path / "ref2.txt", "-o", target, *own, "-f", "conllu", "-q") == 0
    capsys.readouterr()
    metrics = ["-m", "hwcm", "dstm", "hwcm:labels=yes", "-q", "-f", "json"]
    found = []
    for suffix, more in (("txt", [*own, "--no-cache"]), ("conllu", ["--trees"])):
        files = [str(tmp_path / f"{name}.{suffix}") for name in ("ref", "ref2", "hyp")]
        words = ["score", *files[:2], "-i", files[2], *metrics, *map(str, more)]
        assert main(words) == 0
        found.append(json.loads(capsys.readouterr().out))
    shown = [json.dumps(part).count(":") for part in found]
    assert shown[0] > 5
    assert scores_in(found[0]) == scores_in(found[1])


def scores_in(data):
    """All numbers of a JSON object, in order."""
    if isinstance(data, dict):
        return [x for value in data.values() for x in scores_in(value)]
    if isinstance(data, list):
        return [x for value in data for x in scores_in(value)]
    return [data] if isinstance(data, float) else []


def test_constituents_are_written_as_conllu_by_head_rules(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("A dog ran home.\n")
    assert run("parse", tmp_path / "a.txt", "-f", "conllu") == 0
    expected = Parser.load().parse(["A dog ran home."]).dependencies()
    assert TreeBatch.from_conllu(capsys.readouterr().out).to_heads() == expected.to_heads()
