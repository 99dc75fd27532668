"""What goes wrong in a long run: kills, bad rows, changed inputs, two drivers, a full disk."""

import os
import resource
import signal
import time

import pytest
from scale.samples import children, corpus, rows, scores, start, wanted, write_jsonl

from tensormt.errors import TensorMTError
from tensormt.scale import process_engine, score_files

METRICS = ["bleu", "bm"]
SIZE = 0.001  # MB a shard: over a hundred of them
ROWS = 1200


@pytest.fixture
def sample(tmp_path):
    some = rows(ROWS)
    report, segments = wanted(tmp_path, some, METRICS)
    return write_jsonl(tmp_path / "rows.jsonl", some), report, segments


def outputs(folder):
    return sorted(folder.glob("*.parquet"))


def begun(process, folder, count=3):
    """Wait until a run has written some shards."""
    while len(outputs(folder)) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return len(outputs(folder))


def command(path, out, *more):
    return ["score-files", path, "-o", out, "-m", *METRICS, "--shard-size", SIZE, "-q", *more]


def finish(path, out, report, segments):
    """The same job in this process: all shards are there, with the scores of `tensormt score`."""
    found = score_files([path], out, METRICS, workers=1, shard_bytes=round(SIZE * 2**20))
    assert corpus(found) == report
    assert scores(found, METRICS) == segments
    assert not list(out.glob(".*.tmp"))


def test_a_killed_worker_is_replaced(sample, tmp_path):
    path, report, segments = sample
    out = tmp_path / "out"
    process = start(*command(path, out, "--workers", 2, "-f", "json"))
    done = begun(process, out)
    victims = children(process.pid)
    os.kill(victims[0], signal.SIGKILL)
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert done < len(outputs(out)) == errors.count("scored")
    assert len(victims) == 2
    assert '"segments": 1200' in text
    finish(path, out, report, segments)


@pytest.mark.heavy(needs="minutes")
def test_after_a_killed_driver_only_the_rest_is_done(sample, tmp_path):
    path, report, segments = sample
    out = tmp_path / "out"
    process = start(*command(path, out, "--workers", 2))
    begun(process, out)
    workers = children(process.pid)
    assert len(workers) == 2
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in workers):
        assert time.monotonic() < deadline, "a worker outlives its driver"
        time.sleep(0.05)
    (out / ".00000-rows-0000.parquet.dead.tmp").write_text("left behind")
    kept = {name: name.stat().st_mtime_ns for name in outputs(out)}
    finish(path, out, report, segments)
    assert 3 <= len(kept) < len(outputs(out))
    assert {name: name.stat().st_mtime_ns for name in kept} == kept


@pytest.mark.heavy(needs="minutes")
def test_two_drivers_do_no_harm(sample, tmp_path):
    path, *_ = sample
    report, segments = wanted(tmp_path, rows(ROWS), ["nist"])  # counted first, by both
    out = tmp_path / "out"
    common = ["score-files", path, "-o", out, "-m", "nist", "--workers", 1, "--shard-size", SIZE]
    drivers = [start(*common) for _ in range(2)]
    printed = [driver.communicate(timeout=120) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], printed
    assert printed[0] == printed[1] == (printed[0][0], "")
    found = score_files([path], out, ["nist"], workers=1, shard_bytes=round(SIZE * 2**20))
    assert (corpus(found), scores(found, ["nist"])) == (report, segments)
    assert not list(out.glob(".*.tmp"))


def test_a_worker_that_always_dies_ends_the_run(tmp_path, monkeypatch):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(50))
    monkeypatch.setattr(process_engine.sys, "executable", "/bin/false")
    with pytest.raises(TensorMTError, match=r"died 3 times on 00000-rows-000\d of .*rows.jsonl"):
        score_files([path], tmp_path / "out", METRICS, workers=2, shard_bytes=1000)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.heavy(needs="minutes"))])
def test_a_bad_row_is_named_or_skipped(tmp_path, workers):
    some = rows(100)
    good = [row for k, row in enumerate(some) if k not in (41, 77, 90)]
    report, segments = wanted(tmp_path, good, [*METRICS, "nist"])
    lines = write_jsonl(tmp_path / "rows.jsonl", some).read_bytes().split(b"\n")
    lines[41] = b'{"hypothesis": "x", "references": ["\xff"]}'
    lines[77] = b'{"hypothesis": "x"'
    lines[90] = b'{"hypothesis": "x", "references": [" ", null]}'
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(lines))
    more = {"workers": workers, "shard_bytes": 1500, "id": "id"}
    with pytest.raises(TensorMTError, match=r"rows.jsonl, line (42: not UTF-8|78: not a JSON)"):
        score_files([path], tmp_path / "out", METRICS, **more)
    out = tmp_path / "skipped"
    found = score_files([path], out, [*METRICS, "nist"], on_error="skip", **more)
    assert (found.segments, found.skipped) == (97, 3)
    assert corpus(found) == report
    rest = scores(found, [*METRICS, "nist", "id"])
    nothing = {"bleu": None, "bm": None, "nist": None, "id": None}
    assert [rest[k] for k in (41, 77, 90)] == [nothing] * 3
    kept = [row for k, row in enumerate(rest) if k not in (41, 77, 90)]
    assert [row.pop("id") for row in kept] == [str(row["id"]) for row in good]
    assert kept == segments
    wheres = [message.partition(": ")[0] for message in found.errors]
    assert wheres == [f"{path}, line {line}" for line in (42, 78, 91)]


def test_a_tree_that_cannot_be_read_is_found_by_halving(tmp_path):
    tree = "(S (NP (DT the) (NN dog)) (VP (VBD ran)))"
    some = [{"hypothesis": tree, "references": [tree]} for _ in range(20)]
    some[13]["hypothesis"] = "(S (NP"
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    with pytest.raises(TensorMTError, match=r"rows.jsonl, line 14: "):
        score_files([path], tmp_path / "a", ["stm"], workers=1, trees=True)
    found = score_files([path], tmp_path / "b", ["stm"], workers=1, trees=True, on_error="skip")
    expected = [{"stm": None if k == 13 else 1.0} for k in range(20)]
    assert scores(found, ["stm"]) == expected


def test_outputs_of_other_runs_are_refused(tmp_path):
    some = rows(60)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    more = {"workers": 1, "shard_bytes": 2000}
    first = score_files([path], tmp_path / "out", ["bleu"], **more)
    with pytest.raises(TensorMTError, match="other metrics, columns or options"):
        score_files([path], tmp_path / "out", ["bleu", "bm"], **more)
    with pytest.raises(TensorMTError, match="belongs to another run"):
        score_files([path], tmp_path / "out", ["bleu"], workers=1, shard_bytes=5000)
    os.utime(path, (1, 1))  # touched, but the same
    assert score_files([path], tmp_path / "out", ["bleu"], **more) == first
    some[0]["hypothesis"] = some[0]["hypothesis"][::-1]  # as long as before
    write_jsonl(path, some)
    with pytest.raises(TensorMTError, match=r"another version of .*rows.jsonl"):
        score_files([path], tmp_path / "out", ["bleu"], **more)
    again = score_files([path], tmp_path / "out", ["bleu"], overwrite=True, **more)
    assert again.corpus != first.corpus
    fresh = score_files([path], tmp_path / "fresh", ["bleu"], **more)
    assert again.corpus == fresh.corpus


def test_a_foreign_file_is_not_overwritten(tmp_path):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(5))
    out = tmp_path / "out"
    out.mkdir()
    (out / "00000-rows.parquet").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(TensorMTError, match="was not written by score-files"):
            score_files([path], out, ["bleu"], workers=1, overwrite=overwrite)
    assert (out / "00000-rows.parquet").read_text() == "mine"


@pytest.mark.heavy(needs="minutes")
def test_a_full_disk_is_one_sentence(tmp_path):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(300))

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    process = start("score-files", path, "-o", tmp_path / "out", "--workers", 1, preexec_fn=limited)
    text, errors = process.communicate(timeout=60)
    assert (process.returncode, text) == (2, ""), errors
    assert errors.count("\n") == 1
    assert "00000-rows.parquet cannot be written: File too large" in errors
    assert not list((tmp_path / "out").iterdir())
