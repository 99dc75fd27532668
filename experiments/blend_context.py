"""Which mean to recommend, with and without contextual vectors: the choice, and what it is worth.

    python experiments/blend_context.py --data FOLDER --keep FOLDER [--cache FOLDER] [--sets NAME …]

FOLDER holds one folder a set with segments.jsonl, and wmt23_ende in the layout of mt-metrics-eval.
Each member is scored once a set (kept as arrays in --keep). All means of one to three members are
compared, at most one of a family, by four figures, each the mean over human scores of a set and
then over sets:

    SPA, acc_eq       soft pairwise accuracy of systems, and accuracy within a segment with ties
    pairs             pairs of outputs of one source in the order of people, ties half
    r                 Pearson over all outputs

and chosen by the mean of SPA, acc_eq, pairs and r. Then the same with one set left out of the
choice, judged on that set alone. wmt17_deen has too few judged outputs of one source for the first
three. MiniLM reads English, so means with vectors are compared on English sets only.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
from blend import SETS, load

from tensormt.data.wmt import read_folder
from tensormt.evaluator import Evaluator
from tensormt.metaeval import calibrated_accuracy, pearson, soft_pairwise_accuracy
from tensormt.metaeval.scores import evaluate_metrics
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.registry import make
from tensormt.segments import Segments

_ONCE = "matching=one_to_one,units=words,idf=yes"
FAMILIES: dict[str, list[str]] = {
    "characters": [
        "chrf:beta=1,lowercase=yes,whitespace=yes",
        "chrf:beta=1,lowercase=yes",
        "chrf",
    ],
    "words": ["hwcm:max_length=1,balance=f1", "rouge:variant=1", "rouge"],
    "chains": ["hwcm:max_length=2,balance=f1", "hwcm:max_length=3,balance=brevity"],
    "n-grams": ["bleu", "bleu:max_order=2,lowercase=yes"],
    "vectors": [
        "bertscore",
        "bertscore:layer=5",
        f"bertscore:{_ONCE}",
        f"bertscore:layer=5,{_ONCE}",
        "bertscore:units=words,idf=yes",
        "bertscore:layer=5,units=words,idf=yes",
    ],
}
MEMBERS = [spec for specs in FAMILIES.values() for spec in specs]
GERMAN = {"ted21_ende": ["mqm"], "wmt23_ende": ["mqm"]}
ALL = {**{name: facts["human"] for name, facts in SETS.items()}, **GERMAN}
FEW_PAIRS = "wmt17_deen"
BLEND = (
    "chrf:beta=1,lowercase=yes,whitespace=yes",
    "hwcm:max_length=1,balance=f1",
    "hwcm:max_length=3,balance=brevity",
)
FIGURES = ("SPA", "acc_eq", "pairs", "r")


def segments_of(data: Path, name: str) -> Segments:
    """Read a set; of large ones the segments that somebody judged."""
    if name == "wmt23_ende":
        test = read_folder(str(data / name), "en-de").test
    elif name in SETS:
        test = load(data, name)
    else:
        from tensormt.data.human_scores import read_jsonl

        test = read_jsonl(data / name / "segments.jsonl")
    judged = ~np.isnan(np.stack([test.human_scores(human) for human in ALL[name]])).all((0, 1))
    return test if judged.all() else test[np.flatnonzero(judged)]


def scored(name: str, data: Path, keep: Path, cache: Path | None) -> dict[str, np.ndarray]:
    """Segment scores [S,N] by member, 0 to 1, and human scores."""
    place = keep / f"{name}.npz"
    found = dict(np.load(place)) if place.exists() else {}
    members = [spec for spec in MEMBERS if name not in GERMAN or spec not in FAMILIES["vectors"]]
    missing = [spec for spec in members if spec not in found]
    if missing:
        test = segments_of(data, name)
        lang = "de" if name in GERMAN else None
        trees = CachedParser(Parser.load("ud", lang=lang) if lang else Parser.load(), cache)
        found.update({f"human {human}": test.human_scores(human) for human in ALL[name]})
        start = time.process_time()
        for scores in evaluate_metrics(Evaluator(missing, trees, lang=lang), test):
            found[scores.name] = (scores.segments / (make(scores.name).scale or 1.0)).numpy()
        keep.mkdir(parents=True, exist_ok=True)
        np.savez(place, **found)
        print(f"{name}: {len(test)} segments, {time.process_time() - start:.0f} s", flush=True)
    return found


def figures(human: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """SPA, acc_eq, pairs and r of tables [X,S,N] of scores, [X,4]."""
    people, scores = torch.from_numpy(human), torch.from_numpy(tables)
    real = ~people.isnan() & ~scores.isnan().any(0)
    people = people.masked_fill(~real, torch.nan)
    found = []
    for table in scores:
        table = table.masked_fill(~real, torch.nan)
        spa = soft_pairwise_accuracy(people, table, permutations=0)
        filled = [torch.nan_to_num(side.t()).contiguous() for side in (people, table)]
        equal = calibrated_accuracy(*filled, mask=real.t().contiguous())[0]
        lead = (table[:, None] - table[None])[people[:, None] > people[None]]
        pairs = ((lead > 1e-7).double().mean() + (lead >= -1e-7).double().mean()) / 2
        r = pearson(people[real], table[real])
        found.append([float(value) for value in (spa, equal, pairs, r)])
    return np.array(found)


def all_means() -> list[tuple[str, ...]]:
    """Means of one to three members, at most one of a family, and the present `blend`."""
    choices = [[(), *((spec,) for spec in specs)] for specs in FAMILIES.values()]
    found = [sum(parts, ()) for parts in product(*choices)]
    return [BLEND, *(mean for mean in found if 1 <= len(mean) <= 3 and mean != BLEND)]


def judged(name: str, found: dict[str, np.ndarray], means: list[tuple[str, ...]]) -> np.ndarray:
    """Figures of all means on a set, the mean over its human scores, [X,4]; NaN: too few pairs."""
    known = [row for row, mean in enumerate(means) if all(spec in found for spec in mean)]
    tables = np.stack([np.mean([found[spec] for spec in means[row]], 0) for row in known])
    values = np.full((len(means), len(FIGURES)), np.nan)
    values[known] = np.mean([figures(found[f"human {h}"], tables) for h in ALL[name]], 0)
    if name == FEW_PAIRS:
        values[:, :3] = np.nan
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="where scores are kept")
    parser.add_argument("--cache", type=Path, help="where parses are kept")
    parser.add_argument("--sets", nargs="+", default=list(ALL), choices=list(ALL))
    parser.add_argument("--score-only", action="store_true", help="no search")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {name: scored(name, options.data, options.keep, options.cache) for name in options.sets}
    if options.score_only:
        return
    means = all_means()
    values = np.stack([judged(name, own, means) for name, own in found.items()])  # [sets,X,4]
    sets = np.array(list(found))
    plain = np.array([not any(spec in FAMILIES["vectors"] for spec in mean) for mean in means])

    english = np.array([name not in GERMAN for name in sets])

    def summary(seen: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings(action="ignore"):  # figures that no set has
            return np.nanmean(values[seen], 0)

    def line(row: int, seen: np.ndarray) -> str:
        own = summary(seen)[row]
        cells = "".join(f"{value:8.4f}" for value in (*own, np.nanmean(own)))
        return f"{cells}  {'+'.join(means[row])}"

    head = "".join(f"{name:>8}" for name in (*FIGURES, "mean"))
    every = np.ones(len(sets), dtype=bool)
    for label, allowed, some in (
        ("without vectors, all sets", plain, every),
        ("without vectors, English sets", plain, english),
        ("with vectors, English sets", ~plain, english),
    ):
        value = np.where(allowed, np.nanmean(summary(some), 1), -np.inf)
        print(f"\n{label}\n{head}\n{line(0, some)} (blend)")
        for row in np.argsort(-value)[:12]:
            print(line(row, some))
        print("chosen without a set, judged on it; below: blend there")
        gains = []
        for name in sets[some]:
            value = np.where(allowed, np.nanmean(summary(some & (sets != name)), 1), -np.inf)
            row, own = int(value.argmax()), sets == name
            print(f"{name:16}{line(row, own)}\n{'':16}{line(0, own)}")
            gains.append(summary(own)[row] - summary(own)[0])
        gain = np.nanmean(gains, 0)
        print(f"mean gain on sets left out:{''.join(f'{v:+8.4f}' for v in (*gain, gain.mean()))}")
    print(f"\nsingle members on English sets\n{head}")
    for row, mean in enumerate(means):
        if len(mean) == 1:
            print(line(row, english))
    print(f"\nby set{head}")
    for name in sets:
        for row, mean in enumerate(means):
            if len(mean) == 1 or row == 0:
                print(f"{name:16}{line(row, sets == name)}")


if __name__ == "__main__":
    main()
