"""Learned weights against the plain metric, by cross-validation over documents.

    python bench/learned.py --data PATH --human NAME [--metric SPEC …] [--folds N] [--ranking]
                            [--penalty X] [--most-references N] [--cache FOLDER] [--json]

PATH is a `segments.jsonl` with human scores, or a folder that holds one. Documents are dealt into
folds; the weights for a fold are learned from the other folds, so that no output is scored with
weights that saw its document. Printed for the plain and the learned metric, over all outputs:
Pearson's correlation of segments, the share of pairs of outputs for one source that are ranked as
people rank them, Pearson's correlation of system means; and for the difference of the first a 95%
interval by a paired bootstrap over documents. Settings are those of `Learned.fit` unless given; its
penalty was chosen on the fluency scores of webnlg20, nothing else was tuned.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

from tensormt.data.judged import TestSet, read_jsonl
from tensormt.metaeval import pearson
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.train.learned import Learned
from tensormt.trees.batch import TreeBatch

RESAMPLES = 1000


class Study:
    """Outputs that people scored: trees [n], their references, and who wrote them where."""

    def __init__(self, data: TestSet, human: str, forest: CachedParser) -> None:
        table = data.scores(human)
        cells = [
            (s, k)
            for s, row in enumerate(data.outputs)
            for k, text in enumerate(row)
            if text is not None and not torch.isnan(table[s, k])
        ]
        self.human = torch.stack([table[s, k] for s, k in cells])
        self.system = torch.tensor([s for s, _ in cells])
        self.segment = torch.tensor([k for _, k in cells])
        self.document = data.document_numbers()[0][self.segment]
        self.hyp = forest([data.outputs[s][k] for s, k in cells])
        number = max(len(row) for row in data.references)
        streams = [
            forest([row[r] if r < len(row) else None for row in data.references])
            for r in range(number)
        ]
        self.refs = [stream[self.segment] for stream in streams]

    def part(self, rows: Tensor) -> tuple[TreeBatch, list[TreeBatch]]:
        return self.hyp[rows], [ref[rows] for ref in self.refs]


def cross_validate(study: Study, spec: str, options: argparse.Namespace) -> tuple[Tensor, Tensor]:
    """Scores [n] of the plain metric, and of weights learned on the other folds."""
    with torch.no_grad():
        plain = Learned(spec)(study.hyp, study.refs)
    generator = torch.Generator().manual_seed(1)
    count = int(study.document.max()) + 1
    fold = (torch.randperm(count, generator=generator) % options.folds)[study.document]
    scores = torch.zeros_like(plain)
    for number in range(options.folds):
        test, train = (fold == number).nonzero()[:, 0], (fold != number).nonzero()[:, 0]
        model = Learned(spec)
        model.fit(
            model.features(*study.part(train)),
            study.human[train],
            study.segment[train] if options.ranking else None,
            penalty=options.penalty,
        )
        with torch.no_grad():
            scores[test] = model(*study.part(test))
    return plain, scores


def ranked_right(score: Tensor, study: Study) -> float:
    """The share of pairs for one source that people rank and the score ranks alike; ties half."""
    same = study.segment[:, None] == study.segment
    better = (study.human[:, None] > study.human) & same
    gap = score[:, None] - score
    right = (gap > 0).double() + 0.5 * (gap == 0).double()
    return float((right * better).sum() / better.sum())


def system_means(values: Tensor, study: Study) -> Tensor:
    zeros = torch.zeros(int(study.system.max()) + 1, dtype=torch.float64)
    sums = zeros.index_add(0, study.system, values)
    return sums / zeros.index_add(0, study.system, torch.ones_like(values)).clamp_min(1)


def interval(plain: Tensor, learned: Tensor, study: Study) -> tuple[float, float]:
    """95% of the differences of Pearson's r over resampled documents."""
    generator = torch.Generator().manual_seed(2)
    count = int(study.document.max()) + 1
    rows = [(study.document == k).nonzero()[:, 0] for k in range(count)]
    gaps = []
    for _ in range(RESAMPLES):
        drawn = torch.randint(count, (count,), generator=generator).tolist()
        chosen = torch.cat([rows[k] for k in drawn])
        human = study.human[chosen]
        gaps.append(pearson(learned[chosen], human) - pearson(plain[chosen], human))
    low, high = torch.stack(gaps).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--human", required=True)
    parser.add_argument("--metric", nargs="+", default=["stm", "stm:balance=f1", "hwcm:balance=f1"])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--ranking", action="store_true")
    parser.add_argument("--penalty", type=float, default=1e-4)
    parser.add_argument("--most-references", type=int, help="of a segment, the first ones")
    parser.add_argument("--parser", default="default")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = options.data / "segments.jsonl" if options.data.is_dir() else options.data
    forest = CachedParser(Parser.load(options.parser), options.cache)
    data = read_jsonl(path).select(most_references=options.most_references)
    study = Study(data, options.human, forest)
    table = []
    for spec in options.metric:
        plain, learned = cross_validate(study, spec, options)
        row: dict[str, object] = {"metric": spec, "outputs": len(plain)}
        for name, score in (("plain", plain), ("learned", learned)):
            row[name] = {
                "segment r": float(pearson(score, study.human)),
                "pairs": ranked_right(score, study),
                "system r": float(
                    pearson(system_means(score, study), system_means(study.human, study))
                ),
            }
        low, high = interval(plain, learned, study)
        row["difference of segment r, 95%"] = [low, high]
        table.append(row)
        if not options.json:
            print(f"{spec} on {len(plain)} outputs, {options.human}")
            for name in ("plain", "learned"):
                values = row[name]
                assert isinstance(values, dict)
                print(f"  {name:8}", "  ".join(f"{k} {v:.3f}" for k, v in values.items()))
            print(f"  difference of segment r: 95% in {low:+.3f} … {high:+.3f}")
    if options.json:
        print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
