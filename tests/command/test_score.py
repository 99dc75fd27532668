"""The command line, as people run it: real processes, real files, real signals."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sacrebleu

import tensormt as tm
from tensormt.command.main import build_parser, main
from tensormt.data.segment_writer import SegmentWriter

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


REFS = [str(EXAMPLES / "ref1.txt"), str(EXAMPLES / "ref2.txt")]


SYSTEMS = [str(EXAMPLES / "sysA.txt"), str(EXAMPLES / "sysB.txt")]


COMMAND = [sys.executable, "-m", "tensormt.command.main"]


LIGHT = {**os.environ, "OMP_NUM_THREADS": "1"}


def command(*arguments, **more):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=LIGHT, timeout=120, **more
    )


def here(capsys, *arguments):
    """The command in this process: status, standard output, standard error."""
    previous = signal.getsignal(signal.SIGTERM)
    try:
        status = main([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, previous)
    return status, *capsys.readouterr()


def trees(tmp_path):
    """The examples as bracketings: each word under its own tag."""
    paths = []
    for name in ("ref1", "ref2", "sysA", "sysB"):
        rows = (EXAMPLES / f"{name}.txt").read_text().splitlines()
        path = tmp_path / f"{name}.ptb"
        path.write_text(
            "".join(f"(S {' '.join(f'(T{len(w)} {w})' for w in row.split())})\n" for row in rows)
        )
        paths.append(str(path))
    return paths


def test_score_json(capsys):
    """The object that API.md describes, with sacrebleu's BLEU."""
    status, out, err = here(
        capsys, "score", *REFS, "-i", *SYSTEMS, "-m", "bleu", "nist", "bm", "-f", "json"
    )
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report["segments"] == 12
    assert list(report["systems"]) == ["sysA.txt", "sysB.txt"]
    hyps, refs = (
        Path(SYSTEMS[0]).read_text().splitlines(),
        [Path(ref).read_text().splitlines() for ref in REFS],
    )
    found = report["systems"]["sysA.txt"]
    assert found["bleu"]["score"] == pytest.approx(sacrebleu.corpus_bleu(hyps, refs).score)
    assert found["bleu"]["signature"].startswith("BLEU|order:4|")
    assert report["systems"]["sysB.txt"]["nist"]["score"] < found["nist"]["score"]


def test_score_trees_in_all_formats(tmp_path, capsys):
    one, two, a, b = trees(tmp_path)
    every = "bleu nist bm bma nm stm tkm hwcm dstm dtkm".split()
    status, text, _ = here(capsys, "score", one, two, "-i", a, b, "--trees", "-m", *every)
    assert status == 0
    assert text.splitlines()[0].split() == ["system", *every]
    assert "parser:given" in text
    _, table, _ = here(capsys, "score", one, two, "-i", a, b, "--trees", "-m", *every, "-f", "tsv")
    assert len(table.splitlines()) == 3
    assert table.splitlines()[1].split("\t")[0] == "sysA.ptb"
    _, latex, _ = here(capsys, "score", one, "-i", a, "--trees", "-m", "stm", "-f", "latex")
    _, errors, _ = here(capsys, "score", one, "-i", a, "-m", "ter", "bleu", "-f", "latex")
    assert r" & ter $\downarrow$ & bleu \\" in errors
    _, errors, _ = here(capsys, "score", one, "-i", a, "-m", "ter", "bleu", "-f", "json")
    assert json.loads(errors)["lower_is_better"] == ["ter"]
    assert latex.startswith(r"\begin{tabular}{lr}")


def test_documents(tmp_path, capsys):
    docs = tmp_path / "docs"
    docs.write_text("x\ny\n" * 6)
    arguments = ("score", *REFS, "-i", SYSTEMS[0], "-m", "bleu", "--documents", "-f", "json")
    _, out, _ = here(capsys, *arguments, "--docs", docs)
    found = json.loads(out)["documents"]["sysA.txt"]
    hyps, refs = (
        Path(SYSTEMS[0]).read_text().splitlines(),
        [Path(ref).read_text().splitlines() for ref in REFS],
    )
    expected = sacrebleu.corpus_bleu(hyps[::2], [ref[::2] for ref in refs]).score
    assert found["x"]["bleu"] == pytest.approx(expected)
    status, _, err = here(capsys, *arguments)
    assert status == 2
    assert "--documents needs document ids" in err


def test_the_table_has_short_names_and_signatures(capsys):
    status, out, _ = here(capsys, "score", *REFS, "-i", *SYSTEMS, "-m", "bleu:max_order=2,CHRF++")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].split() == ["system", "bleu:max_order=2", "CHRF++"]
    assert [line.split()[0] for line in lines[1:3]] == ["sysA", "sysB"]
    assert lines[4:] == [
        f"bleu:max_order=2|refs:2|version:{tm.__version__}",
        f"CHRF++|refs:2|version:{tm.__version__}",
    ]
    named = ["score", *REFS, "-i", *SYSTEMS, "-m", "bleu", "--names", "base", "new"]
    _, out, _ = here(capsys, *named, "--signatures")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["base", "new"]
    assert "BLEU|order:4|case:mixed|tok:13a|" in out
    _, out, _ = here(capsys, *named, "-f", "json")
    assert list(json.loads(out)["systems"]) == ["base", "new"]
    assert here(capsys, *named[:-1])[0] == 2


def test_without_arguments_there_is_help(capsys):
    with pytest.raises(SystemExit) as stopped:
        here(capsys)
    assert stopped.value.code == 0
    out, err = capsys.readouterr()
    assert "examples:" in out
    assert not err


@pytest.mark.parametrize("kind", ["jsonl", "tsv", "parquet"])
def test_segment_files(tmp_path, capsys, kind):
    out = tmp_path / f"scores.{kind}"
    here(
        capsys, "score", *REFS, "-i", *SYSTEMS, "-m", "bleu", "bm", "--segments", out, "--chunk", 5
    )
    if kind == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    elif kind == "tsv":
        head, *body = [line.split("\t") for line in out.read_text().splitlines()]
        rows = [dict(zip(head, cells, strict=True)) for cells in body]
    else:
        rows = pq.read_table(out).to_pylist()
    assert [int(row["segment"]) for row in rows] == [n for n in range(1, 13) for _ in range(2)]
    assert [row["system"] for row in rows[:2]] == ["sysA.txt", "sysB.txt"]
    hyp = tm.TokenBatch.from_text(Path(SYSTEMS[1]).read_text().splitlines())
    refs = [tm.TokenBatch.from_text(Path(ref).read_text().splitlines()) for ref in REFS]
    for name, metric in (("bleu", tm.BLEU()), ("bm", tm.BM())):
        assert [float(row[name]) for row in rows[1::2]] == pytest.approx(
            metric(hyp, refs).tolist(), abs=1e-12
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name]


def test_list_help_version_completion(capsys):
    _, out, _ = here(capsys, "list")
    assert all(f"\n{name} " in f"\n{out}" for name in ("bleu", "nist", "stm", "dtkm"))
    assert "\n      lexical=no            Compare the words too" in out
    for arguments in (["--help"], ["score", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stop:
            build_parser().parse_args(arguments)
        assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert f"tensormt {tm.__version__}" in out
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--print-completion", "bash"])
    assert "complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "gone.txt", "-i", SYSTEMS[0]], "gone.txt cannot be read: No such file"),
        (["score", "-i", SYSTEMS[0]], "no references: name at least one"),
        (["score", REFS[0], "-i", SYSTEMS[0], "-m", "blue"], "no metric named 'blue'"),
        (["score", REFS[0], "-i", SYSTEMS[0], "--resume"], "--resume needs --segments"),
        (["parse", REFS[0], "--device", "cuda"], "no CUDA device is available"),
        (["score", REFS[0], "-i", SYSTEMS[0], "--segments", "a.txt"], "must end in one of .jsonl"),
        (["score", REFS[0], "-i", SYSTEMS[0], "--chunk", "0"], "--chunk 0: expected an integer"),
        (["score", REFS[0], "-i", SYSTEMS[0], "--chunk", "9" * 20], "from 1 to 1,000,000"),
        (
            ["score", REFS[0], "-i", SYSTEMS[0], "-m", "bleu", "--segments", "no/such/a.jsonl"],
            "a.jsonl cannot be written: No such file",
        ),
        (["compare", REFS[0], "-i", SYSTEMS[0], "-m", "bleu"], "one system only"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(capsys, arguments, message):
    status, out, err = here(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("tensormt: ")
    assert err.count("\n") == 1
    assert message in err


# --- real processes -----------------------------------------------------------------------------


def test_misaligned_files_in_a_real_process(tmp_path):
    short = tmp_path / "short.txt"
    short.write_text("a\nb\n")
    result = command("score", REFS[0], "-i", str(short), "-m", "bleu")
    assert (result.returncode, result.stdout) == (2, "")
    assert f"{REFS[0]} has 12 lines, {short} has 2: they must align" in result.stderr


def test_standard_input():
    text = Path(SYSTEMS[0]).read_text()
    result = command("score", REFS[0], "-i", "-", "-m", "bleu", "-f", "tsv", input=text)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("system\tbleu\n")


def test_closed_pipe(tmp_path):
    """`| head -0`: no complaint, and the segment file is whole."""
    out = tmp_path / "s.jsonl"
    line = " ".join(
        [*COMMAND, "score", REFS[0], "-i", SYSTEMS[0], "-m", "bleu", "--segments", str(out)]
    )
    result = subprocess.run(
        ["bash", "-c", f"{line} | head -c 0; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env=LIGHT,
    )
    assert (result.returncode, result.stderr) in ((141, ""), (0, ""))
    assert len(out.read_text().splitlines()) == 12


def test_full_disk():
    """/dev/full takes the table."""
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, "score", REFS[0], "-i", SYSTEMS[0], "-m", "bleu"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=LIGHT,
        )
    assert result.returncode == 2
    assert "No space left on device" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.heavy(needs="minutes")
def test_disk_that_fills_up_on_the_way(long, tmp_path):
    """A limit on the size of files stands for a full disk: what was written is kept."""
    folder, whole, table = long
    out = tmp_path / "s.jsonl"
    result = command(
        *_disturbed(folder, out),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)),
    )
    assert result.returncode == 2
    assert "s.jsonl cannot be written: File too large" in result.stderr
    assert "segments are saved, the run can be resumed (--resume)" in result.stderr
    assert result.stderr.count("\n") == 1
    again = command(*_disturbed(folder, out), "--resume")
    assert (again.returncode, again.stdout) == (0, table)
    assert out.read_bytes() == whole


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Many segments, so that a run can be disturbed."""
    folder = tmp_path_factory.mktemp("long")
    for name in ("ref1.txt", "sysA.txt"):
        rows = (EXAMPLES / name).read_text() * 400
        (folder / name).write_text(rows)
    plain = folder / "plain.jsonl"
    result = command(*_disturbed(folder, plain))
    assert result.returncode == 0, result.stderr
    return folder, plain.read_bytes(), result.stdout


def _disturbed(folder, out, chunk=20):
    files = str(folder / "ref1.txt"), "-i", str(folder / "sysA.txt")
    more = ("-m", "bleu", "nist", "bm", "--chunk", str(chunk), "--segments", str(out))
    return ("score", *files, *more)


@pytest.mark.heavy(needs="minutes")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(long, tmp_path, number, status):
    """Ctrl-C and SIGTERM: one sentence, their status, and the run can go on."""
    folder, whole, table = long
    out = tmp_path / "s.jsonl"
    process = subprocess.Popen(
        [*COMMAND, *_disturbed(folder, out, 8)],  # long enough for the signal to come in time
        stderr=subprocess.PIPE,
        text=True,
        env=LIGHT,
        # tests that run in the background of a shell inherit an ignored Ctrl-C
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    _wait_for(tmp_path / "s.jsonl.state", process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert err.startswith("tensormt: stopped by")
    assert err.count("\n") == 1
    assert not out.exists()
    again = command(*_disturbed(folder, out, 8), "--resume")
    assert again.returncode == 0, again.stderr
    assert out.read_bytes() == whole
    assert again.stdout == table


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGPROF, lambda *rest: signal.raise_signal(signal.SIGINT))
signal.setitimer(signal.ITIMER_PROF, float(sys.argv.pop(1)))
from tensormt.__main__ import run
sys.exit(run())
"""


@pytest.mark.parametrize("seconds", [0.01, 0.1, 0.3, 0.6, 1.0, 1.6, 2.2])
def test_ctrl_c_at_any_moment(seconds):
    """After so much processor time, start-up and imports included: one line, or the result."""
    files = [str(EXAMPLES / name) for name in ("ref1.txt", "sysA.txt")]
    arguments = ["score", files[0], "-i", files[1], "-m", "bleu", "nist", "chrf", "--chunk", "1"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(seconds), *arguments],
        capture_output=True,
        text=True,
        env=LIGHT,
    )
    # the timer of this test may also run out when all is printed and Python is at its end
    if done.returncode in (0, -signal.SIGPROF):
        assert (done.stderr, "BLEU" in done.stdout.upper()) == ("", True)
    else:
        assert (done.returncode, done.stderr) == (130, "tensormt: stopped by Ctrl-C\n")


@pytest.mark.heavy(needs="minutes")
def test_kill_at_random_moments_then_resume(long, tmp_path):
    """Ten kills -9, then the end: byte for byte the file of an undisturbed run."""
    folder, whole, table = long
    out = tmp_path / "s.jsonl"
    rng = random.Random(8)
    for _ in range(10):
        state = _text(tmp_path / "s.jsonl.state")
        process = subprocess.Popen(
            [*COMMAND, *_disturbed(folder, out), "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=LIGHT,
        )
        _wait_for(tmp_path / "s.jsonl.state", process, state)
        time.sleep(rng.random() * 0.1)
        process.kill()
        process.wait()
    again = command(*_disturbed(folder, out), "--resume")
    assert again.returncode == 0, again.stderr
    assert out.read_bytes() == whole
    assert again.stdout == table
    assert state  # the kills came in the middle: the last one too had chunks before it
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.jsonl"]


def test_resume_refuses_other_input(long, tmp_path, capsys):
    folder, _, _ = long
    out = tmp_path / "s.jsonl"
    SegmentWriter(str(out), "other", ["bleu"], resume=False)._file.close()
    status, _, err = here(capsys, *_disturbed(folder, out), "--resume")
    assert status == 2
    assert "cannot resume" in err
    assert "inputs or options have changed" in err


def test_resume_refuses_a_damaged_past(long, tmp_path, capsys):
    """A short part file, a damaged state, another spelling of a metric: one sentence each."""
    folder, _, _ = long
    out = tmp_path / "s.jsonl"
    part, state = tmp_path / "s.jsonl.part", tmp_path / "s.jsonl.state"
    docs = tmp_path / "docs"
    docs.write_text("x\n" * (12 * 400))
    arguments = (*_disturbed(folder, out), "--docs", str(docs))
    process = subprocess.Popen([*COMMAND, *arguments], env=LIGHT, stderr=subprocess.DEVNULL)
    _wait_for(state, process)
    process.kill()
    process.wait()
    kept, marked = part.read_bytes(), state.read_text()
    renamed = ["bleu:max_order=4" if argument == "bleu" else argument for argument in arguments]
    for name, content, call, message in (
        ("other spelling", None, renamed, "inputs or options have changed"),
        ("documents", None, [*arguments, "--documents"], "inputs or options have changed"),
        ("short part", (part, b""), arguments, "is shorter than it was"),
        ("damaged state", (state, b"{"), arguments, "is damaged"),
        ("no object", (state, b"[" * 100_000), arguments, "is damaged"),
        ("changed sums", (state, marked.replace("1", "2").encode()), arguments, "is damaged"),
    ):
        part.write_bytes(kept)
        state.write_text(marked)
        if content:
            content[0].write_bytes(content[1])
        status, _, err = here(capsys, *call, "--resume")
        if json.loads(marked)["bytes"] or name != "short part":
            assert status == 2, name
            assert message in err, name


@pytest.mark.parametrize("kind", ["jsonl", "tsv", "parquet"])
def test_a_finished_result_is_replaced_only_by_the_same_run(tmp_path, capsys, kind):
    out = tmp_path / f"s.{kind}"
    for more in ((), (), ("--resume",)):
        arguments = ("score", REFS[0], "-i", SYSTEMS[0], "-m", "bleu", "--segments", out, *more)
        status, _, err = here(capsys, *arguments)
        assert (status, err) == (0, "")
    before = out.read_bytes()
    half = tmp_path / "half.txt"
    half.write_text("".join(Path(REFS[0]).read_text().splitlines(keepends=True)[:6]))
    for other in (
        ("score", REFS[0], "-i", SYSTEMS[1], "-m", "bleu"),
        ("score", REFS[1], "-i", SYSTEMS[0], "-m", "bleu"),
        ("score", REFS[0], "-i", SYSTEMS[0], "-m", "bm"),
        ("score", half, "-i", half, "-m", "bleu"),
    ):
        for more in ((), ("--resume",)):
            status, _, err = here(capsys, *other, "--segments", out, *more)
            assert status == 2
            message = "contains the result of another run: remove it or choose another"
            assert f"s.{kind} {message}" in err
            assert out.read_bytes() == before
            assert sorted(path.name for path in tmp_path.iterdir()) == ["half.txt", out.name]


def test_outputs_never_equal_inputs(tmp_path, capsys):
    """By name, through a link, by a second name, and the files beside the output."""
    rows = tmp_path / "rows.jsonl"
    row = json.dumps({"hypothesis": "a b", "references": ["a c"]}) + "\n"
    rows.write_text(row)
    link, second = tmp_path / "link.jsonl", tmp_path / "second.jsonl"
    link.symlink_to(rows)
    os.link(rows, second)
    part = tmp_path / "out.jsonl.part"
    part.write_text("a b\n")
    for given, ref, out in (
        (rows, [], rows),
        (rows, [], link),
        (rows, [], second),
        (link, [], rows),
        (part, [part], tmp_path / "out.jsonl"),
    ):
        status, _, err = here(capsys, "score", *ref, "-i", given, "-m", "bleu", "--segments", out)
        assert status == 2
        assert "is an input of this run: choose another file" in err
        assert (rows.read_text(), part.read_text()) == (row, "a b\n")


def test_segments_follow_a_link_and_leave_pipes_alone(tmp_path, capsys):
    (tmp_path / "far").mkdir()
    link, pipe = tmp_path / "s.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(tmp_path / "far" / "real.jsonl")
    arguments = ("score", REFS[0], "-i", SYSTEMS[0], "-m", "bleu", "--segments")
    status, _, err = here(capsys, *arguments, link)
    assert (status, err) == (0, "")
    assert link.is_symlink()
    assert len((tmp_path / "far" / "real.jsonl").read_text().splitlines()) == 12
    os.mkfifo(pipe)
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    for out, message in ((pipe, "is not a regular file"), (folder, "is a folder")):
        status, _, err = here(capsys, *arguments, out)
        assert status == 2
        assert message in err
    assert pipe.is_fifo()


def test_two_runs_on_one_file(tmp_path):
    one = SegmentWriter(str(tmp_path / "a.jsonl"), "x", ["bleu"], resume=False)
    with pytest.raises(tm.TensorMTError, match="another run is writing"):
        SegmentWriter(str(tmp_path / "a.jsonl"), "x", ["bleu"], resume=True)
    one.finish()


def _text(path):
    return path.read_text() if path.exists() else ""


def _wait_for(path, process, before=""):
    """Wait until the process has written its (next) state."""
    limit = time.monotonic() + 60
    while _text(path) == before:
        assert process.poll() is None, "the command ended before it began"
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_confidence(capsys, tmp_path):
    """The intervals of compare, in every format; documents have none."""
    arguments = ["score", *REFS, "-i", *SYSTEMS, "-m", "bleu", "chrf", "--confidence", "-q"]
    report = json.loads(here(capsys, *arguments, "-f", "json")[1])
    assert (report["resamples"], report["seed"]) == (10000, 12345)
    found = {name: own["bleu"]["confidence"] for name, own in report["systems"].items()}
    given = ["compare", *REFS, "-i", *SYSTEMS, "-m", "bleu", "chrf", "-q", "-f", "json"]
    [compared, *_] = json.loads(here(capsys, *given)[1])["comparisons"]
    assert found["sysB.txt"] == [compared["low"], compared["high"]]
    low, high = (f"{end:.2f}" for end in found["sysB.txt"])
    _, text, _ = here(capsys, *arguments)
    assert re.search(rf"^sysB +30\.64 \[{low}, {high}\]", text, re.MULTILINE)
    assert "\n95% bootstrap intervals, 10,000 resamples, seed 12345\n" in text
    _, latex, _ = here(capsys, *arguments, "-f", "latex")
    assert f"30.64 [{low}, {high}] &" in latex
    (tmp_path / "docs").write_text("".join(f"d{k % 2}\n" for k in range(12)))
    documents = ["--docs", tmp_path / "docs", "--documents", "-f", "tsv"]
    head, *rows = here(capsys, *arguments, *documents)[1].splitlines()
    assert head.split("\t")[:4] == ["system", "bleu", "bleu low", "bleu high"]
    assert rows[3].split("\t")[:4] == ["sysB.txt", "30.64", low, high]
    assert rows[4].split("\t")[2:4] == ["", ""]
    assert {len(row.split("\t")) for row in rows} == {7}


def test_confidence_needs_all_segments(capsys, tmp_path):
    arguments = ["score", *REFS, "-i", *SYSTEMS, "-m", "bleu", "--confidence", "--resume"]
    status, out, err = here(capsys, *arguments, "--segments", tmp_path / "out.jsonl")
    assert (status, out) == (2, "")
    assert "--confidence needs the statistics of all segments" in err


def test_names_that_print_alike_are_told_apart(tmp_path, capsys):
    for name in ("a\x1b", "a\\x1b"):
        (tmp_path / name).write_text("the cat\n")
    (tmp_path / "ref").write_text("the cat\n")
    (tmp_path / "docs").write_text("d\u202e\n")
    paths = [str(tmp_path / name) for name in ("a\x1b", "a\\x1b")]
    out = str(tmp_path / "out.jsonl")
    common = ["-i", *paths, "-m", "bleu", "-q", "--docs", str(tmp_path / "docs"), "--documents"]
    assert main(["score", str(tmp_path / "ref"), *common, "-f", "json", "--segments", out]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["systems"]) == ["a\\x1b", "a\\\\x1b"]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().split("\n") if line]
    assert {row["doc"] for row in rows} == {"d\\u202e"}
    assert main(["score", str(tmp_path / "ref"), *common, "-f", "tsv"]) == 0
    lines = capsys.readouterr().out.split("\n")[1:-1]
    assert [line.split("\t")[0].strip() for line in lines] == [
        "a\\x1b",
        "d\\u202e",
        "a\\\\x1b",
        "d\\u202e",
    ]


def test_trees_that_cannot_be_read_are_named_with_their_file(tmp_path, capsys):
    good, bad = tmp_path / "good.ptb", tmp_path / "bad.ptb"
    good.write_text("(S (X a))\n(S (Y b))\n")
    bad.write_text("(S (X a))\n(S (Y b)) c\n")
    for hyp, ref in ((good, bad), (bad, good)):
        for chunk in ("1", "50"):
            command = ["score", str(ref), "-i", str(hyp), "--trees", "-m", "stm", "--chunk", chunk]
            assert main(command) == 2
            assert f"{bad}, line 2, column 11: text after the tree" in capsys.readouterr().err


def test_standard_output_that_is_closed_is_one_sentence(tmp_path):
    (tmp_path / "a").write_text("a\n")
    command = f"{sys.executable} -m tensormt score {tmp_path}/a -i {tmp_path}/a -m bleu >&-"
    found = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "standard output is closed" in found.stderr
