"""Rows for the tests of scale, and what `tensormt score` says about them."""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from tensormt.command.main import main

ROOT = Path(__file__).resolve().parents[2]


def rows(count, seed=1):
    """Rows of one or two references, with document and id, some beyond ASCII, some blank."""
    rng = random.Random(seed)
    words = [f"w{k}" for k in range(80)] + ["naïve", "犬", "the", "."]

    def noisy(text):
        return " ".join(w if rng.random() < 0.8 else rng.choice(words) for w in text.split())

    made = []
    for k in range(count):
        ref = " ".join(rng.choices(words, k=rng.randint(1, 25)))
        refs = [ref] if k % 3 else [ref, noisy(ref)]
        hyp = "" if k % 50 == 7 else noisy(ref)
        made.append({"hypothesis": hyp, "references": refs, "doc": f"d{k // 9}", "id": k})
    return made


def write_jsonl(path, some):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some), "utf-8")
    return path


def call(*arguments):
    """Standard output of a command line."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([str(argument) for argument in arguments]) == 0
    return out.getvalue()


def wanted(folder, some, metrics, *more):
    """Corpus report and segment scores of `tensormt score` on the rows, as one file."""
    path = write_jsonl(folder / "all.jsonl", some)
    segments = folder / "segments.jsonl"
    segments.unlink(missing_ok=True)
    report = call(
        "score", "-i", path, "-m", *metrics, "-f", "json", "-q", "--segments", segments, *more
    )
    scores = [json.loads(line) for line in segments.read_text().split("\n") if line]
    (found,) = json.loads(report)["systems"].values()
    return found, [{name: row[name] for name in metrics} for row in scores]


def scores(summary, metrics):
    """The segment scores of all outputs, in order."""
    import fsspec
    import pyarrow.parquet as pq

    found = []
    for path in summary.outputs:
        with fsspec.open(path, "rb") as file:
            if path.endswith(".jsonl"):
                part = [json.loads(line) for line in file.read().decode().split("\n") if line]
            else:
                part = pq.read_table(file).to_pylist()
        found += [{name: row[name] for name in metrics} for row in part]
    return found


def corpus(summary):
    """Corpus scores and signatures in the form of `tensormt score -f json`."""
    return {
        name: {"score": score, "signature": summary.signatures[name]}
        for name, score in summary.corpus.items()
    }


def start(*arguments, **more):
    """The command line as a process of its own."""
    command = [sys.executable, "-m", "tensormt", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
    )


def children(pid):
    """Ids of the processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found
