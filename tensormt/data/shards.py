"""Folders of files cut into shards: parts of Parquet, JSONL and TSV files that one worker reads.

    shards = cut(find(["data/", "s3://bucket/part-*.parquet"]), size=16 << 20)

A Parquet file is cut between row groups, a text file at bytes: a shard owns the lines that start in
it, so that every line has one owner wherever the cuts fall. `.gz` files are one shard. Paths are
whatever fsspec opens. Cuts depend on the files and the size asked for, never on the workers.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

from tensormt.data.files import kind
from tensormt.errors import TensorMTError

__all__ = [
    "KINDS",
    "Shard",
    "cut",
    "fetched",
    "filesystem",
    "find",
    "open_input",
    "place",
    "replace",
    "stored",
]

KINDS = (".parquet", ".jsonl", ".tsv")
_BLOCK = 1 << 20


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

    @property
    def kind(self) -> str:
        """One of KINDS."""
        return kind(self.path)


def filesystem(path: str) -> tuple[Any, str]:
    """The file system of a path, by fsspec, and the path in it."""
    import fsspec

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise TensorMTError(f"{path} cannot be opened: {error}") from None
    return found


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Whatever goes wrong with a file is one sentence that names it."""
    try:
        yield
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TensorMTError(f"{path} cannot be read: {reason}") from None


def find(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that paths, patterns and folders name, folders in the order of names."""
    found: list[str] = []
    for path in paths:
        given = os.fspath(path)
        system, inner = filesystem(given)
        with _named(given):
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
        with _named(path):
            about = system.info(inner)
        keys = ("ETag", "mtime", "LastModified", "created")
        stamp = next((about[key] for key in keys if about.get(key)), "")
        mark = f"{about['size']} {stamp}"
        parts = _groups(path, size) if kind(path) == ".parquet" else _bytes(path, about, size)
        stem = path.rstrip("/").rpartition("/")[2].partition(".")[0] or "shard"
        for k, (start, stop, weight, first, rows) in enumerate(parts):
            name = f"{number:05d}-{stem}" + (f"-{k:04d}" if len(parts) > 1 else "")
            shards.append(Shard(len(shards), name, path, start, stop, weight, mark, first, rows))
    return shards


Part = tuple[int, int, int, int, "int | None"]


def _bytes(path: str, about: dict[str, Any], size: int) -> list[Part]:
    whole = about["size"]
    number = 1 if path.endswith(".gz") else max(1, round(whole / size))
    if path.endswith(".gz"):
        return [(0, 1 << 62, whole, 0, None)]
    edges = [whole * k // number for k in range(number + 1)]
    return [(start, stop, stop - start, 0, None) for start, stop in pairwise(edges)]


def _groups(path: str, size: int) -> list[Part]:
    with open_parquet(path) as file:
        about = file.metadata
    parts: list[Part] = []
    start = first = rows = weight = 0
    for group in range(about.num_row_groups):
        rows += about.row_group(group).num_rows
        weight += about.row_group(group).total_byte_size
        if weight >= size or group == about.num_row_groups - 1:
            parts.append((start, group + 1, weight, first, rows))
            start, first, rows, weight = group + 1, first + rows, 0, 0
    return parts or [(0, 0, 0, 0, 0)]


@contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """A Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_input(path) as file:
        try:
            reader = pq.ParquetFile(file)
        except pa.ArrowInvalid as error:
            raise TensorMTError(f"{path} cannot be read as Parquet: {error}") from None
        yield reader


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """A file to read bytes from, unpacked where its name ends in .gz."""
    system, inner = filesystem(path)
    with _named(path), system.open(inner, "rb") as raw:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as file:
                yield io.BufferedReader(file, _BLOCK)
        else:
            yield raw


def place(shard: Shard, index: int) -> str:
    """Where a row of a shard stands in its file; lines before a cut are counted only now."""
    if shard.kind == ".parquet":
        return f"{shard.path}, row {shard.first + index + 1}"
    before, left = 0, shard.start
    with open_input(shard.path) as file:
        while left and (block := file.read(min(left, _BLOCK))):
            before += block.count(b"\n")
            left -= len(block)
            last = block[-1:]
    if shard.start and last != b"\n":
        before += 1  # the line that the cut went through belongs to the shard before
    head = shard.kind == ".tsv" and not shard.start
    return f"{shard.path}, line {before + index + 1 + head}"


def group_bytes(shard: Shard, digest: hashlib.blake2b) -> None:
    """Add the bytes of the row groups of a Parquet shard to a digest."""
    with open_parquet(shard.path) as file:
        about = file.metadata
        spans = []
        for group in range(shard.start, shard.stop):
            for column in range(about.num_columns):
                chunk = about.row_group(group).column(column)
                first = chunk.dictionary_page_offset or chunk.data_page_offset
                spans.append((min(first, chunk.data_page_offset), chunk.total_compressed_size))
    digest.update(repr([size for _, size in spans]).encode())
    with open_input(shard.path) as raw:
        for start, size in spans:
            raw.seek(start)
            while size > 0 and (block := raw.read(min(size, _BLOCK))):
                digest.update(block)
                size -= len(block)


# --- output ---------------------------------------------------------------------------------------


def replace(system: Any, fresh: str, target: str) -> None:
    """Put a finished file in its place in one step, whoever else may do so too."""
    try:
        if "file" in system.protocol:
            os.replace(fresh, target)
        else:
            system.mv(fresh, target)
    except FileNotFoundError:
        if not system.exists(target):
            raise


@contextmanager
def stored(path: str) -> Iterator[Path]:
    """A local file to write, which is put to the path when it is whole."""
    system, target = filesystem(path)
    local = "file" in system.protocol
    try:
        system.makedirs(system._parent(target), exist_ok=True)
        folder = os.path.dirname(target) if local else None
        with tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=folder) as home:
            fresh = Path(home) / "file"
            yield fresh
            if local:
                os.replace(fresh, target)
            else:
                system.put(str(fresh), target)
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror or error}") from None


@contextmanager
def fetched(path: str) -> Iterator[Path]:
    """A local file with what lies at the path."""
    system, inner = filesystem(path)
    if "file" in system.protocol:
        yield Path(inner)
        return
    with tempfile.TemporaryDirectory() as home, _named(path):
        system.get(inner, f"{home}/file")
        yield Path(home) / "file"
