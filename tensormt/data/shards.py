"""Folders of files cut into shards: parts of Parquet, JSONL and TSV files that one worker reads.

    shards = cut(find(["data/", "s3://bucket/part-*.parquet"]), size=16 << 20)

A Parquet file is cut between row groups, and by rows within a large one; a text file at bytes: a
shard owns the lines that start in it, so that every line has one owner wherever the cuts fall.
`.gz` files are one shard. Paths are whatever fsspec opens. Cuts depend on the files and the size
asked for, never on the workers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tensormt.data.files import kind
from tensormt.data.fsspec_io import BLOCK, filesystem, named, open_input
from tensormt.data.parquet_splits import parts
from tensormt.errors import TensorMTError

KINDS = (".parquet", ".jsonl", ".tsv")


class Shard(NamedTuple):
    """Row groups or bytes `start` up to `stop` of a file; `mark` tells two versions of it apart."""

    number: int
    name: str  # of its output, without a suffix
    path: str
    start: int
    stop: int
    bytes: int
    mark: str
    first: int = 0  # rows of the file before it, and its own: known of Parquet
    rows: int | None = None
    skip: int | None = None  # rows of its row group before it, where a group is cut

    @property
    def kind(self) -> str:
        """One of KINDS."""
        return kind(self.path)


def find(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that paths, patterns and folders name, folders in the order of names."""
    found: list[str] = []
    for path in paths:
        given = os.fspath(path)
        system, inner = filesystem(given)
        with named(given):
            if system.isdir(inner):
                names = [name for name in system.find(inner) if not _hidden(name, inner)]
                names = [name for name in names if kind(name) in KINDS]
            elif any(letter in given for letter in "*?["):
                names = [name for name in system.glob(inner) if not system.isdir(name)]
                names = [name for name in names if "/." not in name[name.rfind("/") :]]
            else:
                names = [inner] if system.exists(inner) else []
        if not names:
            raise TensorMTError(f"{given}: no file is there; give {', '.join(KINDS)} files (.gz)")
        for name in sorted(names):
            if kind(name) not in KINDS or (name.endswith(".gz") and ".parquet" in name):
                raise TensorMTError(f"{name}: expected a {', '.join(KINDS)} file (.gz)")
            local = "file" in system.protocol
            found.append(name if local else system.unstrip_protocol(name))
    return list(dict.fromkeys(found))


def _hidden(name: str, folder: str) -> bool:
    inside = name[len(folder.rstrip("/")) :]
    return any(part.startswith((".", "_")) for part in inside.split("/"))


def cut(paths: Sequence[str], size: int) -> list[Shard]:
    """The shards of files, of about so many bytes each."""
    if size < 1:
        raise TensorMTError(f"shards of {size} bytes: expected at least 1")
    shards: list[Shard] = []
    for number, path in enumerate(paths):
        system, inner = filesystem(path)
        with named(path):
            about = system.info(inner)
        keys = ("ETag", "mtime", "LastModified", "created")
        stamp = next((about[key] for key in keys if about.get(key)), "")
        mark = f"{about['size']} {stamp}"
        stem = path.rstrip("/").rpartition("/")[2].partition(".")[0] or "shard"
        table = kind(path) == ".parquet"
        spans: Sequence[_Span] = parts(path, size) if table else _bytes(path, about["size"], size)
        for k, (start, stop, weight, first, rows, skip) in enumerate(spans):
            name = f"{number:05d}-{stem}" + (f"-{k:04d}" if len(spans) > 1 else "")
            facts = (start, stop, weight, mark, first, rows, skip)
            shards.append(Shard(len(shards), name, path, *facts))
    return shards


_Span = tuple[int, int, int, int, "int | None", "int | None"]


def _bytes(path: str, whole: int, size: int) -> list[_Span]:
    if path.endswith(".gz"):
        return [(0, 1 << 62, whole, 0, None, None)]
    number = max(1, round(whole / size))
    edges = [whole * k // number for k in range(number + 1)]
    return [(start, stop, stop - start, 0, None, None) for start, stop in pairwise(edges)]


def place(shard: Shard, index: int) -> str:
    """Where a row of a shard stands in its file; lines before a cut are counted only now."""
    if shard.kind == ".parquet":
        return f"{shard.path}, row {shard.first + index + 1}"
    before, left = 0, shard.start
    with open_input(shard.path) as file:
        while left and (block := file.read(min(left, BLOCK))):
            before += block.count(b"\n")
            left -= len(block)
            last = block[-1:]
    if shard.start and last != b"\n":
        before += 1  # the line that the cut went through belongs to the shard before
    head = shard.kind == ".tsv" and not shard.start
    return f"{shard.path}, line {before + index + 1 + head}"
