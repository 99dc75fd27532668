"""Workers on this machine: processes of one thread each, which communicate through pipes.

A single worker runs in this process. Several workers are started as new programs: nothing is
forked, so CUDA and threads are safe, and scripts need no `if __name__` guard. A worker that dies is
restarted and its shard is scored again; the run ends if this happens three times with one shard.
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


def available_cpus() -> int:
    """Return the number of CPUs that this process may use.

    >>> available_cpus() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessEngine:
    """Context manager: runs tasks in processes of this machine.

    Args:
        workers: Number of workers; None: one per CPU.
        gpus_per_worker: GPUs of a worker; a fraction lets workers share one.
    """

    def __init__(self, workers: int | None = None, gpus_per_worker: float = 0) -> None:
        self.workers = workers or available_cpus()
        self.gpus_per_worker = gpus_per_worker

    def __enter__(self) -> ProcessEngine:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Do tasks in any order; iterate over progress and answers as they arrive."""
        if self.workers == 1:
            yield from _run_here(job, tasks)
            return
        pool = _Pool(job, tasks, min(self.workers, len(tasks)), self.gpus_per_worker)
        try:
            yield from pool.events()
        finally:
            pool.stop()


def _run_here(job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
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


def worker_gpus(worker: int, share: float, visible: str | None, count: int) -> str:
    """Return CUDA_VISIBLE_DEVICES of a worker.

    Args:
        worker: Number of the worker, from 0.
        share: GPUs per worker; below 1: several workers share a GPU.
        visible: CUDA_VISIBLE_DEVICES of this process; None: all devices.
        count: Number of devices, if `visible` is None.

    Raises:
        TensorMTError: If there is no device.

    >>> worker_gpus(1, 2, None, 4), worker_gpus(1, 0.5, None, 4)
    ('2,3', '0')
    """
    names = visible.split(",") if visible else [str(k) for k in range(count)]
    if not names:
        raise TensorMTError("no CUDA device is available: set gpus per worker to 0")
    if share >= 1:
        some = range(worker * int(share), (worker + 1) * int(share))
        return ",".join(names[k % len(names)] for k in some)
    return names[int(worker * share) % len(names)]


class _Pool:
    """Threads with a worker process each; tasks come from one queue, events go to another."""

    def __init__(self, job: Job, tasks: Sequence[Task], workers: int, share: float) -> None:
        self.job, self.share, self.left = job, share, len(tasks)
        self.tasks: queue.Queue[tuple[int, Task, int]] = queue.Queue()
        self.received: queue.Queue[Event | Exception] = queue.Queue()
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.stopped = False
        for number, task in enumerate(tasks):
            self.tasks.put((number, task, 1))
        for worker in range(workers):
            threading.Thread(target=self._serve, args=(worker,), daemon=True).start()

    def events(self) -> Iterator[Event]:
        """Iterate over the events of the workers until all tasks are done."""
        while self.left:
            event = self.received.get()
            if isinstance(event, Exception):
                raise event
            self.left -= "done" in event[1]
            yield event

    def stop(self) -> None:
        """Terminate the workers."""
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
            new["CUDA_VISIBLE_DEVICES"] = worker_gpus(worker, self.share, visible, count)
        process = subprocess.Popen(
            [sys.executable, "-c", "from tensormt.scale.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=new,
            start_new_session=True,  # Ctrl-C reaches the driver only, which terminates its workers
        )
        self.processes[worker] = process
        return process

    def _serve(self, worker: int) -> None:
        """The thread of a worker: send tasks to it and forward its messages."""
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
        except Exception as error:  # raised again in the main thread
            self.received.put(error)

    def _do(self, process: subprocess.Popen[str], number: int, task: Task) -> bool:
        """Send a task and forward messages; returns whether the worker completed it."""
        _send(process, json.dumps(task))
        assert process.stdout is not None
        rows = 0
        for line in process.stdout:
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:
                break  # killed while it wrote
            rows += message.get("rows", 0)
            if "ready" not in message:
                self.received.put((number, message))
            if "done" in message:
                return True
        self.received.put((number, {"rows": -rows}))
        return False


def _send(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # the end of its standard output shows that it died


def _died(status: int, task: Task) -> str:
    why = f"status {status}"
    if status < 0:
        why = f"signal {signal.Signals(-status).name}"
    return (
        f"a worker died {ATTEMPTS} times on {task['shard'][1]} of {task['shard'][2]} ({why}): "
        "check the available memory, and try fewer workers or a smaller chunk"
    )
