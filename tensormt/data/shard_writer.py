"""Writing of the segment scores of one shard to one file, completely or not at all.

Rows are written to a temporary file next to the target, which is renamed at the end. Metadata
(summed statistics, counts, signatures) are stored in the footer of a Parquet file, and for JSONL in
a separate file `NAME.jsonl.footer`, which is written first.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from tensormt.data.fsspec_io import filesystem, move_into_place, open_input
from tensormt.errors import TensorMTError

SUFFIXES = {"parquet": ".parquet", "jsonl": ".jsonl"}
_KEY = b"tensormt"
_GROUP_ROWS = 1 << 16  # rows per row group


class ScoreFile:
    """Context manager that writes columns of scores to a .parquet or .jsonl file; call `finish`.

    Args:
        path: Output file.
        fields: Types of the columns by name: string, int64 or double.
        group_rows: Rows that are buffered and written as one row group.

    Raises:
        TensorMTError: If the file cannot be written.

    >>> with ScoreFile("memory://scores.jsonl", {"bleu": "double"}) as file:
    ...     file.add({"bleu": [0.5, None]})
    ...     file.finish({"rows": 2})
    >>> read_footer("memory://scores.jsonl")
    {'rows': 2}
    """

    def __init__(
        self, path: str, fields: Mapping[str, str], *, group_rows: int = _GROUP_ROWS
    ) -> None:
        self.path, self.fields, self._group_rows = path, dict(fields), group_rows
        self.system, self.target = filesystem(path)
        self._fresh = _fresh(self.target)
        self._buffer: dict[str, list[Any]] = {name: [] for name in fields}
        self._writer: Any = None
        with _writing(path):
            self._file = self.system.open(self._fresh, "wb")
            if path.endswith(".parquet"):
                self._open_parquet()

    def _open_parquet(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in self.fields.items()])
        self._writer = pq.ParquetWriter(self._file, schema)

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write rows, given as a list per column; None is null."""
        for name, values in columns.items():
            self._buffer[name] += values
        if len(next(iter(self._buffer.values()))) >= self._group_rows:
            self._flush()

    def _flush(self) -> None:
        with _writing(self.path):
            if self._writer is not None:
                import pyarrow as pa

                self._writer.write_table(pa.table(self._buffer, self._writer.schema))
            else:
                rows = zip(*self._buffer.values(), strict=True)
                names = list(self._buffer)
                text = "".join(
                    json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n"
                    for row in rows
                )
                self._file.write(text.encode())
        self._buffer = {name: [] for name in self.fields}

    def finish(self, footer: Mapping[str, Any]) -> None:
        """Write the metadata and rename the file to its final name."""
        self._flush()
        with _writing(self.path):
            if self._writer is not None:
                self._writer.add_key_value_metadata({_KEY: json.dumps(footer)})
                self._writer.close()
            else:
                with suppress(FileNotFoundError):
                    self.system.rm(self.target)  # old scores must not be paired with a new footer
                write_json(f"{self.path}.footer", footer)
            self._file.close()
            move_into_place(self.system, self._fresh, self.target)

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            # the writer first: left open, it would raise when the file is closed
            for part in filter(None, (self._writer, self._file)):
                with suppress(Exception):
                    part.close()
            with suppress(Exception):
                self.system.rm(self._fresh)


def _fresh(target: str) -> str:
    """A temporary name next to the target, unique for every writer."""
    folder, _, name = target.rpartition("/")
    return f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror or error}") from None


def read_footer(path: str) -> dict[str, Any] | None:
    """Read the metadata of a finished file.

    Returns:
        The metadata; None: there is no file.

    Raises:
        TensorMTError: If the file was not written by `ScoreFile`.
    """
    system, inner = filesystem(path)
    if not system.exists(inner):
        return None
    footer: Any = None
    if path.endswith(".jsonl"):
        with suppress(TensorMTError):
            footer = read_json(f"{path}.footer")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with suppress(OSError, ValueError, pa.ArrowInvalid), open_input(path) as file:
            footer = json.loads((pq.read_metadata(file).metadata or {}).get(_KEY, b"null"))
    if not isinstance(footer, dict):
        raise TensorMTError(
            f"{path} was not written by score-files: choose another folder, or remove the file"
        )
    return footer


def read_columns(path: str) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Read the columns of a finished .parquet file, and its metadata."""
    import pyarrow.parquet as pq

    footer = read_footer(path)
    if footer is None:
        raise TensorMTError(f"{path} is missing: run the same command again to write it")
    with open_input(path) as file:
        return pq.read_table(file).to_pydict(), footer


def read_json(path: str) -> Any:
    """Read a small JSON file."""
    with open_input(path) as file:
        try:
            return json.loads(file.read())
        except ValueError:
            raise TensorMTError(f"{path} is damaged: not JSON") from None


def write_json(path: str, data: Any) -> None:
    """Write a small JSON file atomically."""
    system, target = filesystem(path)
    fresh = _fresh(target)
    with _writing(path):
        with system.open(fresh, "wb") as file:
            file.write((json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())
        move_into_place(system, fresh, target)


def remove_temporary_files(folder: str) -> None:
    """Remove temporary files that killed workers left in a folder."""
    system, inner = filesystem(folder)
    for path in system.ls(inner, detail=False):
        name = os.path.basename(path)
        if name.startswith(".") and name.endswith(".tmp"):
            with suppress(OSError):
                system.rm(path)
