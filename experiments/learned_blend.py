"""Learned weights of the members of a mean against equal ones, on sets that were left out.

    python experiments/learned_blend.py --keep FOLDER

FOLDER has the scores that experiments/blend_search.py keeps. Weights are non-negative and sum to 1;
they are learned from pairs of outputs of one source that people ranked, by the logistic loss of the
difference of their scores, every set with the same weight in the loss. The unit of differences is
learned too. Three candidates: the metrics without vectors of the search on all sets; these with
contextual ones (layer 4, and the last) on English sets; the members of `blend-context` and chrF. On
each set the weights that were learned on all others are compared with the mean in the registry and
with the mean of the same members with equal weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from blend_search import ALL, FEW_PAIRS, FIGURES, GERMAN, PLAIN, VECTORS, Judged
from scipy.optimize import minimize

from tensormt.registry import MEANS, make

PAIRS = 20_000  # of a set and human score at most
PENALTY = 1e-3  # of the squared distance from equal weights, in the sum of all sets


def differences(found: dict[str, np.ndarray], specs: list[str], human: str) -> np.ndarray:
    """Score of the better output minus that of the other, of ranked pairs of one source, [n,M]."""
    people = found[f"human {human}"]
    i, j = np.triu_indices(len(people), 1)
    gap = people[i] - people[j]  # NaN where one was not judged
    pair, segment = np.nonzero(np.nan_to_num(gap) != 0)
    if len(pair) > PAIRS:
        chosen = np.random.default_rng(1).choice(len(pair), PAIRS, replace=False)
        pair, segment = pair[chosen], segment[chosen]
    sign = np.sign(gap[pair, segment])
    columns = [found[spec][i[pair], segment] - found[spec][j[pair], segment] for spec in specs]
    rows = np.stack(columns, 1) * sign[:, None]
    return rows[~np.isnan(rows).any(1)]


def learn(sets: list[list[np.ndarray]]) -> np.ndarray:
    """Non-negative weights [M] that sum to 1, of the differences of each set and human score."""
    number = sets[0][0].shape[1]

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        weights, total, slope = x, 0.0, np.zeros(number)
        for own in sets:
            for rows in own:
                margin = rows @ weights
                total += np.logaddexp(0, -margin).mean() / len(own)
                slope -= rows.T @ (1 / (1 + np.exp(margin))) / len(rows) / len(own)
        away = weights - weights.mean()
        return total + PENALTY * away @ away, slope + 2 * PENALTY * away

    start = np.full(number, 5.0 / number)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * number)
    return found.x / found.x.sum()


def judge(found: dict[str, np.ndarray], name: str, score: np.ndarray) -> np.ndarray:
    """The four figures of scores [S,N], the mean over human scores, [4]."""
    people = [Judged(found[f"human {human}"], score[None]) for human in ALL[name]]
    values = np.mean([one.figures([0]) for one in people], 0)
    if name == FEW_PAIRS:
        values[:3] = np.nan
    return values


def study(label: str, sets: dict[str, dict[str, np.ndarray]], specs: list[str], mean: str) -> None:
    """Print what weights learned on all other sets gain on each."""
    known = [*PLAIN, *(spec for layer in VECTORS.values() for spec in layer)]
    kinds = {make(spec).signature: spec for spec in known}
    members = [kinds[make(part).signature] for part in MEANS[mean].split("+")]
    rows = {
        name: [differences(own, specs, human) for human in ALL[name]] for name, own in sets.items()
    }
    print(f"\n{label}: {len(specs)} members on {', '.join(sets)}")
    print(f"{'left out':16}{'':14}" + "".join(f"{figure:>8}" for figure in FIGURES))
    gains: dict[str, list[np.ndarray]] = {f"than {mean}": [], "than equal": []}
    for name, own in sets.items():
        weights = learn([rows[other] for other in sets if other not in (name, FEW_PAIRS)])
        table = np.stack([own[spec] for spec in specs])
        scores = {
            "learned": np.tensordot(weights, table, 1),
            mean: np.mean([own[spec] for spec in members], 0),
            "equal": table.mean(0),
        }
        values = {kind: judge(own, name, score) for kind, score in scores.items()}
        for kind, value in values.items():
            cells = "".join(f"{v:8.3f}" for v in value)
            print(f"{name if kind == 'learned' else '':16}{kind:14}{cells}")
        gains[f"than {mean}"].append(values["learned"] - values[mean])
        gains["than equal"].append(values["learned"] - values["equal"])
    for kind, found in gains.items():
        cells = "".join(f"{v:+8.4f}" for v in np.nanmean(found, 0))
        better = "".join(f"{int((np.array(found)[:, k] > 0).sum()):8d}" for k in range(4))
        print(f"{'gain':16}{kind:14.14}{cells}\n{'':16}{'sets gained':14}{better}")
    weights = learn([own for name, own in rows.items() if name != FEW_PAIRS])
    print("weights of all sets")
    for k in np.argsort(-weights):
        if weights[k] > 0.005:
            print(f"{weights[k]:8.3f}  {specs[k]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, required=True, help="where scores are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {name: dict(np.load(options.keep / f"{name}.npz")) for name in ALL}
    english = {name: own for name, own in found.items() if name not in GERMAN}
    study("without vectors", found, PLAIN, "blend")
    last, fourth = VECTORS.values()
    study("with vectors of layer 4", english, [*PLAIN, *fourth], "blend-context")
    study("with vectors of the last layer", english, [*PLAIN, *last], "blend-context")
    few = [spec for spec in fourth if spec.endswith("idf=yes")]
    study("chrF, words and pairs of layer 4", english, [PLAIN[0], *few], "blend-context")


if __name__ == "__main__":
    main()
