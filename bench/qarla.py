"""All metric sets at once against one set at a time in numpy.

    python bench/qarla.py [--cases 100 --models 11 --peers 16 --metrics 10] [--sample N] [--json]

QUEEN of every peer, KING (leave-one-out) and JACK with each of the 2^X - 1 metric sets. The peer
is numpy, vectorised over cases, peers and triples, called for one set after the other; a second
figure lets it keep the outcome of every single metric's comparisons between the calls, so that a
set costs it conjunctions only. Its results are compared with ours, set by set, before a time is
printed. `--sample N` runs N random sets and scales the time to all of them. One thread.
"""

import argparse
import json
import os
from collections.abc import Callable
from functools import cached_property

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from fair import in_turn

from tensormt import qarla


class OneSetAtATime:
    """QUEEN, KING and JACK of metric sets in numpy, as one would write them with masks."""

    def __init__(self, am: np.ndarray, mm: np.ndarray, aa: np.ndarray) -> None:
        self.am, self.mm, self.aa = am, mm, aa
        self.metrics = range(am.shape[-1])
        self.first, self.second = np.nonzero(~np.eye(mm.shape[1], dtype=bool))

    def _passes(self, candidates: np.ndarray) -> np.ndarray:
        """[X,T,C,M,P]: does candidate c pass the triple (m, pair) with metric x?"""
        between = self.mm[:, self.first, self.second]
        return np.stack(
            [candidates[..., None, k] >= between[:, None, None, :, k] for k in self.metrics]
        )

    @cached_property
    def peers(self) -> np.ndarray:
        return self._passes(self.am)

    @cached_property
    def models(self) -> np.ndarray:
        return self._passes(self.mm)

    @cached_property
    def apart(self) -> np.ndarray:
        """[X,T,M,A,A]: is a' no closer to a than model m is?"""
        to_model = self.am.transpose(0, 2, 1, 3)
        return np.stack([self.aa[:, None, :, :, k] <= to_model[..., None, k] for k in self.metrics])

    def queen(self, chosen: list[int]) -> np.ndarray:
        return np.logical_and.reduce(self.peers[chosen]).mean(axis=(2, 3))

    def king(self, chosen: list[int]) -> float:
        peers = np.logical_and.reduce(self.peers[chosen])
        models = np.logical_and.reduce(self.models[chosen])
        count = models.shape[1]
        wins = []
        for m in range(count):
            left = np.arange(count) != m
            pairs = (self.first != m) & (self.second != m)
            keep = np.ix_(left, pairs)
            by_peer = peers[:, :, keep[0], keep[1]].sum(axis=(2, 3))
            by_model = models[:, m][:, keep[0], keep[1]].sum(axis=(1, 2))
            wins.append((by_model[:, None] > by_peer).all(axis=1))
        return float(np.mean(wins))

    def jack(self, chosen: list[int]) -> float:
        alive = self.queen(chosen) > 0
        pairs = np.logical_and.reduce(self.apart[chosen])
        pairs = pairs & ~np.eye(pairs.shape[-1], dtype=bool)
        pairs &= (alive[:, :, None] & alive[:, None, :])[:, None]
        return float(pairs.any(axis=(2, 3)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--models", type=int, default=11)
    parser.add_argument("--peers", type=int, default=16)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--sample", type=int, default=0, help="sets timed in numpy (0: all)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    random = np.random.default_rng(7)
    shape = (args.cases, args.peers + args.models, args.peers + args.models, args.metrics)
    # A shared part per pair makes the metrics agree as real ones do; rounding makes ties.
    values = random.random(shape) + random.random(shape[:3])[..., None] * 2
    values[:, args.peers :, args.peers :] += 0.6
    values = np.round(values, 3)
    am, mm = values[:, : args.peers, args.peers :], values[:, args.peers :, args.peers :]
    aa = values[:, : args.peers, : args.peers]
    tensors = [torch.from_numpy(np.ascontiguousarray(part)) for part in (am, mm, aa)]

    sets = np.arange(1, 1 << args.metrics)
    timed_sets = random.choice(sets, args.sample, replace=False) if args.sample else sets
    kept = OneSetAtATime(am, mm, aa)
    ours: dict[str, Callable[[], torch.Tensor]] = {
        "queen": lambda: qarla.queen_sets(*tensors[:2]),
        "king": lambda: qarla.king_sets(*tensors[:2]),
        "jack": lambda: qarla.jack_sets(*tensors),
    }
    rows: list[dict[str, float | str]] = []
    for name, call in ours.items():
        chosen = [[k for k in range(args.metrics) if number >> k & 1] for number in timed_sets]

        def alone(name: str = name, chosen: list[list[int]] = chosen) -> list[np.ndarray]:
            ones = (OneSetAtATime(am[..., some], mm[..., some], aa[..., some]) for some in chosen)
            return [
                getattr(one, name)(list(range(len(some))))
                for one, some in zip(ones, chosen, strict=True)
            ]

        def from_kept(name: str = name, chosen: list[list[int]] = chosen) -> list[np.ndarray]:
            return [getattr(kept, name)(some) for some in chosen]

        found = call()[..., timed_sets].numpy()
        for expected in (alone(), from_kept()):
            for place, values in enumerate(expected):
                np.testing.assert_allclose(found[..., place], values, rtol=1e-12)
        seconds, each, with_kept = in_turn(call, alone, from_kept, runs=3)
        scale = len(sets) / len(timed_sets)
        rows.append(row(name, seconds, each * scale, with_kept * scale))
    columns = ("seconds", "numpy_seconds", "numpy_kept_seconds")
    rows.append(row("together", *(sum(float(r[key]) for r in rows) for key in columns)))
    if args.json:
        print(json.dumps({"shape": vars(args), "sets": len(sets), "rows": rows}))
        return
    print(f"{args.cases} cases, {args.models} models, {args.peers} peers, {args.metrics} metrics")
    print(f"{len(sets)} sets, {len(timed_sets)} of them timed in numpy, results equal")
    print(f"{'':10} {'tensormt':>9} {'numpy':>8} {'ratio':>6} {'kept':>8} {'ratio':>6}")
    for r in rows:
        print(
            f"{r['measure']:10} {r['seconds']:7.3f} s {r['numpy_seconds']:6.1f} s {r['ratio']:6.0f}"
            f" {r['numpy_kept_seconds']:6.1f} s {r['ratio_kept']:6.0f}"
        )


def row(name: str, seconds: float, each: float, kept: float) -> dict[str, float | str]:
    """One line of the table."""
    return {
        "measure": name,
        "seconds": seconds,
        "numpy_seconds": each,
        "ratio": each / seconds,
        "numpy_kept_seconds": kept,
        "ratio_kept": kept / seconds,
    }


if __name__ == "__main__":
    main()
