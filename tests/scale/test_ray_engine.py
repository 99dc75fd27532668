"""score-files on a real Ray cluster of this machine, started and stopped here."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import call, children, corpus, rows, scores, start, wanted, write_jsonl

from tensormt.errors import TensorMTError
from tensormt.scale import score_files

METRICS = ["bleu", "bm", "nist"]


@pytest.fixture(scope="module")
def cluster():
    import ray

    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


@pytest.mark.heavy(needs="ray")
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_scores_are_those_of_score(cluster, tmp_path, workers):
    some = rows(300)
    report, segments = wanted(tmp_path, some, METRICS)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    found = score_files(
        [f"file://{path}"], tmp_path / "out", METRICS, engine="ray", workers=workers,
        shard_bytes=1000 * workers,
    )  # fmt: skip
    assert corpus(found) == report
    assert scores(found, METRICS) == segments
    assert cluster.is_initialized()  # a cluster that was there stays


@pytest.mark.heavy(needs="ray")
def test_documents_and_a_row_group_in_parts(cluster, tmp_path):
    some = rows(300)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    report = call("score", "-i", path, "-m", *METRICS, "-f", "json", "-q", "--documents")
    (expected,) = json.loads(report)["documents"].values()
    pq.write_table(pa.Table.from_pylist(some), tmp_path / "rows.parquet")
    found = score_files(
        [tmp_path / "rows.parquet"], tmp_path / "out", METRICS, engine="ray", workers=2, doc="doc",
        documents=True, shard_bytes=6000,
    )  # fmt: skip
    assert len(found.outputs) > 4
    assert list(found.documents.items()) == list(expected.items())
    assert corpus(found) == wanted(tmp_path, some, METRICS)[0]


def actors():
    """Ids of the processes of the actors of our cluster."""
    found = [pid for node in children(os.getpid()) for pid in children(node)]
    return [p for p in found if Path(f"/proc/{p}/cmdline").read_bytes().startswith(b"ray::_Actor")]


@pytest.mark.heavy(needs="ray")
def test_a_killed_actor_is_replaced(cluster, tmp_path):
    some = rows(1200)
    report, segments = wanted(tmp_path, some, METRICS)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    out = tmp_path / "out"
    killed = []

    def kill():
        while len(list(out.glob("*.parquet"))) < 3:
            time.sleep(0.01)
        os.kill(actors()[0], signal.SIGKILL)
        killed.append(len(list(out.glob("*.parquet"))))

    thread = threading.Thread(target=kill)
    thread.start()
    found = score_files([path], out, METRICS, engine="ray", workers=2, shard_bytes=1500)
    thread.join()
    assert killed[0] < len(found.outputs)
    assert (corpus(found), scores(found, METRICS)) == (report, segments)


@pytest.mark.heavy(needs="ray")
def test_after_a_killed_driver_only_the_rest_is_done(cluster, tmp_path):
    some = rows(1200)
    report, segments = wanted(tmp_path, some, METRICS)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    out = tmp_path / "out"
    address = cluster.get_runtime_context().gcs_address
    process = start(
        "score-files", path, "-o", out, "-m", *METRICS, "--engine", "ray", "--workers", 2,
        "--ray-address", address, "--shard-size", 1500 / 2**20,
    )  # fmt: skip
    while len(list(out.glob("*.parquet"))) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    while actors():  # Ray ends the actors of a driver that is gone
        time.sleep(0.1)
    kept = {name: name.stat().st_mtime_ns for name in out.glob("*.parquet")}
    found = score_files([path], out, METRICS, engine="ray", workers=2, shard_bytes=1500)
    assert 3 <= len(kept) < len(found.outputs)
    assert {name: name.stat().st_mtime_ns for name in kept} == kept
    assert (corpus(found), scores(found, METRICS)) == (report, segments)
    assert not list(out.glob(".*.tmp"))


@pytest.mark.heavy(needs="ray")
def test_a_bad_row_ends_the_run_with_its_sentence(cluster, tmp_path):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(20))
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(ValueError, match=r"rows.jsonl, line 21: the row has no 'hypothesis'"):
        score_files([path], tmp_path / "out", ["bleu"], engine="ray", workers=2, shard_bytes=1500)


@pytest.mark.heavy(needs="ray")
def test_more_gpus_than_there_are(cluster, tmp_path):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(5))
    with pytest.raises(ValueError, match="has 0 GPUs, a worker needs 1: request fewer"):
        score_files([path], tmp_path / "out", ["bleu"], engine="ray", gpus_per_worker=1)


@pytest.mark.heavy(needs="ray")
def test_a_cluster_that_is_not_there(tmp_path):
    import ray

    ray.shutdown()  # that of the other tests
    path = write_jsonl(tmp_path / "rows.jsonl", rows(5))
    with pytest.raises(TensorMTError, match=r"Ray cannot be reached or started \(127.0.0.1:1\)"):
        score_files([path], tmp_path / "out", ["bleu"], engine="ray", ray_address="127.0.0.1:1")
