"""Which metric correlates best with human scores: single ones, and means tried for `blend`.

    python experiments/blend.py --data FOLDER [--cache FOLDER] [--sets webnlg20 …] [--candidates]
        [--unseen]

FOLDER holds one folder a set with segments.jsonl. For every set and human score: Pearson over all
outputs, the share of pairs of outputs of one source that the metric orders as people do (a tie of
the metric counts half), and Pearson over systems. Intervals: 95% of 1,000 draws of segments, of the
difference to BLEU-4 and to chrF. Nothing is trained and nothing chosen per set. In the means at the
end, pairs are also averaged without wmt17_deen, which has 29 of them: one is .004 of the mean.
--unseen: ten other human scores of the same outputs, which the search does not use.
experiments/blend_search.py is how the members were found.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor

from tensormt.data.human_scores import read_jsonl
from tensormt.evaluator import Evaluator
from tensormt.metaeval.scores import evaluate_metrics
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.registry import make
from tensormt.segments import Segments

SETS: dict[str, dict] = {
    "webnlg20": {
        "human": ["fluency", "correctness"],
        "unseen": ["datacoverage", "relevance", "textstructure"],
    },
    "summeval": {
        "human": ["fluency", "relevance"],
        "unseen": ["coherence", "consistency"],
        "without": ["Human-H"],
        "most": 10,
    },
    "wmt23_zhen_mqm": {"human": ["mqm"], "unseen": ["accuracy", "fluency"]},
    "e2e17": {"human": ["quality_z", "naturalness_z"]},
    "wmt17_deen": {"human": ["da_z"]},
    "ted21_zhen": {"human": ["mqm"], "unseen": ["accuracy", "fluency", "style"]},
}
SINGLE = {
    "BLEU-4": "bleu",
    "BLEU-2": "bleu:max_order=2",
    "chrF": "chrf",
    "chrF++": "chrf:word_order=2",
    "STM-2 F1": "stm:max_depth=2,balance=f1",
    "STM-4 F1": "stm:balance=f1",
    "HWCM-1 F1": "hwcm:max_length=1,balance=f1",
    "HWCM-2 F1": "hwcm:max_length=2,balance=f1",
    "HWCM-3 brevity": "hwcm:max_length=3,balance=brevity",
    "DSTM-2 F1": "dstm:max_depth=2,balance=f1",
    "blend": "blend",
}
_WORDS = "hwcm:max_length=1,balance=f1"
_CHAINS = "hwcm:max_length=2,balance=f1"
_RULES = "stm:max_depth=2,balance=f1"
_LONG = "hwcm:max_length=3,balance=brevity"
_LOWER = "chrf:lowercase=yes"
CANDIDATES = {
    "chrF BLEU4": "chrf+bleu",
    "lower chrF BLEU4 H1 STM2": f"{_LOWER}+bleu:lowercase=yes+{_WORDS}+{_RULES}",
    "lower chrF BLEU2 H1 STM2": f"{_LOWER}+bleu:max_order=2,lowercase=yes+{_WORDS}+{_RULES}",
    "chrF H1 STM2": f"chrf+{_WORDS}+{_RULES}",
    "chrF BLEU3 H1": f"chrf:char_order=4,beta=1,lowercase=yes+bleu:max_order=3+{_WORDS}",
    "blend, chrF2": f"{_LOWER}+{_WORDS}+{_LONG}",
    "blend, no white space": f"{_LOWER},beta=1+{_WORDS}+{_LONG}",
    "blend, cased": f"chrf:beta=1,whitespace=yes+{_WORDS}+{_LONG}",
    "blend, H2 for H1": f"{_LOWER},beta=1,whitespace=yes+{_CHAINS}+{_LONG}",
    "blend and BLEU4": f"{_LOWER},beta=1,whitespace=yes+bleu:lowercase=yes+{_WORDS}+{_LONG}",
    "blend and STM2": f"{_LOWER},beta=1,whitespace=yes+{_WORDS}+{_LONG}+{_RULES}",
}
NAMES = ("segment r", "pairs", "system r", "pairs without wmt17_deen")
OTHERS = ("BLEU-4", "chrF")


def load(folder: Path, name: str) -> Segments:
    facts = SETS[name]
    test = read_jsonl(folder / name / "segments.jsonl")
    return test.select(without=facts.get("without", ()), max_references=facts.get("most"))


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
        self.pairs = int((human[:, None] > human[None]).sum())
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


def interval(values: Tensor) -> str:
    """The value on all segments, and where 95% of the draws lie."""
    low, high = values[1:].quantile(torch.tensor([0.025, 0.975], dtype=values.dtype)).tolist()
    return f"{float(values[0]):+.3f} [{low:+.3f}, {high:+.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--candidates", action="store_true", help="also the means that were tried")
    parser.add_argument(
        "--unseen", action="store_true", help="human scores that the search does not use"
    )
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    trees = CachedParser(Parser.load(), options.cache)
    metrics = {**SINGLE, **(CANDIDATES if options.candidates else {})}
    sums: dict[str, list[Tensor]] = {name: [] for name in metrics}
    many = []  # whether a human score has pairs enough to count
    which = "unseen" if options.unseen else "human"
    for name in (name for name in options.sets if which in SETS[name]):
        test = load(options.data, name)
        evaluator = Evaluator({key: make(spec) for key, spec in metrics.items()}, trees)
        found = {scores.name: scores for scores in evaluate_metrics(evaluator, test)}
        for human in SETS[name][which]:
            agreement = Agreement(torch.from_numpy(test.human_scores(human)), options.draws)
            figures = {}
            for key, scores in found.items():
                rows = torch.einsum("dn,snk->dsk", agreement.weights, scores.statistics.double())
                figures[key] = agreement(scores.segments, scores.score(rows))
            many.append(name != "wmt17_deen")
            print(
                f"\n{name}, {human}: {len(test)} segments, {len(test.systems)} systems, "
                f"{agreement.pairs} pairs"
            )
            for key, value in figures.items():
                print(f"{key:24}" + "".join(f"{float(v):10.3f}" for v in value[:, 0]))
                sums[key].append(value)
            for other in OTHERS:
                gap = figures["blend"] - figures[other]
                print(f"{'blend less ' + other:24}" + "  ".join(map(interval, gap)))
    print(f"\nmean over sets and human scores: {', '.join(NAMES)}")
    means = {}
    for key, rows in sums.items():
        figures = torch.stack(rows)  # [H,3,1+draws]
        rest = figures[torch.tensor(many), 1].mean(0, keepdim=True)
        means[key] = torch.cat([figures.mean(0), rest])
        print(f"{key:24}" + "".join(f"{float(value):10.3f}" for value in means[key][:, 0]))
    for other in OTHERS:
        gap = means["blend"] - means[other]
        print(f"{'blend less ' + other:24}" + "  ".join(map(interval, gap)))


if __name__ == "__main__":
    main()
