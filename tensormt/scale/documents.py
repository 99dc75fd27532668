"""Document scores of many shards: summed statistics per shard, which are merged at the end.

A document may extend over several shards and files. The summed statistics of a shard's documents
are written to `_documents/NAME.parquet` before the scores of the shard, so a finished shard always
has them. The driver adds them up file by file and writes one table of scores. Sums are words of
`tensormt.kernels.fixed_point`, so scores do not depend on how files are split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tensormt.data.fsspec_io import filesystem
from tensormt.data.shard_writer import SUFFIXES, ScoreFile, read_columns, read_footer
from tensormt.data.shards import Shard
from tensormt.scale.job import Job
from tensormt.statistics import Totals

FORMAT = "tensormt documents 1"
_ROWS = 10_000  # documents written at a time


def sums_folder(out: str) -> str:
    """Return the folder of the sums of a run whose output folder is `out`.

    >>> sums_folder("scores")
    'scores/_documents'
    """
    return f"{out}/_documents"


def _path(job: Job, shard: Shard) -> str:
    return f"{sums_folder(job.out)}/{shard.name}.parquet"


def finished_footer(job: Job, shard: Shard, fingerprint: str) -> dict[str, Any] | None:
    """Return the footer of a shard; None: it, or the sums of its documents, are missing."""
    footer = read_footer(job.output(shard))
    if footer is None or not job.documents or footer.get("fingerprint") != fingerprint:
        return footer
    beside = read_footer(_path(job, shard)) or {}
    known = [(facts.get("fingerprint"), facts.get("input")) for facts in (footer, beside)]
    return footer if known[0] == known[1] else None


def _cells(shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[str, int, int]]:
    """Columns of a file of sums, with the metric, word and statistic of each."""
    return {
        f"{name}/{w}/{k}": (name, w, k)
        for name, (words, width) in shapes.items()
        for w in range(words)
        for k in range(width)
    }


def write_sums(job: Job, shard: Shard, totals: Totals, footer: Mapping[str, Any]) -> None:
    """Write the sums of a shard's documents.

    Args:
        job: The job.
        shard: The shard.
        totals: Sums of its documents.
        footer: Footer of the scores of the shard, whose fingerprint and input are copied.
    """
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


def read_sums(job: Job, shard: Shard) -> Totals:
    """Read what `write_sums` wrote; the sums of the corpus are not included."""
    columns, footer = read_columns(_path(job, shard))
    tables = {}
    for name, (words, width) in footer["shapes"].items():
        own = [columns[cell] for cell in _cells({name: (words, width)})]
        tables[name] = np.array(own, np.int64).reshape(words, width, -1).swapaxes(1, 2)
    return Totals.from_json({"names": columns["doc"], "documents": {"": tables}})


def remove_sums(job: Job) -> None:
    """Remove all files that `write_sums` wrote."""
    system, folder = filesystem(sums_folder(job.out))
    names = system.ls(folder, detail=False) if system.isdir(folder) else []
    ours = [name for name in names if name.endswith(".parquet")]
    for path in ours:  # raises if one was not written by this package
        read_footer(f"{sums_folder(job.out)}/{path.rpartition('/')[2]}")
    for path in ours:
        system.rm(path)


def scores_name(form: str) -> str:
    """Return the name of the file with the scores of all documents."""
    return f"_documents{SUFFIXES[form]}"


def write_scores_table(
    job: Job, documents: Mapping[str, Mapping[str, float]], signatures: Mapping[str, str]
) -> None:
    """Write the scores of all documents, one row per document in the order of their beginnings."""
    names, kinds = list(documents), {"doc": "string", **dict.fromkeys(job.metrics, "double")}
    with ScoreFile(f"{job.out}/{scores_name(job.form)}", kinds) as file:
        for start in range(0, len(names), _ROWS):
            some = names[start : start + _ROWS]
            scores = {m: [documents[doc][m] for doc in some] for m in job.metrics}
            file.add({"doc": some, **scores})
        file.finish({"format": FORMAT, "signatures": signatures})
