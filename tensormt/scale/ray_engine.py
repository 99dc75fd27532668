"""Workers on a Ray cluster: an actor each, one task a shard, paths in and facts out.

Rows never pass through Ray's object store: an actor opens its shard itself and writes its output
itself, so files must lie where all nodes reach them (a shared folder, s3, …). An actor that dies
is replaced and its shard is done again. `ray.init` finds the cluster as it always does
(RAY_ADDRESS, a running cluster, else a new one on this machine).

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


class Cluster:
    """The engine of a Ray cluster; use it in a `with`. A cluster started here is stopped here."""

    def __init__(
        self, workers: int | None = None, gpus_per_worker: float = 0, address: str | None = None
    ) -> None:
        """Without `workers`: as many as the cluster has processors, or room on its GPUs."""
        self.workers = workers or 0
        self.gpus_per_worker, self.address = gpus_per_worker, address
        self._own = False

    def __enter__(self) -> Cluster:
        try:
            import ray as found
        except ImportError:
            raise TensorMTError("the engine ray needs Ray: pip install 'tensormt[ray]'") from None
        self._ray: Any = found
        ray = self._ray
        if not ray.is_initialized():
            try:
                _knock(self.address)
                ray.init(
                    address=self.address,
                    include_dashboard=False,  # of a cluster that is started here
                    log_to_driver=False,
                    logging_level="error",
                )
            except Exception as error:  # Ray raises bare ones where a node does not come up
                first = str(error).strip().partition("\n")[0]
                raise TensorMTError(
                    f"Ray cannot be reached or started ({self.address or 'no address given'}): "
                    f"{first}"
                ) from None
            self._own = True
        has = ray.cluster_resources()
        share = self.gpus_per_worker
        room = has.get("GPU", 0) / share if share else has.get("CPU", 1)
        if share and room < 1:
            self.__exit__()
            raise TensorMTError(
                f"the Ray cluster has {has.get('GPU', 0):g} GPUs, a worker asks for {share:g}: "
                "ask for fewer"
            )
        self.workers = self.workers or max(1, int(room))
        return self

    def __exit__(self, *error: object) -> None:
        if self._own:
            self._ray.shutdown()

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Do tasks, in any order; what happens, as it happens."""
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
    """A worker in an actor: takes the job as JSON when it starts."""

    def __init__(self, job: str) -> None:
        import torch

        torch.set_num_threads(1)
        self.worker = Worker(Job.of_json(job))

    def run(self, task: Task) -> Task:
        """The answer to a task."""
        return self.worker.run(task)


def _knock(address: str | None) -> None:
    """Raise OSError unless somebody listens at host:port, where Ray would try for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=10):
            pass
