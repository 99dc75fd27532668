"""Shards: parts of Parquet, JSONL, TSV and CSV files, each of which is read by one worker.

    shards = cut_files(find_files(["data/", "s3://bucket/part-*.parquet"]), size=16 << 20)

Parquet files are split between row groups, and within large ones by rows; text files are split by
bytes: a shard has the lines that start in it, so every line belongs to exactly one shard. A `.gz`
or CSV file, whose rows may contain line breaks, is one shard. Paths are those of fsspec. Shards
depend on the files and the requested size only, not on the number of workers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tensormt.data.files import suffix
from tensormt.data.fsspec_io import BLOCK, filesystem, open_input, reading_errors
from tensormt.data.parquet_splits import split_file
from tensormt.errors import TensorMTError

KINDS = (".parquet", ".jsonl", ".tsv", ".csv")


class Shard(NamedTuple):
    """A part of a file.

    Attributes:
        number: Position among all shards.
        name: Name of its output, without a suffix.
        path: The file.
        start: First row group (Parquet) or byte (text).
        stop: Row group or byte after the last one.
        bytes: Size.
        mark: Size and time of modification of the file, to detect changes.
        first: Number of rows of the file before the shard (Parquet).
        rows: Number of rows (Parquet); None: unknown.
        skip: Number of rows of its row group before the shard; None: the row group is not split.
    """

    number: int
    name: str
    path: str
    start: int
    stop: int
    bytes: int
    mark: str
    first: int = 0
    rows: int | None = None
    skip: int | None = None

    @property
    def suffix(self) -> str:
        """The format: .parquet, .jsonl, .tsv or .csv."""
        return suffix(self.path)


def find_files(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Find the files of paths, patterns and folders; those of a folder are sorted by name.

    Args:
        paths: Files, patterns with * ? [ ], or folders; fsspec URLs are allowed.

    Returns:
        Files without duplicates.

    Raises:
        TensorMTError: If a path has no file, or a file has another format.
    """
    found: list[str] = []
    for path in paths:
        given = os.fspath(path)
        system, inner = filesystem(given)
        with reading_errors(given):
            if system.isdir(inner):
                names = [name for name in system.find(inner) if not _hidden(name, inner)]
                names = [name for name in names if suffix(name) in KINDS]
            elif any(letter in given for letter in "*?["):
                names = [name for name in system.glob(inner) if not system.isdir(name)]
                names = [name for name in names if "/." not in name[name.rfind("/") :]]
            else:
                names = [inner] if system.exists(inner) else []
        if not names:
            raise TensorMTError(f"{given}: no file found; expected {', '.join(KINDS)} files (.gz)")
        for name in sorted(names):
            if suffix(name) not in KINDS or (name.endswith(".gz") and ".parquet" in name):
                raise TensorMTError(f"{name}: expected a {', '.join(KINDS)} file (.gz)")
            local = "file" in system.protocol
            found.append(name if local else system.unstrip_protocol(name))
    return list(dict.fromkeys(found))


def _hidden(name: str, folder: str) -> bool:
    inside = name[len(folder.rstrip("/")) :]
    return any(part.startswith((".", "_")) for part in inside.split("/"))


def cut_files(paths: Sequence[str], size: int) -> list[Shard]:
    """Split files into shards of about `size` bytes.

    Raises:
        TensorMTError: If `size` is below 1, or a file cannot be read.
    """
    if size < 1:
        raise TensorMTError(f"shards of {size} bytes: expected at least 1")
    shards: list[Shard] = []
    for number, path in enumerate(paths):
        system, inner = filesystem(path)
        with reading_errors(path):
            about = system.info(inner)
        keys = ("ETag", "mtime", "LastModified", "created")
        stamp = next((about[key] for key in keys if about.get(key)), "")
        mark = f"{about['size']} {stamp}"
        stem = path.rstrip("/").rpartition("/")[2].partition(".")[0] or "shard"
        table = suffix(path) == ".parquet"
        spans: Sequence[_Span] = (
            split_file(path, size) if table else _bytes(path, about["size"], size)
        )
        for k, (start, stop, weight, first, rows, skip) in enumerate(spans):
            name = f"{number:05d}-{stem}" + (f"-{k:04d}" if len(spans) > 1 else "")
            facts = (start, stop, weight, mark, first, rows, skip)
            shards.append(Shard(len(shards), name, path, *facts))
    return shards


_Span = tuple[int, int, int, int, "int | None", "int | None"]


def _bytes(path: str, whole: int, size: int) -> list[_Span]:
    if path.endswith(".gz") or suffix(path) == ".csv":
        return [(0, 1 << 62, whole, 0, None, None)]
    number = max(1, round(whole / size))
    edges = [whole * k // number for k in range(number + 1)]
    return [(start, stop, stop - start, 0, None, None) for start, stop in pairwise(edges)]


def row_location(shard: Shard, index: int) -> str:
    """Return file and line (or row) of a row of a shard, for messages.

    Lines before the shard are counted by this function, not when files are split.
    """
    if shard.suffix in (".parquet", ".csv"):
        return f"{shard.path}, row {shard.first + index + 1}"
    before, left = 0, shard.start
    with open_input(shard.path) as file:
        while left and (block := file.read(min(left, BLOCK))):
            before += block.count(b"\n")
            left -= len(block)
            last = block[-1:]
    if shard.start and last != b"\n":
        before += 1  # the line at the boundary belongs to the shard before
    head = shard.suffix == ".tsv" and not shard.start
    return f"{shard.path}, line {before + index + 1 + head}"
