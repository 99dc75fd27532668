"""Workers on this machine: a fresh process each, one thread each, spoken to through pipes.

One worker is this process itself. More are programs of their own (nothing of this process is
copied, so neither CUDA nor threads are in the way, and a script needs no `if __name__` guard). A
worker that dies is started again, and its shard is done again; one that dies on the same shard
three times ends the run.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

import tensormt
from tensormt.errors import TensorMTError
from tensormt.scale.job import Job
from tensormt.scale.worker import Task, Worker

ATTEMPTS = 3
Event = tuple[int, Task]  # number of the task; {"rows": new ones} or {"done": answer}


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Local:
    """The engine of this machine; use it in a `with`."""

    def __init__(self, workers: int | None = None, gpus_per_worker: float = 0) -> None:
        self.workers = workers or processors()
        self.gpus_per_worker = gpus_per_worker

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Do tasks, in any order; what happens, as it happens."""
        if self.workers == 1:
            yield from _here(job, tasks)
            return
        pool = _Pool(job, tasks, min(self.workers, len(tasks)), self.gpus_per_worker)
        try:
            yield from pool.events()
        finally:
            pool.stop()


def _here(job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
    """Do tasks in this process, on one thread."""
    threads = torch.get_num_threads()
    worker = Worker(job)
    for number, task in enumerate(tasks):
        rows: list[int] = []
        torch.set_num_threads(1)
        try:
            answer = worker.run(task, rows.append)
        finally:
            torch.set_num_threads(threads)
        yield from ((number, {"rows": count}) for count in rows)
        yield number, {"done": answer}


def gpus_of(worker: int, share: float, visible: str | None, count: int) -> str:
    """The CUDA devices of a worker: so many each, or one for several where the share is below 1."""
    names = visible.split(",") if visible else [str(k) for k in range(count)]
    if not names:
        raise TensorMTError("no CUDA device is available here: leave gpus per worker at 0")
    if share >= 1:
        some = range(worker * int(share), (worker + 1) * int(share))
        return ",".join(names[k % len(names)] for k in some)
    return names[int(worker * share) % len(names)]


class _Pool:
    """Threads, each with a worker process; tasks from one queue, events to another."""

    def __init__(self, job: Job, tasks: Sequence[Task], workers: int, share: float) -> None:
        self.job, self.share, self.left = job, share, len(tasks)
        self.tasks: queue.Queue[tuple[int, Task, int]] = queue.Queue()
        self.seen: queue.Queue[Event | Exception] = queue.Queue()
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.stopped = False
        for number, task in enumerate(tasks):
            self.tasks.put((number, task, 1))
        for worker in range(workers):
            threading.Thread(target=self._serve, args=(worker,), daemon=True).start()

    def events(self) -> Iterator[Event]:
        """What the workers say, until all tasks are done."""
        while self.left:
            event = self.seen.get()
            if isinstance(event, Exception):
                raise event
            self.left -= "done" in event[1]
            yield event

    def stop(self) -> None:
        """End the workers."""
        self.stopped = True
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait()

    def _start(self, worker: int) -> subprocess.Popen[str]:
        root = str(Path(tensormt.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        new = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        if self.share:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            count = 0 if visible else torch.cuda.device_count()
            new["CUDA_VISIBLE_DEVICES"] = gpus_of(worker, self.share, visible, count)
        process = subprocess.Popen(
            [sys.executable, "-c", "from tensormt.scale.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=new,
            start_new_session=True,  # Ctrl-C is for the driver, which ends its workers
        )
        self.processes[worker] = process
        return process

    def _serve(self, worker: int) -> None:
        """The thread of a worker: hand it tasks, pass on what it says."""
        try:
            process = None
            while not self.stopped:
                try:
                    number, task, attempt = self.tasks.get(timeout=0.1)
                except queue.Empty:
                    continue
                if process is None or process.poll() is not None:
                    process = self._start(worker)
                    _send(process, self.job.to_json())
                if not self._do(process, number, task):
                    status = process.wait()
                    if self.stopped:
                        return
                    if attempt == ATTEMPTS:
                        raise TensorMTError(_died(status, task))
                    self.tasks.put((number, task, attempt + 1))
        except Exception as error:  # the main thread raises it
            self.seen.put(error)

    def _do(self, process: subprocess.Popen[str], number: int, task: Task) -> bool:
        """Whether the worker lived to do the task."""
        _send(process, json.dumps(task))
        assert process.stdout is not None
        rows = 0
        for line in process.stdout:
            try:
                said: dict[str, Any] = json.loads(line)
            except ValueError:
                break  # killed while it spoke
            rows += said.get("rows", 0)
            if "ready" not in said:
                self.seen.put((number, said))
            if "done" in said:
                return True
        self.seen.put((number, {"rows": -rows}))
        return False


def _send(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # its standard output ends too, which is where it is noticed


def _died(status: int, task: Task) -> str:
    why = f"status {status}"
    if status < 0:
        why = f"signal {signal.Signals(-status).name}"
    return (
        f"a worker died {ATTEMPTS} times on {task['shard'][1]} of {task['shard'][2]} ({why}): "
        "is there enough memory? try fewer workers or a smaller chunk"
    )
