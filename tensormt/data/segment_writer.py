"""Segment scores to a file, in whole chunks, so that a killed run can go on.

While a run lasts, rows go to `OUT.part`, and `OUT.state` says how many segments are done, how long
the part file then was, and what the caller keeps (its sums so far); it is replaced in one step
after every chunk. To go on, the part file is cut to that length. At the end the part becomes OUT
and the state goes away: OUT is there whole or not at all. The state carries a fingerprint of inputs
and options.

A finished OUT is replaced only by the same run: what is written is compared with it chunk by chunk,
and at the first row that differs the run ends with OUT as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tensormt.data.atomic_write import check_regular, output_path
from tensormt.errors import TensorMTError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

try:
    import fcntl
except ImportError:  # not on Windows, where two runs on one file are not kept apart
    fcntl = None  # type: ignore[assignment]

KINDS = (".jsonl", ".tsv", ".parquet")
_FRESH = (".state.new", ".part.new")


class SegmentWriter:
    """Writes rows of (segment, system, doc, scores) to a .jsonl, .tsv or .parquet file."""

    def __init__(
        self,
        path: str,
        fingerprint: str,
        metrics: Sequence[str],
        resume: bool,
        inputs: Sequence[str] = (),
    ) -> None:
        self.kind = Path(path).suffix
        if self.kind not in KINDS:
            raise TensorMTError(
                f"{path}: the name must end in {', '.join(KINDS)}", options="segments"
            )
        self.path, self.part, self.state, *_ = (
            output_path(path, inputs, more) for more in ("", ".part", ".state", *_FRESH)
        )
        for file in (self.path, self.part, self.state):
            check_regular(file)
        self.fingerprint, self.metrics = fingerprint, list(metrics)
        self.done = 0
        self.kept: dict[str, Any] | None = None  # what the run had kept when it was stopped
        self._file: IO[bytes] | None = None
        self._resumed = False  # a stopped run goes on
        self._old: Iterator[bytes] | None = None  # the rows of a finished result of that name
        try:
            if self.path.exists() and self.path.stat().st_size:
                self._old = self._rows_of_old()
            self._file = self._go_on() if resume else None
            if self._file is None:
                self._file = self._lock(self.part.open("ab"))
                self.state.unlink(missing_ok=True)  # an old state must not meet a new part
                self._file.truncate(0)
                self._file.seek(0)
                if self._head():
                    self._agree(self._head())
                self._write(self._head())
                self._mark()
        except OSError as error:
            raise self._trouble(error) from None

    def _head(self) -> bytes:
        if self.kind != ".tsv":
            return b""
        return "\t".join(["segment", "system", "doc", *self.metrics]).encode() + b"\n"

    def _go_on(self) -> IO[bytes] | None:
        """The part file of a run that was stopped, cut to its last whole chunk."""
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
                f"cannot resume {self.path}: {self.state} is damaged; start anew",
                options="resume",
            ) from None
        if mark != self.fingerprint:
            raise TensorMTError(
                f"cannot resume {self.path}: inputs or options have changed since that run; "
                "use the same ones, or start anew",
                options="resume",
            )
        file = self._lock(self.part.open("r+b"))
        if self.part.stat().st_size < length:
            raise TensorMTError(
                f"cannot resume {self.path}: {self.part} is shorter than it was; start anew",
                options="resume",
            )
        self.done, self.kept, self._resumed = done, kept, True
        file.truncate(length)
        file.seek(0)
        for line in file:
            self._agree(line)
        file.seek(0, os.SEEK_END)
        return file

    def _rows_of_old(self) -> Iterator[bytes]:
        """The lines of the finished file, as they stood in its part file."""
        if self.kind != ".parquet":
            with self.path.open("rb") as lines:
                yield from lines
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        from tensormt.data.row_text import text_of

        try:
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches():
                    found = batch.to_pydict()
                    docs = None if None in found["doc"] else found["doc"]
                    scores = [found[spec] for spec in self.metrics]
                    rows = self._rows(found["segment"], found["system"], docs, scores)
                    yield from text_of(rows).splitlines(keepends=True)
        except (pa.ArrowException, KeyError, TypeError, ValueError):
            yield b"something else"

    def _agree(self, line: bytes | None) -> None:
        """Raise where a finished file of that name has another line next; None: it has no more."""
        if self._old is not None and next(self._old, None) != line:
            if self._file is not None:
                self._file.close()
            if not self._resumed:  # what a stopped run had kept stays
                self.part.unlink(missing_ok=True)
                self.state.unlink(missing_ok=True)
            raise TensorMTError(
                f"{self.path} holds the result of another run: remove it or name another file"
            )

    def _lock(self, file: IO[bytes]) -> IO[bytes]:
        """Keep other runs from the part file for as long as this one lasts."""
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TensorMTError(
                    f"another run is writing {self.path}: name another file"
                ) from None
        return file

    def add(
        self,
        start: int,
        docs: Sequence[str] | None,
        scores: Mapping[str, Mapping[str, NDArray[np.float64]]],
        keep: dict[str, Any],
    ) -> None:
        """Write one chunk: scores by system and metric, and what to keep after it."""
        from tensormt.data.row_text import joined, text_of

        systems = {name: [found[spec] for spec in self.metrics] for name, found in scores.items()}
        count = len(next(iter(systems.values()))[0])
        numbers = range(start + 1, start + 1 + count)
        columns = [self._rows(numbers, name, docs, found) for name, found in systems.items()]
        text = text_of(joined(*columns))
        try:
            for row in text.splitlines(keepends=True) if self._old is not None else ():
                self._agree(row)
            self._write(text)
            self.done, self.kept = start + count, keep
            self._mark()
        except OSError as error:
            raise self._trouble(error) from None

    def _rows(
        self,
        segments: Sequence[int],
        system: str | Sequence[str],
        docs: Sequence[str] | None,
        scores: Sequence[ArrayLike],
    ) -> pa.Array:
        """Rows of one system, or of one for each row, as text."""
        from tensormt.data.row_text import counted, joined, numerals, strings

        table = self.kind == ".tsv"
        write: Callable[[str], str] = _flat if table else _quoted
        systems = write(system) if isinstance(system, str) else strings(list(map(write, system)))
        cells = [counted(segments), systems]
        cells += [strings(list(map(write, docs)))] if docs is not None else [""] * table
        # what is not a finite number is written as JSON has it
        cells += [numerals(column, repr if table else json.dumps) for column in scores]
        if table:
            before = ["", *("\t" for _ in cells[1:])]
        else:
            names = ["segment", "system", *(["doc"] if docs is not None else []), *self.metrics]
            before = [f", {_quoted(name)}: " for name in names]
            before[0] = "{" + before[0][2:]
        end = "\n" if table else "}\n"
        return joined(*chain(*zip(before, cells, strict=True)), end)

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        self._file.write(data)
        self._file.flush()

    def _mark(self) -> None:
        """Say how far we are, in one step."""
        assert self._file is not None
        state = {
            "fingerprint": self.fingerprint,
            "done": self.done,
            "bytes": self._file.tell(),
            "kept": self.kept,
        }
        fresh = self.state.with_name(self.state.name + ".new")
        fresh.write_text(json.dumps({**state, "check": _check(state)}))
        fresh.replace(self.state)

    def finish(self) -> None:
        """Put the file in its place."""
        assert self._file is not None
        self._agree(None)
        try:
            self._file.close()
            if self.kind == ".parquet":
                self._to_parquet().replace(self.path)
                self.part.unlink()
            else:
                self.part.replace(self.path)
            self.state.unlink()
        except OSError as error:
            raise self._trouble(error) from None

    def _to_parquet(self) -> Path:
        """A new file with the rows of the part file as columns, made a block at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        fresh = self.part.with_name(self.part.name + ".new")
        form = pa.schema(
            [("segment", pa.int64()), ("system", pa.string()), ("doc", pa.string())]
            + [(spec, pa.float64()) for spec in self.metrics]
        )
        with pq.ParquetWriter(fresh, form) as writer, self.part.open("rb") as lines:
            while block := lines.readlines(1 << 24):
                rows = [json.loads(line) for line in block]
                writer.write_table(pa.Table.from_pylist(rows, form))
        return fresh

    def _trouble(self, error: OSError) -> TensorMTError:
        kept = f"; {self.done} segments are kept and can be resumed" if self.done else ""
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
    """A hash of a state, by which a damaged one is found out."""
    data = json.dumps(state, sort_keys=True).encode()
    return hashlib.blake2b(data, digest_size=16).hexdigest()
