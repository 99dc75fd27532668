"""A worker: footers, invalid rows, and the program that reads tasks from standard input."""

import json
import subprocess
import sys

import pytest
from scale.samples import rows, write_jsonl

import tensormt as tm
from tensormt.data.row_columns import Columns
from tensormt.data.shard_writer import read_footer
from tensormt.data.shards import cut_files
from tensormt.scale.job import Job
from tensormt.scale.worker import Worker, row_segments


@pytest.fixture
def task(tmp_path):
    (tmp_path / "out").mkdir()
    path = write_jsonl(tmp_path / "rows.jsonl", rows(20))
    (shard,) = cut_files([str(path)], 1 << 20)
    return {"do": "score", "shard": shard, "fingerprint": "mark"}


def job(tmp_path, **options):
    return Job(str(tmp_path / "out"), ("bleu",), Columns(id="id"), **options)


def test_a_footer_has_the_sums(tmp_path, task):
    seen = []
    footer = Worker(job(tmp_path, chunk=8)).run(task, seen.append)
    assert (footer["rows"], footer["skipped"], seen) == (20, 0, [8, 8, 4])
    assert read_footer(f"{tmp_path}/out/{task['shard'].name}.parquet") == json.loads(
        json.dumps(footer)
    )
    again = Worker(job(tmp_path)).run(task)  # the shard is done
    assert again["cpu_seconds"] == footer["cpu_seconds"]


def test_invalid_rows_are_errors_or_skipped(tmp_path, task):
    with open(task["shard"].path, "a") as file:
        file.write('{"hypothesis": 1}\n')
    (shard,) = cut_files([task["shard"].path], 1 << 20)
    task["shard"] = shard
    answer = Worker(job(tmp_path)).run(task)
    assert answer == {"error": f"{shard.path}, line 21: 'hypothesis' must be a string"}
    footer = Worker(job(tmp_path, skip=True)).run(task)
    assert (footer["rows"], footer["skipped"], len(footer["errors"])) == (21, 1, 1)


def test_the_program_reads_tasks_and_answers(tmp_path, task):
    given = "\n".join([job(tmp_path).to_json(), json.dumps(task)]) + "\n"
    code = "from tensormt.scale.worker import main; main()"
    run = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert [list(answer) for answer in answers] == [["ready"], ["rows"], ["done"]], run.stderr
    assert answers[-1]["done"]["rows"] == 20


def test_rows_are_segments_of_one_system():
    found = row_segments([], Columns())
    assert (len(found), found.systems) == (0, [""])
    assert isinstance(found, tm.segments.Segments)
