"""Document scores of many shards: sums a shard in a file of its own, put together at the end.

A document may reach over shards and files. Beside the scores of a shard lie the summed statistics
of its documents (`_documents/NAME.parquet`), there before the scores are, so whoever finds a shard
done finds them too. The driver adds them up, a file at a time, and writes one table of scores.
They are words of tensormt.kernels.fixed_point: the cuts cannot be seen in a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tensormt.data.fsspec_io import filesystem
from tensormt.data.shard_writer import SUFFIXES, ScoreFile, read_columns, read_footer
from tensormt.data.shards import Shard
from tensormt.scale.job import Job
from tensormt.statistics import Totals

FORMAT = "tensormt documents 1"
_ROWS = 10_000  # documents that are written at a time


def folder_of_sums(out: str) -> str:
    """Where the sums of a run in the folder `out` lie."""
    return f"{out}/_documents"


def _path(job: Job, shard: Shard) -> str:
    return f"{folder_of_sums(job.out)}/{shard.name}.parquet"


def finished(job: Job, shard: Shard, fingerprint: str) -> dict[str, Any] | None:
    """The footer of a shard; None where it, or the sums of its documents, are still missing."""
    footer = read_footer(job.output(shard))
    if footer is None or not job.documents or footer.get("fingerprint") != fingerprint:
        return footer
    beside = read_footer(_path(job, shard)) or {}
    known = [(facts.get("fingerprint"), facts.get("input")) for facts in (footer, beside)]
    return footer if known[0] == known[1] else None


def _cells(shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[str, int, int]]:
    """Columns of a file of sums: metric, word and statistic."""
    return {
        f"{name}/{w}/{k}": (name, w, k)
        for name, (words, width) in shapes.items()
        for w in range(words)
        for k in range(width)
    }


def keep(job: Job, shard: Shard, totals: Totals, footer: Mapping[str, Any]) -> None:
    """Write the sums of a shard's documents, which its scores will lie beside."""
    names, found = totals.document_names, totals.document_sums("")
    shapes = {name: (words.shape[0], words.shape[2]) for name, words in found.items()}
    cells = _cells(shapes)
    facts = {key: footer[key] for key in ("fingerprint", "input")}
    with ScoreFile(_path(job, shard), {"doc": "string", **dict.fromkeys(cells, "int64")}) as file:
        for start in range(0, len(names), _ROWS):
            rows = slice(start, start + _ROWS)
            columns = {cell: found[m][w, rows, k].tolist() for cell, (m, w, k) in cells.items()}
            file.add({"doc": names[rows], **columns})
        file.finish({"format": FORMAT, **facts, "shapes": shapes})


def recall(job: Job, shard: Shard) -> Totals:
    """What `keep` wrote; the sums of the corpus are not in it."""
    columns, footer = read_columns(_path(job, shard))
    tables = {}
    for name, (words, width) in footer["shapes"].items():
        own = [torch.tensor(columns[cell], device="cpu") for cell in _cells({name: (words, width)})]
        tables[name] = torch.stack(own).view(words, width, -1).transpose(1, 2)
    return Totals.from_json({"names": columns["doc"], "documents": {"": tables}})


def forget(job: Job) -> None:
    """Remove all that `keep` wrote in the folder."""
    system, folder = filesystem(folder_of_sums(job.out))
    names = system.ls(folder, detail=False) if system.isdir(folder) else []
    ours = [name for name in names if name.endswith(".parquet")]
    for path in ours:  # raises where one is not ours
        read_footer(f"{folder_of_sums(job.out)}/{path.rpartition('/')[2]}")
    for path in ours:
        system.rm(path)


def table_name(form: str) -> str:
    """The file with the scores of all documents, in the folder of a run."""
    return f"_documents{SUFFIXES[form]}"


def write_table(
    job: Job, documents: Mapping[str, Mapping[str, float]], signatures: Mapping[str, str]
) -> None:
    """One row a document, in the order in which they begin: its name and its scores."""
    names, kinds = list(documents), {"doc": "string", **dict.fromkeys(job.metrics, "double")}
    with ScoreFile(f"{job.out}/{table_name(job.form)}", kinds) as file:
        for start in range(0, len(names), _ROWS):
            some = names[start : start + _ROWS]
            scores = {m: [documents[doc][m] for doc in some] for m in job.metrics}
            file.add({"doc": some, **scores})
        file.finish({"format": FORMAT, "signatures": signatures})
