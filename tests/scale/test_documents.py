"""Document scores of score-files: those of `tensormt score --documents`, however files are cut."""

import json
import os
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import call, rows, start, write_jsonl

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.scale import score_files

METRICS = ["bleu", "bm", "nist", "chrf+bm:weighting=zipf"]


def named(count):
    """Rows whose documents come again far away, some numbers, some without a name."""
    some = rows(count)
    for k, row in enumerate(some):
        row["doc"] = [f"d{k // 9 % 11}", f"é {k % 5}", None, "0042"][k // 7 % 4]
    return some


def expected(folder, some, metrics=METRICS, *more):
    """What `tensormt score --documents` says, in its order."""
    path = write_jsonl(folder / "all.jsonl", some)
    report = call("score", "-i", path, "-m", *metrics, "-f", "json", "-q", "--documents", *more)
    (found,) = json.loads(report)["documents"].values()
    return list(found.items())


def in_file(out, form="parquet"):
    path = out / f"_documents.{form}"
    if form == "parquet":
        found = pq.read_table(path).to_pylist()
    else:
        found = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    return [(row.pop("doc"), row) for row in found]


def spread(folder, some):
    """Rows over a Parquet file of one group, and a JSONL file."""
    folder.mkdir()
    half = len(some) // 2
    pq.write_table(pa.Table.from_pylist(some[:half]), folder / "a.parquet")
    write_jsonl(folder / "b.jsonl", some[half:])
    return folder


@pytest.mark.parametrize(
    ("workers", "size", "form"),
    [(1, 1 << 24, "parquet"), (1, 3000, "jsonl"), (2, 6000, "parquet")],
)
def test_documents_are_those_of_score(tmp_path, workers, size, form):
    some = named(400)
    wanted = expected(tmp_path, some)
    assert len(wanted) == 11 + 5 + 1 + 1
    data = spread(tmp_path / "data", some)
    out = tmp_path / "out"
    found = score_files(
        [data], out, METRICS, workers=workers, shard_bytes=size, doc="doc", documents=True,
        format=form, chunk=37,
    )  # fmt: skip
    assert list(found.documents.items()) == wanted
    assert in_file(out, form) == wanted
    about = json.loads((out / "summary.json").read_text())["documents"]
    assert about == {"output": f"_documents.{form}", "count": 18}
    assert len(found.outputs) > (2 if size < 1 << 20 else 1)


def test_documents_of_trees_take_means(tmp_path):
    trees = [
        "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
        "(S (NP (DT a) (JJ old) (NN dog)) (VP (VBZ runs) (ADVP (RB fast))))",
        "(S (NP (PRP it)) (VP (VBD saw) (NP (DT the) (NN cat))))",
    ]
    some = [
        {"hypothesis": trees[k % 3], "references": [trees[k * k // 3 % 3]], "doc": k % 4}
        for k in range(50)
    ]
    metrics = ["stm", "tkm:decay=0.3", "dtkm", "hwcm"]
    wanted = expected(tmp_path, some, metrics, "--trees")
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    found = score_files(
        [path], tmp_path / "out", metrics, workers=1, shard_bytes=700, trees=True, doc="doc",
        documents=True,
    )  # fmt: skip
    assert len(found.outputs) > 5
    assert list(found.documents.items()) == wanted
    for doc in range(4):  # a mean over the segments, summed here in plain floats
        own = [row for row in some if row["doc"] == doc]
        part = tm.score(
            [row["hypothesis"] for row in own], [[row["references"][0] for row in own]],
            ["tkm:decay=0.3"], trees=True,
        ).segments["tkm:decay=0.3"].tolist()  # fmt: skip
        mean = sum(part) / len(part)
        assert found.documents[str(doc)]["tkm:decay=0.3"] == pytest.approx(mean, abs=1e-12)


def test_skipped_rows_are_in_no_document(tmp_path):
    some = named(120)
    good = [row for k, row in enumerate(some) if k not in (0, 50, 119)]
    wanted = expected(tmp_path, good)
    for k in (0, 50, 119):
        some[k] = some[k] | {"references": [""]}
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    found = score_files(
        [path], tmp_path / "out", METRICS, workers=1, shard_bytes=3000, doc="doc", documents=True,
        on_error="skip",
    )  # fmt: skip
    assert found.skipped == 3
    assert list(found.documents.items()) == wanted


def test_parts_and_going_on(tmp_path):
    some = named(300)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    out = tmp_path / "out"
    more = {"workers": 1, "shard_bytes": 5000, "doc": "doc", "documents": True}
    metrics = ["bleu", "bm"]
    first = score_files([path], out, metrics, part=(1, 2), **more)
    assert first.missing
    assert not (out / "_documents.parquet").exists()
    second = score_files([path], out, metrics, part=(2, 2), **more)
    wanted = expected(tmp_path, some, metrics)
    assert list(second.documents.items()) == in_file(out) == wanted
    # sums of a shard that are lost, or are not of its scores, are made again
    names = sorted((out / "_documents").iterdir())
    kept = {name: name.stat().st_mtime_ns for name in out.glob("0*.parquet")}
    names[0].unlink()
    names[1].write_bytes(names[2].read_bytes())
    assert score_files([path], out, metrics, **more).documents == second.documents
    again = {name.name for name, stamp in kept.items() if name.stat().st_mtime_ns != stamp}
    assert again == {name.name for name in names[:2]}
    with pytest.raises(TensorMTError, match="other metrics, columns or options"):
        score_files([path], out, metrics, **(more | {"documents": False}))
    third = score_files([path], out, metrics, overwrite=True, **(more | {"shard_bytes": 9000}))
    assert list(third.documents.items()) == wanted
    assert len(list((out / "_documents").iterdir())) == len(third.outputs) < len(names)


@pytest.mark.heavy(needs="minutes")
def test_after_a_kill_and_with_two_drivers(tmp_path):
    some = named(1000)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    out = tmp_path / "out"
    metrics = ["bleu", "bm"]
    command = ["score-files", path, "-o", out, "-m", *metrics, "--shard-size", 0.002, "-q"]
    command += ["--doc", "doc", "--documents", "--workers", 1, "--to", "jsonl"]
    process = start(*command)
    while len(list(out.glob("*.jsonl"))) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not (out / "_documents.jsonl").exists()
    drivers = [start(*command) for _ in range(2)]
    said = [driver.communicate(timeout=240) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], said
    assert f"scores of 18 documents are in {out}/_documents.jsonl" in said[0][1]
    assert in_file(out, "jsonl") == expected(tmp_path, some, metrics)
    left = [name for folder, _, names in os.walk(out) for name in names if name.endswith(".tmp")]
    assert not left


def test_memory_file_system(tmp_path):
    import fsspec

    some = named(100)
    memory = fsspec.filesystem("memory")
    memory.pipe("/docs-in/b.jsonl", "".join(json.dumps(row) + "\n" for row in some).encode())
    more = {"workers": 1, "shard_bytes": 2000, "doc": "doc", "documents": True}
    try:
        for overwrite in (False, False, True):
            found = score_files(
                ["memory://docs-in"], "memory://docs-out", ["bm"], overwrite=overwrite, **more
            )
            assert list(found.documents.items()) == expected(tmp_path, some, ["bm"])
        assert memory.exists("/docs-out/_documents.parquet")
    finally:
        memory.rm("/docs-in", recursive=True)
        memory.rm("/docs-out", recursive=True)


def test_documents_without_a_column(tmp_path, capsys):
    from tensormt.command.main import main

    path = write_jsonl(tmp_path / "rows.jsonl", rows(4))
    with pytest.raises(TensorMTError, match="document scores need document ids: name their column"):
        score_files([path], tmp_path / "out", ["bleu"], documents=True)
    for more in ([], ["--dry-run"]):
        assert (
            main(["score-files", str(path), "-o", str(tmp_path / "out"), "--documents", *more]) == 2
        )
        err = capsys.readouterr().err
        assert err.endswith(
            "document scores need document ids: name their column (--doc, --documents)\n"
        )
    assert not (tmp_path / "out").exists()
