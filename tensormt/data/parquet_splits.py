"""Row groups of Parquet files: where to cut them, how to read a part, and what was read.

Writers put up to a million rows into one group, so a group is also cut by rows. Parquet has no
index of rows: whoever reads a part decodes the rows before it and drops them, each at a thirtieth
of what BLEU costs. So that this stays small, a file of one group is cut into 16 parts at most, and
a group into 4 where there are many of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from tensormt.data.fsspec_io import BLOCK, open_input
from tensormt.errors import TensorMTError

_PARTS, _LEAST = 16, 4  # of a file's only group, of one of many
_BATCH = 2000  # rows that are decoded at a time
_BUFFER = 4 << 20  # bytes of a column that are held: else the whole of a group would be


class Part(NamedTuple):
    """Row groups `start` up to `stop`; or, with `skip`, rows of one: those after so many."""

    start: int
    stop: int
    bytes: int
    first: int  # rows of the file before it
    rows: int
    skip: int | None = None


def parts(path: str, size: int) -> list[Part]:
    """The parts of a file, of about so many bytes each: groups together, or a group cut by rows."""
    with open_parquet(path) as file:
        about = file.metadata
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        weights = [(group.num_rows, group.total_byte_size) for group in groups]
    most = max(_LEAST, _PARTS // max(1, len(weights)))
    found: list[Part] = []
    start = first = rows = weight = 0

    def close(stop: int) -> None:
        nonlocal start, first, rows, weight
        if stop > start:
            found.append(Part(start, stop, weight, first, rows))
        start, first, rows, weight = stop, first + rows, 0, 0

    for group, (own, heavy) in enumerate(weights):
        number = min(round(heavy / size), most, own)
        if number > 1:
            close(group)
            edges = [own * k // number for k in range(number + 1)]
            for skip, stop in pairwise(edges):
                share = heavy * stop // own - heavy * skip // own
                found.append(Part(group, group + 1, share, first + skip, stop - skip, skip))
            start, first = group + 1, first + own
            continue
        rows, weight = rows + own, weight + heavy
        if weight >= size:
            close(group + 1)
    close(len(weights))
    return found or [Part(0, 0, 0, 0, 0)]


@contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """A Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_input(path) as file:
        try:
            yield pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise TensorMTError(f"{path} cannot be read as Parquet: {error}") from None


def batches(
    file: Any, groups: Sequence[int], columns: Sequence[str], skip: int, rows: int | None
) -> Iterator[Any]:
    """Record batches of row groups: `rows` rows (None: all) after the first `skip`."""
    if not groups:
        return
    for batch in file.iter_batches(_BATCH, list(groups), list(columns)):
        if skip >= len(batch):
            skip -= len(batch)
            continue
        some = batch.slice(skip, rows)
        skip = 0
        yield some
        if rows is not None:
            rows -= len(some)
            if not rows:
                return


def hash_groups(path: str, groups: Sequence[int], digest: hashlib.blake2b) -> None:
    """Add the bytes of row groups to a digest."""
    with open_parquet(path) as file:
        about = file.metadata
        spans = []
        for group in groups:
            for column in range(about.num_columns):
                chunk = about.row_group(group).column(column)
                first = chunk.dictionary_page_offset or chunk.data_page_offset
                spans.append((min(first, chunk.data_page_offset), chunk.total_compressed_size))
    digest.update(repr([size for _, size in spans]).encode())
    with open_input(path) as raw:
        for start, size in spans:
            raw.seek(start)
            while size > 0 and (block := raw.read(min(size, BLOCK))):
                digest.update(block)
                size -= len(block)
