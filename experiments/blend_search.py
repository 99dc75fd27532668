"""How the members of `blend` were found: means of two to four metrics, at most two of a family.

    python experiments/blend_search.py --data FOLDER [--cache FOLDER] [--keep FOLDER]

Each metric is scored once a set (kept as arrays in --keep). A mean's Pearson over outputs comes
from the members' covariances, the share of pairs from their differences. What chooses a mean:

    min( gain of Pearson over BLEU-4 / .04 , gain of pairs / .01 )      means over human scores

among those whose Pearson lies above BLEU-4's on every set. wmt17_deen has 29 pairs, which are left
out of the choice and printed. Then the same with one set left out, judged on that set alone: what
the choice is worth on a set that it has not seen. BM and BMA are not among the candidates: on MQM
their Pearson grows without their pairs, since they fall more with the length of a segment.
"""

from __future__ import annotations

import argparse
from itertools import combinations, product
from pathlib import Path

import numpy as np
from blend import SETS, load

from tensormt.evaluator import Evaluator
from tensormt.metaeval.scores import evaluate_metrics
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.registry import MEANS, make

_CHRF = ("char_order=3,beta=1", "char_order=4,beta=1", "beta=1", "beta=2")
_CHRF += ("beta=1,word_order=2", "beta=1,whitespace=yes")
FAMILIES: list[tuple[int, list[str]]] = [  # at most so many of these
    (1, [f"chrf:{one}{case}" for case in ("", ",lowercase=yes") for one in _CHRF]),
    (
        1,
        [f"bleu:max_order={n}" for n in (1, 2, 3, 4)]
        + [f"bleu:max_order={n},lowercase=yes" for n in (2, 3, 4)],
    ),
    (
        2,
        [f"hwcm:max_length={n},balance=f1" for n in (1, 2, 3)]
        + [f"hwcm:max_length={n},balance=brevity" for n in (2, 3)],
    ),
    (
        1,
        [f"stm:max_depth={n},balance=f1" for n in (1, 2, 4)]
        + ["dstm:max_depth=2,balance=f1", "stm:max_depth=2,balance=f1,lexical=yes"],
    ),
]
MEMBERS = [spec for _, specs in FAMILIES for spec in specs]
FEW_PAIRS = "wmt17_deen"
BEFORE = (
    "chrf:beta=2,lowercase=yes+bleu:max_order=4,lowercase=yes+hwcm:max_length=1,balance=f1"
    "+stm:max_depth=2,balance=f1"
)


def scored(name: str, data: Path, trees: CachedParser, keep: Path | None) -> dict[str, np.ndarray]:
    """Segment scores [S,N] by member, 0 to 1, and human scores."""
    place = None if keep is None else keep / f"{name}.npz"
    if place is not None and place.exists():
        return dict(np.load(place))
    test = load(data, name)
    found = {f"human {human}": test.human_scores(human) for human in SETS[name]["human"]}
    for scores in evaluate_metrics(Evaluator(MEMBERS, trees), test):
        found[scores.name] = (scores.segments / (make(scores.name).scale or 1.0)).numpy()
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        np.savez(place, **found)
    return found


class Judged:
    """One human score of a set: what Pearson and pairs of any mean of members are made of."""

    def __init__(self, name: str, human: np.ndarray, scores: np.ndarray) -> None:
        self.name = name
        real = ~np.isnan(human) & ~np.isnan(scores).any(0)
        people = human[real] - human[real].mean()
        members = scores[:, real] - scores[:, real].mean(1, keepdims=True)
        self.cross, self.spread = members @ people, members @ members.T
        self.norm = np.linalg.norm(people)
        better = [
            scores[:, one, used] - scores[:, two, used]
            for one, two in product(range(len(human)), repeat=2)
            if (used := real[one] & real[two] & (human[one] > human[two])).any()
        ]
        self.lead = np.concatenate(better, 1).astype(np.float32)  # [M,pairs]

    def pearson(self, means: np.ndarray) -> np.ndarray:
        """[n] of means [n,k], the places of their members."""
        spread = self.spread[means[:, :, None], means[:, None]].sum((1, 2))
        return self.cross[means].sum(1) / (np.sqrt(spread) * self.norm)

    def pairs(self, means: np.ndarray) -> np.ndarray:
        """The share of pairs in the right order [n], ties half."""
        leads = (self.lead[row].sum(0) for row in means)
        return np.array([((x > 1e-7).mean() + (x >= -1e-7).mean()) / 2 for x in leads])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--keep", type=Path, help="where the members' scores are kept")
    options = parser.parse_args()
    trees = CachedParser(Parser.load(), options.cache)
    judged = []
    for name in SETS:
        found = scored(name, options.data, trees, options.keep)
        table = np.stack([found[spec] for spec in MEMBERS])
        judged += [Judged(name, found[f"human {h}"], table) for h in SETS[name]["human"]]
    sets = np.array([one.name for one in judged])
    choices = [
        [chosen for k in range(most + 1) for chosen in combinations(specs, k)]
        for most, specs in FAMILIES
    ]
    means = [mean for parts in product(*choices) if 2 <= len(mean := sum(parts, ())) <= 4]
    bleu = np.array([[MEMBERS.index("bleu:max_order=4")]])
    gains, pairs = np.empty((len(means), len(sets))), np.empty((len(means), len(sets)))
    sizes = np.array([len(mean) for mean in means])
    for size in (2, 3, 4):
        rows = np.flatnonzero(sizes == size)
        places = np.array([[MEMBERS.index(spec) for spec in means[row]] for row in rows])
        for column, one in enumerate(judged):
            gains[rows, column] = one.pearson(places) - one.pearson(bleu)
            pairs[rows, column] = one.pairs(places) - one.pairs(bleu)
    names = ["+".join(mean) for mean in means]

    def best(seen: np.ndarray, above: bool = True) -> np.ndarray:
        """The means by rank, the best first, as these human scores have them.

        above: only those above BLEU-4 on every set.
        """
        enough = seen & (sets != FEW_PAIRS)
        value = np.minimum(gains[:, seen].mean(1) / 0.04, pairs[:, enough].mean(1) / 0.01)
        every = [gains[:, sets == name].mean(1) for name in SETS if seen[sets == name].all()]
        return np.argsort(-np.where(above & (np.min(every, 0) <= 0), -np.inf, value))

    def told(row: int, where: np.ndarray) -> str:
        enough = where & (sets != FEW_PAIRS)
        rest = f" ({pairs[row, enough].mean():+.4f})" if enough.any() else ""
        least = gains[row, where].min()
        return (
            f"r {gains[row, where].mean():+.4f} (least {least:+.3f})  "
            f"pairs {pairs[row, where].mean():+.4f}{rest}  {names[row]}"
        )

    everywhere = np.ones(len(sets), dtype=bool)
    print(f"{len(means)} means of {len(MEMBERS)} metrics, against BLEU-4; () without {FEW_PAIRS}")
    signed = {spec: make(spec).signature for spec in MEMBERS}
    for label, spec in (("blend", MEANS["blend"]), ("before", BEFORE)):
        wanted = sorted(make(part).signature for part in spec.split("+"))
        (row,) = (k for k, mean in enumerate(means) if sorted(map(signed.get, mean)) == wanted)
        print(f"{label:8}{told(row, everywhere)}")
    print("the best")
    for row in best(everywhere)[:20]:
        print(f"        {told(row, everywhere)}")
    few = np.array(list(SETS)) == FEW_PAIRS
    for above in (True, False):
        print(
            f"chosen without a set, judged on it{'' if above else '; not asked: every set above'}"
        )
        kept = []
        for name in SETS:
            row = best(sets != name, above)[0]
            kept.append((gains[row, sets == name].mean(), pairs[row, sets == name].mean()))
            print(f"{name:16}{told(row, sets == name)}")
        r, p = np.array(kept).T
        print(f"mean of the sets: r {r.mean():+.4f}  pairs {p.mean():+.4f} ({p[~few].mean():+.4f})")


if __name__ == "__main__":
    main()
