"""Which metric agrees best with people: single ones, and the means that were tried for `blend`.

    python bench/blend.py --data FOLDER [--cache FOLDER] [--sets webnlg20 …] [--candidates]

FOLDER holds one folder a set with segments.jsonl. For every set and human score: Pearson over all
outputs, the share of pairs of outputs of one source that the metric orders as people do (a tie of
the metric counts half), and Pearson over systems. Intervals: 95% of 1,000 draws of segments, of the
difference to BLEU-4 and to chrF. Nothing is trained and nothing chosen per set.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor

from tensormt.data.judged import TestSet, read_jsonl
from tensormt.metaeval.scores import collect_texts, score_metric
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.registry import make

SETS: dict[str, dict] = {
    "webnlg20": {"human": ["fluency", "correctness"]},
    "summeval": {"human": ["fluency", "relevance"], "without": ["Human-H"], "most": 10},
    "wmt23_zhen_mqm": {"human": ["mqm"]},
    "e2e17": {"human": ["quality_z", "naturalness_z"]},
    "wmt17_deen": {"human": ["da_z"]},
    "ted21_zhen": {"human": ["mqm"]},
}
SINGLE = {
    "BLEU-4": "bleu",
    "BLEU-2": "bleu:max_order=2",
    "chrF": "chrf",
    "chrF++": "chrf:word_order=2",
    "STM-2 F1": "stm:max_depth=2,balance=f1",
    "STM-4 F1": "stm:balance=f1",
    "HWCM-2 F1": "hwcm:max_length=2,balance=f1",
    "DSTM-2 F1": "dstm:max_depth=2,balance=f1",
    "blend": "blend",
}
CANDIDATES = {
    "chrF+HWCM2": "chrf+hwcm:max_length=2,balance=f1",
    "chrF+STM2": "chrf+stm:max_depth=2,balance=f1",
    "chrF+HWCM2+STM2": "chrf+hwcm:max_length=2,balance=f1+stm:max_depth=2,balance=f1",
    "chrF+HWCM1+STM2": "chrf+hwcm:max_length=1,balance=f1+stm:max_depth=2,balance=f1",
    "chrF+HWCM2+STM3": "chrf+hwcm:max_length=2,balance=f1+stm:max_depth=3,balance=f1",
    "chrF++ HWCM2 STM2": "chrf:word_order=2+hwcm:max_length=2,balance=f1+stm:max_depth=2,balance=f1",
    "chrF BLEU2 HWCM2 STM2": "chrf+bleu:max_order=2+hwcm:max_length=2,balance=f1"
    "+stm:max_depth=2,balance=f1",
    "chrF chrF++ HWCM2 STM2": "chrf+chrf:word_order=2+hwcm:max_length=2,balance=f1"
    "+stm:max_depth=2,balance=f1",
    "chrF DSTM2 STM2": "chrf+dstm:max_depth=2,balance=f1+stm:max_depth=2,balance=f1",
    "chrF HWCM2 STM2 TKM": "chrf+hwcm:max_length=2,balance=f1+stm:max_depth=2,balance=f1"
    "+tkm:decay=0.2",
}


def load(folder: Path, name: str) -> TestSet:
    facts = SETS[name]
    test = read_jsonl(folder / name / "segments.jsonl")
    return test.select(without=facts.get("without", ()), most_references=facts.get("most"))


def pearson(x: Tensor, y: Tensor) -> Tensor:
    x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    return (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1)).clamp_min(1e-300)


def weighted_pearson(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Pearson's r [D] of x, y [n] with weights [D,n]."""
    total = w.sum(-1, keepdim=True)
    mx, my = (w @ x)[:, None] / total, (w @ y)[:, None] / total
    dx, dy = x - mx, y - my
    cov = (w * dx * dy).sum(-1)
    return cov / ((w * dx * dx).sum(-1) * (w * dy * dy).sum(-1)).sqrt().clamp_min(1e-300)


class Agreement:
    """The three figures of a metric on a set, and the same on drawn segments."""

    def __init__(self, human: Tensor, draws: int, seed: int = 1) -> None:
        self.human = human
        size = human.shape[1]
        random = torch.Generator().manual_seed(seed)
        drawn = torch.randint(size, (draws, size), generator=random)
        self.weights = torch.zeros(draws, size, dtype=torch.float64).scatter_add_(
            1, drawn, torch.ones(draws, size, dtype=torch.float64)
        )
        self.weights = torch.cat([torch.ones(1, size, dtype=torch.float64), self.weights])

    def __call__(self, scores: Tensor, systems: Tensor) -> Tensor:
        """Pearson of segments, pairs within a segment, Pearson of systems: float64 [3,1+draws].

        scores [S,N]; systems: system scores of the metric [1+draws,S].
        """
        real = ~(self.human.isnan() | scores.isnan())
        where = real.nonzero()
        x, y = self.human[real], scores[real]
        segment = weighted_pearson(x, y, self.weights[:, where[:, 1]])
        gap = self.human[:, None] - self.human[None]
        lead = scores[:, None] - scores[None]
        used = (real[:, None] & real[None]) & (gap > 0)
        right = ((lead > 1e-12).double() + 0.5 * (lead.abs() <= 1e-12)) * used
        pairs = (self.weights @ right.sum((0, 1))) / (self.weights @ used.double().sum((0, 1)))
        people = torch.where(self.human.isnan(), 0.0, self.human)
        judged = (~self.human.isnan()).double()
        means = (self.weights @ people.T) / (self.weights @ judged.T).clamp_min(1)
        return torch.stack([segment, pairs, pearson(means, systems)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--candidates", action="store_true", help="also the means that were tried")
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    trees = CachedParser(Parser.load(), options.cache)
    metrics = {**SINGLE, **(CANDIDATES if options.candidates else {})}
    sums: dict[str, list[list[float]]] = {name: [] for name in metrics}
    for name in options.sets:
        test = load(options.data, name)
        texts = collect_texts(test, trees)
        found = {key: score_metric(make(spec), key, test, texts) for key, spec in metrics.items()}
        for human in SETS[name]["human"]:
            agreement = Agreement(test.scores(human), options.draws)
            figures = {}
            for key, scores in found.items():
                rows = torch.einsum("dn,snk->dsk", agreement.weights, scores.statistics.double())
                figures[key] = agreement(scores.segments, scores.score(rows))
            print(f"\n{name}, {human}: {len(test)} segments, {len(test.systems)} systems")
            print(
                f"{'':24}{'segment r':>10}{'pairs':>8}{'system r':>10}   difference to BLEU-4 (95%)"
            )
            for key, value in figures.items():
                gap = value - figures["BLEU-4"]
                cells = [
                    f"{float(gap[k, 0]):+.3f} [{float(gap[k, 1:].quantile(0.025)):+.3f}, "
                    f"{float(gap[k, 1:].quantile(0.975)):+.3f}]"
                    for k in range(3)
                ]
                other = value - figures["chrF"]
                cells += [
                    f"| to chrF {float(other[k, 0]):+.3f} [{float(other[k, 1:].quantile(0.025)):+.3f}, "
                    f"{float(other[k, 1:].quantile(0.975)):+.3f}]"
                    for k in range(3)
                ]
                first = "".join(
                    f"{float(v):>{w}.3f}" for v, w in zip(value[:, 0], (10, 8, 10), strict=True)
                )
                print(f"{key:24}{first}   {'  '.join(cells)}")
                sums[key].append(value[:, 0].tolist())
    print("\nmean over sets and human scores: segment r, pairs, system r")
    for key, rows in sums.items():
        means = torch.tensor(rows, dtype=torch.float64).mean(0).tolist()
        print(f"{key:24}" + "".join(f"{value:10.3f}" for value in means))


if __name__ == "__main__":
    main()
