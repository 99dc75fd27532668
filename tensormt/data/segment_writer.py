"""Writing of segment scores in chunks, so that an interrupted run can be resumed.

During a run, rows are appended to `OUT.part`; `OUT.state` has the number of finished segments, the
size of the part file, and the caller's state (its sums so far), and is replaced atomically after
every chunk. On resuming, the part file is truncated to that size. At the end the part file is
renamed to OUT and the state file is removed, so OUT is written completely or not at all. The state
includes a fingerprint of inputs and options.

A finished OUT is replaced only by identical results: rows are compared with it chunk by chunk, and
the run ends at the first difference, leaving OUT unchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tensormt.data.atomic_write import check_regular, open_without_links, output_path, replacing
from tensormt.errors import TensorMTError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

try:
    import fcntl
except ImportError:  # on Windows two runs on the same file are not detected
    fcntl = None  # type: ignore[assignment]

KINDS = (".jsonl", ".tsv", ".parquet")


class SegmentWriter:
    """Writes rows of (segment, system, id, doc, scores) to a .jsonl, .tsv or .parquet file.

    Args:
        path: Output file; its suffix gives the format.
        fingerprint: Hash of inputs and options.
        metrics: Names of the metrics.
        resume: Whether to continue an interrupted run.
        inputs: Files that must not be overwritten.
        ids: Whether rows have the ids of segments.

    Attributes:
        done: Number of segments written.
        kept: State that the caller passed with the last chunk; None: a new run.

    Raises:
        TensorMTError: If the file cannot be written, or the interrupted run cannot be resumed.
    """

    def __init__(
        self,
        path: str,
        fingerprint: str,
        metrics: Sequence[str],
        resume: bool,
        inputs: Sequence[str] = (),
        ids: bool = False,
    ) -> None:
        self._keys = ["segment", "system", *(["id"] if ids else []), "doc"]
        self.kind = Path(path).suffix
        if self.kind not in KINDS:
            raise TensorMTError(
                f"{path}: the name must end in one of {', '.join(KINDS)}", options="segments"
            )
        self.path, self.part, self.state, *self._fresh = (
            output_path(path, inputs, more)
            for more in ("", ".part", ".state", ".state.new", ".part.new")
        )
        for file in (self.path, self.part, self.state):
            check_regular(file)
        self.fingerprint, self.metrics = fingerprint, list(metrics)
        self.done = 0
        self.kept: dict[str, Any] | None = None
        self._file: IO[bytes] | None = None
        self._resumed = False
        self._old: Iterator[bytes] | None = None  # rows of an existing file of that name
        try:
            if self.path.exists() and self.path.stat().st_size:
                self._old = self._rows_of_old()
            self._file = self._resume() if resume else None
            if self._file is None:
                self._file = self._lock(open_without_links(self.part, "ab"))
                self.state.unlink(missing_ok=True)  # an old state must not belong to a new part
                self._file.truncate(0)
                self._file.seek(0)
                if self._header():
                    self._compare(self._header())
                self._write(self._header())
                self._save_state()
        except OSError as error:
            raise self._write_error(error) from None

    def _header(self) -> bytes:
        if self.kind != ".tsv":
            return b""
        return "\t".join([*self._keys, *self.metrics]).encode() + b"\n"

    def _resume(self) -> IO[bytes] | None:
        """The part file of an interrupted run, truncated to its last complete chunk."""
        if not (self.state.exists() and self.part.exists()):
            return None
        try:
            state = json.loads(self.state.read_text())
            check = state.pop("check")
            length, mark, done = state["bytes"], state["fingerprint"], state["done"]
            kept = state["kept"]
            if check != _check(state):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise TensorMTError(
                f"cannot resume {self.path}: {self.state} is damaged; start a new run",
                options="resume",
            ) from None
        if mark != self.fingerprint:
            raise TensorMTError(
                f"cannot resume {self.path}: inputs or options have changed since that run; "
                "use the same ones, or start a new run",
                options="resume",
            )
        file = self._lock(open_without_links(self.part, "r+b"))
        if self.part.stat().st_size < length:
            raise TensorMTError(
                f"cannot resume {self.path}: {self.part} was truncated; start a new run",
                options="resume",
            )
        self.done, self.kept, self._resumed = done, kept, True
        file.truncate(length)
        file.seek(0)
        for line in file:
            self._compare(line)
        file.seek(0, os.SEEK_END)
        return file

    def _rows_of_old(self) -> Iterator[bytes]:
        """The rows of the existing file, as they were in its part file."""
        if self.kind != ".parquet":
            with self.path.open("rb") as lines:
                yield from lines
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        from tensormt.data.row_text import to_bytes

        try:
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches():
                    found = batch.to_pydict()
                    docs = None if None in found["doc"] else found["doc"]
                    scores = [found[spec] for spec in self.metrics]
                    ids = found["id"] if "id" in self._keys else None
                    rows = self._rows(found["segment"], found["system"], ids, docs, scores)
                    yield from to_bytes(rows).splitlines(keepends=True)
        except (pa.ArrowException, KeyError, TypeError, ValueError):
            yield b"not a file of this package"

    def _compare(self, line: bytes | None) -> None:
        """Raise if the next line of an existing file differs; None: it must have no more lines."""
        if self._old is not None and next(self._old, None) != line:
            if self._file is not None:
                self._file.close()
            if not self._resumed:  # the files of an interrupted run are kept
                self.part.unlink(missing_ok=True)
                self.state.unlink(missing_ok=True)
            raise TensorMTError(
                f"{self.path} contains the result of another run: remove it or choose another file"
            )

    def _lock(self, file: IO[bytes]) -> IO[bytes]:
        """Lock the part file against other runs."""
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TensorMTError(
                    f"another run is writing {self.path}: choose another file"
                ) from None
        return file

    def add(
        self,
        start: int,
        docs: Sequence[str] | None,
        scores: Mapping[str, Mapping[str, NDArray[np.float64]]],
        keep: dict[str, Any],
        ids: Sequence[Any] | None = None,
    ) -> None:
        """Write one chunk.

        Args:
            start: Position of the first segment.
            docs: Document ids of the segments; None: there are none.
            scores: Segment scores by system and metric, float64 [n].
            keep: State of the caller after this chunk, as JSON.
            ids: Ids of the segments, if rows have them.

        Raises:
            TensorMTError: If the file cannot be written, or an existing one differs.
        """
        from tensormt.data.row_text import join_columns, to_bytes

        systems = {name: [found[spec] for spec in self.metrics] for name, found in scores.items()}
        count = len(next(iter(systems.values()))[0])
        numbers = range(start + 1, start + 1 + count)
        own = None if ids is None else ["" if key is None else str(key) for key in ids]
        columns = [self._rows(numbers, name, own, docs, found) for name, found in systems.items()]
        text = to_bytes(join_columns(*columns))
        try:
            for row in text.splitlines(keepends=True) if self._old is not None else ():
                self._compare(row)
            self._write(text)
            self.done, self.kept = start + count, keep
            self._save_state()
        except OSError as error:
            raise self._write_error(error) from None

    def _rows(
        self,
        segments: Sequence[int],
        system: str | Sequence[str],
        ids: Sequence[str] | None,
        docs: Sequence[str] | None,
        scores: Sequence[ArrayLike],
    ) -> pa.Array:
        """Rows as text; `system` is one name, or one for each row."""
        from tensormt.data.row_text import integer_column, join_columns, number_column, text_column

        table = self.kind == ".tsv"
        write: Callable[[str], str] = _flat if table else _quoted
        systems = (
            write(system) if isinstance(system, str) else text_column(list(map(write, system)))
        )
        cells = [integer_column(segments), systems]
        cells += [text_column(list(map(write, ids)))] if ids is not None else []
        cells += [text_column(list(map(write, docs)))] if docs is not None else [""] * table
        # infinities and NaN are written as in JSON
        cells += [number_column(column, repr if table else json.dumps) for column in scores]
        if table:
            before = ["", *("\t" for _ in cells[1:])]
        else:
            names = [name for name in self._keys if name != "doc" or docs is not None]
            names += self.metrics
            before = [f", {_quoted(name)}: " for name in names]
            before[0] = "{" + before[0][2:]
        end = "\n" if table else "}\n"
        return join_columns(*chain(*zip(before, cells, strict=True)), end)

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        self._file.write(data)
        self._file.flush()

    def _save_state(self) -> None:
        """Replace the state file atomically."""
        assert self._file is not None
        state = {
            "fingerprint": self.fingerprint,
            "done": self.done,
            "bytes": self._file.tell(),
            "kept": self.kept,
        }
        with replacing(self.state, self._fresh[0]) as file:
            file.write(json.dumps({**state, "check": _check(state)}).encode())

    def finish(self) -> None:
        """Rename the part file to the output file.

        Raises:
            TensorMTError: If it cannot be written, or an existing file has more rows.
        """
        assert self._file is not None
        self._compare(None)
        try:
            self._file.close()
            if self.kind == ".parquet":
                with replacing(self.path, self._fresh[1]) as file:
                    self._write_parquet(file)
                self.part.unlink()
            else:
                self.part.replace(self.path)
            self.state.unlink()
        except OSError as error:
            raise self._write_error(error) from None

    def _write_parquet(self, file: IO[bytes]) -> None:
        """Convert the part file to Parquet, block by block."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        form = pa.schema(
            [(key, pa.int64() if key == "segment" else pa.string()) for key in self._keys]
            + [(spec, pa.float64()) for spec in self.metrics]
        )
        with pq.ParquetWriter(file, form) as writer, self.part.open("rb") as lines:
            while block := lines.readlines(1 << 24):
                rows = [json.loads(line) for line in block]
                writer.write_table(pa.Table.from_pylist(rows, form))

    def _write_error(self, error: OSError) -> TensorMTError:
        kept = f"; {self.done} segments are saved, the run can be resumed" if self.done else ""
        return TensorMTError(
            f"{self.path} cannot be written: {error.strerror}{kept}",
            options="resume" if self.done else "",
        )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _flat(cell: str) -> str:
    """A cell of a table: one line, without tabs."""
    return " ".join(cell.split())


def _check(state: Mapping[str, Any]) -> str:
    """A checksum of a state, to detect damage."""
    data = json.dumps(state, sort_keys=True).encode()
    return hashlib.blake2b(data, digest_size=16).hexdigest()
