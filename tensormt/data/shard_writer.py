"""Segment scores of one shard in one file, there whole or not at all.

Rows go to a temporary name beside the target, which takes its place in one step at the end. A
Parquet file carries facts (summed statistics, counts, signatures) in its own footer; a JSONL file
has them beside it in `NAME.jsonl.footer`, which is put in place first.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from tensormt.data.fsspec_io import filesystem, open_input, replace
from tensormt.errors import TensorMTError

SUFFIXES = {"parquet": ".parquet", "jsonl": ".jsonl"}
_KEY = b"tensormt"
_ROWS = 1 << 16  # held before they are written as one row group


class ScoreFile:
    """Writes columns of scores to a .parquet or .jsonl file; use it in a `with`, then `finish`."""

    def __init__(self, path: str, fields: Mapping[str, str]) -> None:
        """`fields`: names and types (string, int64, double) of the columns."""
        self.path, self.fields = path, dict(fields)
        self.system, self.target = filesystem(path)
        self._fresh = _fresh(self.target)
        self._held: dict[str, list[Any]] = {name: [] for name in fields}
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
        """Write some rows, a list for each field; None is null."""
        for name, values in columns.items():
            self._held[name] += values
        if len(next(iter(self._held.values()))) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        with _writing(self.path):
            if self._writer is not None:
                import pyarrow as pa

                self._writer.write_table(pa.table(self._held, self._writer.schema))
            else:
                rows = zip(*self._held.values(), strict=True)
                names = list(self._held)
                text = "".join(
                    json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n"
                    for row in rows
                )
                self._file.write(text.encode())
        self._held = {name: [] for name in self.fields}

    def finish(self, footer: Mapping[str, Any]) -> None:
        """Write the facts and put the file in its place."""
        self._flush()
        with _writing(self.path):
            if self._writer is not None:
                self._writer.add_key_value_metadata({_KEY: json.dumps(footer)})
                self._writer.close()
            else:
                with suppress(FileNotFoundError):
                    self.system.rm(self.target)  # old scores must not meet new facts
                write_json(f"{self.path}.footer", footer)
            self._file.close()
            replace(self.system, self._fresh, self.target)

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            # the writer first: left open, it would complain about a closed file later
            for part in filter(None, (self._writer, self._file)):
                with suppress(Exception):
                    part.close()
            with suppress(Exception):
                self.system.rm(self._fresh)


def _fresh(target: str) -> str:
    """A temporary name beside the target, different for every writer."""
    folder, _, name = target.rpartition("/")
    return f"{folder}/.{name}.{uuid.uuid4().hex[:8]}.tmp"


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror or error}") from None


def read_footer(path: str) -> dict[str, Any] | None:
    """The facts of a finished file; None where there is no file yet."""
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
            f"{path} was not written by score-files: name another folder, or remove the file"
        )
    return footer


def read_columns(path: str) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The columns of a finished .parquet file, and its facts."""
    import pyarrow.parquet as pq

    footer = read_footer(path)
    if footer is None:
        raise TensorMTError(f"{path} is gone: the same command writes it again")
    with open_input(path) as file:
        return pq.read_table(file).to_pydict(), footer


def read_json(path: str) -> Any:
    """What a small JSON file holds."""
    with open_input(path) as file:
        try:
            return json.loads(file.read())
        except ValueError:
            raise TensorMTError(f"{path} is damaged: not JSON") from None


def write_json(path: str, data: Any) -> None:
    """A small JSON file, written in one step."""
    system, target = filesystem(path)
    fresh = _fresh(target)
    with _writing(path):
        with system.open(fresh, "wb") as file:
            file.write((json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())
        replace(system, fresh, target)


def sweep(folder: str) -> None:
    """Remove what killed workers left under temporary names, once nothing is missing any more."""
    system, inner = filesystem(folder)
    for path in system.ls(inner, detail=False):
        name = os.path.basename(path)
        if name.startswith(".") and name.endswith(".tmp"):
            with suppress(OSError):
                system.rm(path)
