"""The first pass of NIST, NM, Zipf weights and idf: counts of shards are made, merged and saved.

The tables are in the folder `counts` of the output; their names contain a hash of all shards, so
an interrupted run continues with the remaining shards, and a changed input is counted again. Saved
tables of n-gram counts are used if they match a metric.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tensormt.data.fsspec_io import atomic_upload, filesystem, local_copy
from tensormt.data.shards import Shard
from tensormt.errors import TensorMTError
from tensormt.evaluator import named_metrics
from tensormt.ngram.frequencies import Frequencies
from tensormt.scale.job import Job, unfitted
from tensormt.scale.worker import Task


def count_tables(
    job: Job,
    shards: Sequence[Shard],
    mine: Sequence[Shard],
    saved: Sequence[str],
    work: Callable[[Job, list[Task]], object],
) -> dict[str, str]:
    """Return the files with the n-gram counts that metrics need; missing ones are computed.

    Args:
        job: The job.
        shards: All shards of the run.
        mine: Shards that this driver counts.
        saved: Saved tables of n-gram counts.
        work: Function that lets workers do tasks.

    Returns:
        Files by key of the table (`unfitted`).

    Raises:
        TensorMTError: If other drivers have not counted their shards yet.
    """
    metrics = named_metrics(job.metrics, job.lang).values()
    wanted = {key: some[0] for key, some in unfitted(metrics).items()}
    found: dict[str, str] = {}
    for path in saved:
        with local_copy(path) as local:
            table = Frequencies.load(local)
        for key, metric in wanted.items():
            if metric.serves(table):
                found[key] = path
    targets = {k: f"{job.out}/counts/{k}-{_plan(job, shards)}" for k in wanted if k not in found}
    paths = {key: f"{target}.safetensors" for key, target in targets.items()}
    missing = {key: targets[key] for key, path in paths.items() if not _exists(path)}
    if missing:
        _count(job, shards, mine, missing, wanted, work)
    return found | paths


def _count(
    job: Job,
    shards: Sequence[Shard],
    mine: Sequence[Shard],
    targets: dict[str, str],
    wanted: Mapping[str, Any],
    work: Callable[[Job, list[Task]], object],
) -> None:
    def parts(shard: Shard) -> dict[str, str]:
        return {key: f"{target}/{shard.name}.safetensors" for key, target in targets.items()}

    missing = [shard for shard in mine if not all(map(_exists, parts(shard).values()))]
    work(job, [{"do": "count", "shard": shard, "targets": parts(shard)} for shard in missing])
    for key, target in targets.items():
        path = f"{target}.safetensors"
        try:
            if not _exists(path):
                _merge([parts(shard)[key] for shard in shards], path, wanted[key].load_counts)
        except TensorMTError:
            if not _exists(path):  # another driver may have merged the tables meanwhile
                raise
        system, folder = filesystem(target)
        with suppress(FileNotFoundError):
            system.rm(folder, recursive=True)


def _merge(parts: Sequence[str], path: str, load: Callable[[Path], Any]) -> None:
    """Merge the tables of all shards into one file."""
    done = sum(map(_exists, parts))
    if done < len(parts):
        raise TensorMTError(
            f"references are counted in {done} of {len(parts)} shards: run this part again when "
            "the other parts have been counted"
        )
    total: Any = None
    for part in parts:
        with local_copy(part) as local:
            own = load(local)
        total = own if total is None else total.merge(own)
    assert total is not None
    with atomic_upload(path) as local:
        total.save(local)


def _plan(job: Job, shards: Sequence[Shard]) -> str:
    facts = [[s.path, s.start, s.stop, s.mark, *([s.skip] if s.skip else [])] for s in shards]
    known = json.dumps([facts, job.columns, job.trees, job.skip, job.parser, job.lang])
    return hashlib.blake2b(known.encode(), digest_size=8).hexdigest()


def _exists(path: str) -> bool:
    system, inner = filesystem(path)
    return bool(system.exists(inner))
