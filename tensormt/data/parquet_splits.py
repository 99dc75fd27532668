"""Splitting of Parquet files between row groups and within them, and reading of the parts.

Row groups have up to a million rows, so they are also split by rows. Parquet has no index of rows:
to read a part, the rows before it are decoded and dropped, each at about a thirtieth of the cost of
BLEU. To bound this overhead, a file of one row group is split into at most 16 parts, and a row
group of a file with many of them into at most 4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from tensormt.data.fsspec_io import BLOCK, open_input
from tensormt.errors import TensorMTError

_MAX_PARTS, _MIN_PARTS = 16, 4  # parts of a file's only row group, of one of many
_BATCH = 2000  # rows decoded at a time
_BUFFER = 4 << 20  # bytes of a column in memory: without a buffer, whole row groups are loaded


class Part(NamedTuple):
    """Row groups `start` to `stop`, or rows of one row group.

    Attributes:
        start: First row group.
        stop: Row group after the last one.
        bytes: Size.
        first: Number of rows of the file before the part.
        rows: Number of rows.
        skip: Number of rows of the row group before the part; None: whole row groups.
    """

    start: int
    stop: int
    bytes: int
    first: int
    rows: int
    skip: int | None = None


def split_file(path: str, size: int) -> list[Part]:
    """Split a Parquet file into parts of about `size` bytes: several row groups, or rows of one."""
    with open_parquet(path) as file:
        about = file.metadata
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        weights = [(group.num_rows, group.total_byte_size) for group in groups]
    most = max(_MIN_PARTS, _MAX_PARTS // max(1, len(weights)))
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
    """Open a Parquet file.

    Raises:
        TensorMTError: If it cannot be read as Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_input(path) as file:
        try:
            yield pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise TensorMTError(f"{path} cannot be read as Parquet: {error}") from None


def read_batches(
    file: Any,
    groups: Sequence[int],
    columns: Sequence[str],
    skip: int,
    rows: int | None,
    *,
    batch_rows: int = _BATCH,
) -> Iterator[Any]:
    """Iterate over record batches of row groups.

    Args:
        file: Open Parquet file.
        groups: Row groups.
        columns: Names of columns.
        skip: Number of rows to drop at the beginning.
        rows: Number of rows to read after them; None: all.
        batch_rows: Rows decoded at a time.
    """
    if not groups:
        return
    for batch in file.iter_batches(batch_rows, list(groups), list(columns)):
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
