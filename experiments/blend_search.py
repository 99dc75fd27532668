"""Which means to recommend as `blend` and `blend-context`: the choice, and what it is worth.

    python experiments/blend_search.py --data FOLDER --keep FOLDER [--cache FOLDER] [--sets NAME …]

FOLDER holds one folder a set with segments.jsonl, and wmt23_ende in the layout of mt-metrics-eval.
Each member is scored once a set; scores are kept in --keep, so that a run that was stopped goes on.
Four figures, each the mean over human scores of a set and then over sets:

    SPA, acc_eq       soft pairwise accuracy of systems, and accuracy within a segment with ties
    pairs             pairs of outputs of one source in the order of people, ties half
    r                 Pearson over all outputs

Word order has to count: outputs of a system of wmt17_deen are compared with its references in
random order, and means that score the latter higher by more than .1 are left out (for `blend`;
vectors of context see order themselves). The rest are ranked by SPA and acc_eq on translations
judged by MQM: for `blend` of up to four members without vectors, on all sets; for `blend-context`
of up to three members with vectors of one layer (a text is encoded once), on English sets, of those
that are not below the `blend` of version 0.1.0 in the mean of all figures. Then the same with a set
left out, judged on that set alone, and what the means in the registry lose without each member;
docs/choosing.md tells how these were picked. wmt17_deen has too few judged outputs of one source
for the first three figures. MiniLM reads English.
"""

from __future__ import annotations

import argparse
import math
import random
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from blend import SETS, load
from scipy.special import ndtr

import tensormt as tm
from tensormt.data.human_scores import read_jsonl
from tensormt.data.wmt import read_folder
from tensormt.evaluator import Evaluator
from tensormt.metaeval.scores import evaluate_metrics
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.registry import MEANS, make
from tensormt.segments import Segments

PLAIN = [
    "chrf:beta=1,lowercase=yes,whitespace=yes",
    "chrf:beta=2,lowercase=yes,whitespace=yes",
    *(f"bleu:max_order={n},lowercase=yes" for n in (1, 2, 3)),
    *(f"rouge:variant={v},tokenize=13a{stem}" for v in "1l" for stem in ("", ",stem=yes")),
    "hwcm:max_length=1,balance=f1",
    "hwcm:max_length=2,balance=f1",
    *(f"hwcm:max_length={n},balance=brevity" for n in (1, 2, 3)),
]
OTHERS = ["bleu", "chrf", "rouge"]  # as people know them; not in the search
LEAST_MARGIN = -0.1  # of outputs over references in random order
_LAYER = "bertscore:layer=4"
_ONCE = "matching=one_to_one"
VECTORS = {
    "last": ["bertscore", *(f"bertscore:units={u},{_ONCE},idf=yes" for u in ("words", "pairs"))],
    "layer 4": [
        *(
            f"{_LAYER},units={u},{_ONCE}{idf}"
            for u in ("words", "pairs")
            for idf in ("", ",idf=yes")
        ),
    ],
}
GERMAN = {"ted21_ende": ["mqm"], "wmt23_ende": ["mqm"]}
ALL = {**{name: facts["human"] for name, facts in SETS.items()}, **GERMAN}
TRANSLATED = ["wmt23_zhen_mqm", "ted21_zhen", "wmt23_ende", "ted21_ende"]
FEW_PAIRS = "wmt17_deen"
FORMER = (PLAIN[0], "hwcm:max_length=1,balance=f1", "hwcm:max_length=3,balance=brevity")
FIGURES = ("SPA", "acc_eq", "pairs", "r")
Mean = tuple[str, ...]


def segments_of(data: Path, name: str) -> Segments:
    """Read a set; of large ones the segments that somebody judged."""
    if name == "wmt23_ende":
        test = read_folder(str(data / name), "en-de").test
    elif name in SETS:
        test = load(data, name)
    else:
        test = read_jsonl(data / name / "segments.jsonl")
    judged = ~np.isnan(np.stack([test.human_scores(human) for human in ALL[name]])).all((0, 1))
    return test if judged.all() else test[np.flatnonzero(judged)]


def scored(
    name: str, data: Path, keep: Path, cache: Path | None, vectors: bool
) -> dict[str, np.ndarray]:
    """Segment scores [S,N] by member, 0 to 1, and human scores."""
    place = keep / f"{name}.npz"
    found = dict(np.load(place)) if place.exists() else {}
    for group in (PLAIN + OTHERS, *(VECTORS.values() if vectors else ())):
        missing = [spec for spec in group if spec not in found]
        if not missing:
            continue
        test, start = segments_of(data, name), time.process_time()
        lang = "de" if name in GERMAN else None
        trees = CachedParser(Parser.load("ud", lang=lang) if lang else Parser.load(), cache)
        found.update({f"human {human}": test.human_scores(human) for human in ALL[name]})
        for scores in evaluate_metrics(Evaluator(missing, trees, lang=lang), test):
            found[scores.name] = (scores.segments / (make(scores.name).scale or 1.0)).numpy()
        keep.mkdir(parents=True, exist_ok=True)
        np.savez(place, **found)
        print(f"{name}: {len(test)} segments, {time.process_time() - start:.0f} s", flush=True)
    return found


def order_margins(data: Path, segments: int = 250) -> dict[str, float]:
    """By how much outputs score above references in random order, 0 to 1, for each member."""
    test = load(data, FEW_PAIRS)[np.arange(segments)]
    rng = random.Random(1)
    lines = [line.split() for line in test.references[0]]
    shuffled = [" ".join(rng.sample(line, len(line))) for line in lines]
    outputs = {"outputs": next(iter(test.outputs.values())), "shuffled": shuffled}
    specs = [*PLAIN, *OTHERS]
    found = tm.score(outputs, test.references, specs)
    return {
        spec: float((found["outputs"].segments[spec] - found["shuffled"].segments[spec]).mean())
        / (make(spec).scale or 1.0)
        for spec in specs
    }


class Judged:
    """One human score [S,N] of a set, and what figures of any mean of members [M,S,N] need."""

    def __init__(self, human: np.ndarray, members: np.ndarray) -> None:
        real = ~np.isnan(human) & ~np.isnan(members).any(0)
        i, j = np.triu_indices(len(human), 1)
        both = real[i] & real[j]  # [pairs of systems, N]
        people, scores = np.nan_to_num(human), np.nan_to_num(members)
        gap = np.where(both, people[i] - people[j], 0)
        leads = np.where(both, scores[:, i] - scores[:, j], 0)
        self.sign, self.lead = np.sign(gap[both]), leads[:, both]
        weight = (1 / both.sum(0).clip(1))[np.nonzero(both)[1]]
        self.weight = weight / weight.sum()
        self.compared = both.any(1)
        self.p_human = self._tail(gap.sum(1), (gap**2).sum(1))
        self.total, self.gram = leads.sum(2), np.einsum("apn,bpn->abp", leads, leads)
        x, y = members[:, real], human[real]
        x, self.y = x - x.mean(1, keepdims=True), y - y.mean()
        self.cross, self.spread = x @ self.y, x @ x.T

    @staticmethod
    def _tail(total: np.ndarray, square: np.ndarray) -> np.ndarray:
        """One-sided p-values by the normal approximation; 1 where all scores are equal."""
        some = square > 1e-12
        return np.where(some, ndtr(-total / np.sqrt(np.where(some, square, 1.0))), 1.0)

    def figures(self, rows: list[int]) -> list[float]:
        """SPA, acc_eq, pairs and r of the mean of some members."""
        square = self.gram[np.ix_(rows, rows)].sum((0, 1))
        p = self._tail(self.total[rows].sum(0), square)
        lead = self.lead[rows].sum(0).round(9)
        pairs = (np.sign(lead) * self.sign)[self.sign != 0]
        spread = self.spread[np.ix_(rows, rows)].sum()
        return [
            1 - np.abs(p - self.p_human)[self.compared].mean(),
            self._calibrated(lead),
            (1 + pairs.mean()) / 2,
            self.cross[rows].sum() / (math.sqrt(spread) * np.linalg.norm(self.y)),
        ]

    def _calibrated(self, lead: np.ndarray) -> float:
        """Accuracy where leads up to the best threshold are ties."""
        size = np.abs(lead)
        order = np.argsort(size, kind="stable")
        tied = self.weight * (self.sign == 0)
        agreed = self.weight * ((self.sign == np.sign(lead)) & (self.sign != 0))
        gain, size = np.cumsum((tied - agreed)[order]), size[order]
        last = np.append(size[1:] != size[:-1], True)
        none = [] if size[0] == 0 else [0.0]  # equal scores are ties in any case
        return float(agreed.sum() + max([*gain[last], *none]))


def judged(name: str, found: dict[str, np.ndarray], means: list[Mean]) -> np.ndarray:
    """Figures of all means on a set, the mean over its human scores, [X,4]; NaN: not known."""
    specs = [spec for spec in found if not spec.startswith("human")]
    known = [k for k, mean in enumerate(means) if all(spec in found for spec in mean)]
    tables = np.stack([found[spec] for spec in specs])
    values = np.full((len(means), len(FIGURES)), np.nan)
    people = [Judged(found[f"human {human}"], tables) for human in ALL[name]]
    for k in known:
        rows = [specs.index(spec) for spec in means[k]]
        values[k] = np.mean([one.figures(rows) for one in people], 0)
    if name == FEW_PAIRS:
        values[:, :3] = np.nan
    return values


def average(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis of what is known."""
    with warnings.catch_warnings(action="ignore"):  # figures that no set has
        return np.nanmean(values, 0)


class Search:
    """A rule of choice: which means, on which sets, and which is the best."""

    def __init__(
        self,
        found: dict[str, dict[str, np.ndarray]],
        means: list[Mean],
        margins: dict[str, float] | None = None,
    ) -> None:
        self.sets, self.means = np.array(list(found)), means
        self.values = np.stack([judged(name, own, means) for name, own in found.items()])
        if margins is None:
            value = average(self.values).mean(1)
            self.allowed = value >= value[0]
        else:
            own = [np.mean([margins.get(x, -1.0) for x in mean]) for mean in means]
            self.allowed = np.array(own) >= LEAST_MARGIN

    def best(self, seen: np.ndarray) -> np.ndarray:
        """The means by rank on some sets, the best first."""
        translated = self.values[seen & np.isin(self.sets, TRANSLATED)][:, :, :2].mean((0, 2))
        return np.argsort(-np.where(self.allowed, translated, -np.inf))

    def line(self, row: int, seen: np.ndarray) -> str:
        own = average(self.values[seen])[row]
        cells = "".join(f"{value:8.4f}" for value in (*own, np.nanmean(own)))
        return f"{cells}  {' + '.join(self.means[row])}"

    def report(self, label: str, name: str) -> None:
        every = np.ones(len(self.sets), dtype=bool)
        head = "".join(f"{figure:>8}" for figure in (*FIGURES, "mean"))
        print(f"\n{label}: {len(self.means)} means on {', '.join(self.sets)}\n{head}")
        print(f"{self.line(0, every)} (blend of version 0.1.0)")
        for row in self.best(every)[:12]:
            print(self.line(row, every))
        print("chosen without a set, judged on it; below: blend of version 0.1.0 there")
        gains = []
        for left in self.sets:
            row, own = int(self.best(self.sets != left)[0]), self.sets == left
            print(f"{left:16}{self.line(row, own)}\n{'':16}{self.line(0, own)}")
            gains.append(self.values[own][0, row] - self.values[own][0, 0])
        gain = np.nanmean(gains, 0)
        print(f"mean gain on sets left out{''.join(f'{v:+8.4f}' for v in (*gain, gain.mean()))}")
        self._members(name, every)

    def _members(self, name: str, every: np.ndarray) -> None:
        """The chosen mean on each set, and without each of its members."""
        kinds = {make(spec).signature: spec for mean in self.means for spec in mean}
        chosen = [kinds[make(part).signature] for part in MEANS[name].split("+")]
        rows = {tuple(sorted(mean)): k for k, mean in enumerate(self.means)}
        print(f"{name}, and without each member")
        for left in ("", *chosen):
            row = rows[tuple(sorted(spec for spec in chosen if spec != left))]
            print(self.line(row, every))
        print("by set")
        row = rows[tuple(sorted(chosen))]
        for left in self.sets:
            print(f"{left:16}{self.line(row, self.sets == left)}")


def by_set(found: dict[str, dict[str, np.ndarray]]) -> None:
    """Print the figures of well-known metrics and of the recommended means on each set."""
    known = [*PLAIN, *(spec for layer in VECTORS.values() for spec in layer)]
    kinds = {make(spec).signature: spec for spec in known}
    means: dict[str, Mean] = {spec: (spec,) for spec in (*OTHERS, "bertscore")}
    for name in ("blend", "blend-context"):
        means[name] = tuple(kinds[make(part).signature] for part in MEANS[name].split("+"))
    print(f"\n{'by set':32}" + "".join(f"{figure:>8}" for figure in FIGURES))
    for place, own in found.items():
        for name, row in zip(means, judged(place, own, list(means.values())), strict=True):
            print(f"{place:16}{name:16}" + "".join(f"{value:8.3f}" for value in row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="where scores are kept")
    parser.add_argument("--cache", type=Path, help="where parses are kept")
    parser.add_argument("--sets", nargs="+", default=list(ALL), choices=list(ALL))
    parser.add_argument(
        "--context",
        nargs="*",
        default=[name for name in ALL if name not in GERMAN],
        choices=list(ALL),
        help="sets for means with vectors",
    )
    parser.add_argument("--score-only", action="store_true", help="no search")
    options = parser.parse_args()
    torch.set_num_threads(1)
    places = (options.data, options.keep, options.cache)
    found = {name: scored(name, *places, name in options.context) for name in options.sets}
    if options.score_only:
        return
    by_set(found)
    plain = [mean for k in range(1, 5) for mean in combinations(PLAIN, k) if mean != FORMER]
    known = {
        name: {k: v for k, v in own.items() if "bertscore" not in k} for name, own in found.items()
    }
    margins = order_margins(options.data)
    print("".join(f"{margin:+.3f}  {spec}\n" for spec, margin in margins.items()))
    means = [FORMER, *((spec,) for spec in OTHERS), *plain]
    Search(known, means, margins).report("without vectors", "blend")
    english = {name: own for name, own in found.items() if name in options.context}
    if not english:
        return
    context = [
        mean
        for layer in VECTORS.values()
        for k in (1, 2, 3)
        for mean in combinations([*PLAIN, *layer], k)
        if set(mean) & set(layer)
    ]
    singles = [(spec,) for spec in (*OTHERS, *PLAIN)]
    Search(english, [FORMER, *singles, *context]).report("with vectors", "blend-context")


if __name__ == "__main__":
    main()
