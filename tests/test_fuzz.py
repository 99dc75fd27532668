"""Any input to any command: status 2 with one sentence, or a right result. (Longer: bench/fuzz.py.)

Cases are made by hostile.py from a random source that Hypothesis drives; the cases that once went
wrong stand below by name.
"""

import gzip
import json
import os
import random
import tempfile
from pathlib import Path

import hostile
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from tensormt.command.main import main


def bleu(hyps, refs):
    streams = [[ref if ref.strip() else None for ref in stream] for stream in refs]
    return sacrebleu.corpus_bleu(hyps, streams).score


def run(arguments):
    return hostile.run(main, arguments)


def check(case):
    status, out, err = run(case.arguments)
    wrong = hostile.verdict(case, status, out, err, bleu)
    assert not wrong, f"{wrong}: {case.arguments}\n{err}"


@settings(max_examples=60)
@given(st.integers(0, 2**48))
def test_random_inputs(seed):
    with tempfile.TemporaryDirectory() as folder:
        check(hostile.case(random.Random(seed), Path(folder)))


@settings(max_examples=6)
@given(st.integers(0, 2**48))
def test_random_inputs_of_the_parser(seed):
    with tempfile.TemporaryDirectory() as folder:
        check(hostile.case(random.Random(seed), Path(folder), parse=True))


def test_the_verdict_finds_what_is_wrong():
    def verdict(status=0, out="", err="", *, good=None, bad=False, command="score"):
        case = hostile.Case([command, "-m", "bleu", "-f", "json"], good, bad, [command])
        return hostile.verdict(case, status, out, err, lambda hyps, refs: 50.0)

    table = json.dumps({"systems": {"s": {"bleu": {"score": 50.0}}}})
    assert not verdict(0, table, good=(["a"], [["a"]]))
    assert not verdict(2, "", "tensormt: something\n")
    assert "BLEU" in verdict(0, table.replace("50", "51"), good=(["a"], [["a"]]))
    assert "no right result" in verdict(0, table, bad=True)
    assert "NaN in JSON" in verdict(0, "[NaN]")
    assert "control character" in verdict(2, "", "tensormt: \x1b[31m\n")
    assert "2 lines" in verdict(2, "", "tensormt: one\ntwo\n")
    assert "status 1" in verdict(1, "", "Traceback")


ROW = {"doc": "d", "seg": 1, "refs": ["a b c d"], "sys": {"A": {"hyp": "a b", "scores": {"f": 1}}}}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("text.jsonl", b"\xff\xfe\n"),
        ("deep.jsonl", b'{"refs": ' + b"[" * 100_000),
        ("types.jsonl", json.dumps({**ROW, "sys": []}).encode()),
        ("refs.jsonl", json.dumps({**ROW, "refs": {"a": "b"}}).encode()),
        ("half.jsonl", json.dumps({**ROW, "doc": "\ud800"}).encode()),
        ("hyp.jsonl", json.dumps({**ROW, "sys": {"A": {"hyp": 5}}}).encode()),
        ("score.jsonl", json.dumps({**ROW, "sys": {"A": {"scores": {"f": 10**400}}}}).encode()),
        ("cut.jsonl.gz", gzip.compress(json.dumps(ROW).encode() * 50)[:-9]),
        ("none.jsonl", b""),
    ],
)
@pytest.mark.parametrize("command", ["metaeval", "qarla"])
def test_judged_sets_that_once_broke(tmp_path, name, data, command):
    (tmp_path / name).write_bytes(data)
    status, out, err = run([command, tmp_path / name, "-m", "bleu"])
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert name in err


def test_a_string_of_references_is_one_reference(tmp_path):
    """Not as many references as it has letters."""
    rows = [
        {**ROW, "seg": k, "sys": {s: {"hyp": "a b c " * n, "scores": {"f": n}} for s, n in PAIRS}}
        for k in range(4)
    ]
    tables = []
    for name, refs in (("list", ["a b c d"]), ("string", "a b c d")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({**row, "refs": refs}) + "\n" for row in rows))
        status, out, _ = run(["metaeval", path, "-m", "chrf", "-f", "tsv"])
        assert status == 0
        tables.append(out)
    assert tables[0] == tables[1]


PAIRS = [("A", 1), ("B", 2), ("C", 3)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "r", "-i", "h", "--chunk", "9" * 20],
        ["score", "r", "-i", "h", "-m", "bleu:max_order=1000000"],
        ["score", "r", "-i", "h", "-m", "bleu:lowercase=perhaps"],
        ["compare", "r", "-i", "h", "g", "-m", "bleu", "--samples", "100000000000"],
        ["metaeval", "j.jsonl", "--max-references", "-1"],
        ["score", "empty", "-i", "empty", "-m", "bleu"],
        ["score", "r", "-i", "deep.sgm", "-m", "bleu"],
        ["parse", "h", "-o", "h"],
        ["parse", "h", "--parser", "folder"],
        ["train-parser", "--train", "h", "--dev", "h", "-o", "out", "--epochs", "0"],
        ["train-parser", "--train", "h", "--dev", "h", "-o", "out", "--rate", "nan"],
        ["train-parser", "--train", "h", "--dev", "h", "-o", "out", "--hidden", "-3"],
        ["train-parser", "--train", "h", "--dev", "h", "-o", "h"],
        ["train-parser", "--train", "h", "--dev", "h", "-o", "folder"],
        ["score", "r", "-i", "h", "-m", "bleu", "--segments", "h.jsonl.part/x.jsonl"],
        ["nonsense"],
        ["score", "--unknown"],
    ],
)
def test_command_lines_that_once_broke(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name, text in {"r": "a b\n", "h": "a c\n", "g": "a d\n", "empty": ""}.items():
        Path(name).write_text(text)
    Path("j.jsonl").write_text(json.dumps(ROW))
    Path("deep.sgm").write_text("<tstset><doc><![foo")
    Path("folder").mkdir()
    Path("folder/settings.json").write_text('{"format": 1, "words": 3}')
    Path("folder/model.safetensors").write_bytes(b"\xff" * 30)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    status, out, err = run(arguments)
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert {path: path.read_bytes() for path in before} == before


def test_names_of_files_are_shown_without_what_a_terminal_obeys(tmp_path):
    name = tmp_path / os.fsdecode(b"\x1b[31m\xff.txt")
    try:
        name.write_text("a b c d\n")
    except OSError:  # a file system that takes only UTF-8
        name = tmp_path / "\x1b[31m.txt"
        name.write_text("a b c d\n")
    for form in hostile.FORMS:
        status, out, err = run(["score", name, "-i", name, "-m", "bleu", "-f", form])
        assert (status, err) == (0, "")
        assert "\x1b" not in out
        assert "x1b" in out or "u001b" in out
    status, _, err = run(["score", "gone\x1b[31m", "-i", name])
    assert status == 2
    assert "\x1b" not in err
