"""Workers on a Ray cluster: one actor each, one task per shard.

Actors read their shards and write their outputs themselves, so rows do not pass through Ray's
object store, and all nodes must reach the files (a shared folder, s3, …). An actor that dies is
replaced and its shard is scored again. `ray.init` finds the cluster as usual (RAY_ADDRESS, a
running cluster, or else a new one on this machine).

This is the only module that imports Ray.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.scale.job import Job
from tensormt.scale.process_engine import ATTEMPTS, Event
from tensormt.scale.worker import Task, Worker


class RayEngine:
    """Context manager: runs tasks in actors of a Ray cluster; stops a cluster that it started.

    Args:
        workers: Number of actors; None: as many as the CPUs or GPUs of the cluster allow.
        gpus_per_worker: GPUs of an actor.
        address: Address of the cluster; None: that of `ray.init`.

    Raises:
        TensorMTError: If Ray is not installed or reachable, or has too few GPUs.
    """

    def __init__(
        self, workers: int | None = None, gpus_per_worker: float = 0, address: str | None = None
    ) -> None:
        self.workers = workers or 0
        self.gpus_per_worker, self.address = gpus_per_worker, address
        self._own = False

    def __enter__(self) -> RayEngine:
        try:
            import ray as found
        except ImportError:
            raise TensorMTError("the engine ray needs Ray: pip install 'tensormt[ray]'") from None
        self._ray: Any = found
        ray = self._ray
        if not ray.is_initialized():
            try:
                _check_reachable(self.address)
                ray.init(
                    address=self.address,
                    include_dashboard=False,  # if a cluster is started
                    log_to_driver=False,
                    logging_level="error",
                )
            except Exception as error:  # Ray raises plain Exception if a node does not start
                first = str(error).strip().partition("\n")[0]
                raise TensorMTError(
                    f"Ray cannot be reached or started ({self.address or 'no address given'}): "
                    f"{first}"
                ) from None
            self._own = True
        has = ray.cluster_resources()
        share = self.gpus_per_worker
        capacity = has.get("GPU", 0) / share if share else has.get("CPU", 1)
        if share and capacity < 1:
            self.__exit__()
            raise TensorMTError(
                f"the Ray cluster has {has.get('GPU', 0):g} GPUs, a worker needs {share:g}: "
                "request fewer"
            )
        self.workers = self.workers or max(1, int(capacity))
        return self

    def __exit__(self, *error: object) -> None:
        if self._own:
            self._ray.shutdown()

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Do tasks in any order; iterate over progress and answers as they arrive."""
        ray = self._ray
        actor = ray.remote(num_cpus=1, num_gpus=self.gpus_per_worker)(_Actor)
        waiting = [(number, 1) for number in reversed(range(len(tasks)))]
        idle = [actor.remote(job.to_json()) for _ in range(min(self.workers, len(tasks)))]
        running: dict[Any, tuple[int, int, Any]] = {}  # result → task, attempt, actor
        try:
            while waiting or running:
                while waiting and idle:
                    number, attempt = waiting.pop()
                    worker = idle.pop()
                    running[worker.run.remote(tasks[number])] = number, attempt, worker
                (result, *_), _ = ray.wait(list(running))
                number, attempt, worker = running.pop(result)
                try:
                    answer = ray.get(result)
                except ray.exceptions.RayActorError as error:
                    if attempt == ATTEMPTS:
                        raise TensorMTError(_died(tasks[number], error)) from None
                    waiting.append((number, attempt + 1))
                    worker = actor.remote(job.to_json())
                else:
                    yield number, {"rows": answer.get("rows", 0)}
                    yield number, {"done": answer}
                idle.append(worker)
        finally:
            for worker in [*idle, *(worker for *_, worker in running.values())]:
                ray.kill(worker)


def _died(task: Task, error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"a worker died {ATTEMPTS} times on {task['shard'][1]} of {task['shard'][2]}: {first}"


class _Actor:
    """A worker in an actor; the job is passed as JSON."""

    def __init__(self, job: str) -> None:
        import torch

        torch.set_num_threads(1)
        self.worker = Worker(Job.from_json(job))

    def run(self, task: Task) -> Task:
        """Do a task and return its answer."""
        return self.worker.run(task)


def _check_reachable(address: str | None) -> None:
    """Raise OSError if nothing listens at host:port, since Ray would retry for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=10):
            pass
