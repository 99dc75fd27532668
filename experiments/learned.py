"""Learned weights against the plain metric, BLEU-4 and chrF, by cross-validation over documents.

    python experiments/learned.py --data PATH --human NAME [--metric SPEC …] [--folds N] [--ranking]
                            [--penalty X] [--most-references N] [--cache FOLDER] [--json]

PATH is a `segments.jsonl` with human scores, or a folder that holds one. Documents are dealt into
folds; the weights for a fold are learned from the other folds, so that no output is scored with
weights that saw its document (`learned`). Two checks: `unseen systems` deals systems into folds
too, so that the weights saw neither the document nor the system that they score; `shuffled scores`
learns from human scores in random order: what the procedure gains from nothing. Over all outputs:
Pearson's correlation of segments, the share of pairs of outputs for one source that are ranked as
people rank them, Pearson's correlation of system means; and for the difference of the first between
learned and plain a 95% interval by a paired bootstrap over documents. Settings are those of
`Learned.fit` unless given; its penalty was chosen on the fluency scores of webnlg20, nothing else
was tuned.
"""

import argparse
import itertools
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

import tensormt as tm
from tensormt.data.human_scores import read_jsonl
from tensormt.metaeval import pearson
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.segments import Segments, reference_streams
from tensormt.train.learned import Learned
from tensormt.trees.batch import TreeBatch

RESAMPLES = 1000


class Study:
    """Outputs that people scored: trees [n], their references, and who wrote them where."""

    def __init__(self, data: Segments, human: str, forest: CachedParser) -> None:
        table = torch.from_numpy(data.human_scores(human))
        outputs, rows = list(data.outputs.values()), data.reference_rows()
        cells = [
            (s, k)
            for s, row in enumerate(outputs)
            for k, text in enumerate(row)
            if text is not None and not torch.isnan(table[s, k])
        ]
        self.human = torch.stack([table[s, k] for s, k in cells])
        self.system = torch.tensor([s for s, _ in cells])
        self.segment = torch.tensor([k for _, k in cells])
        self.document = torch.from_numpy(data.document_numbers()[0])[self.segment]
        self.texts = [outputs[s][k] for s, k in cells]
        self.references = [rows[k] for _, k in cells]
        self.hyp = forest(self.texts)
        self.refs = [forest(stream)[self.segment] for stream in data.references]

    def part(self, rows: Tensor) -> tuple[TreeBatch, list[TreeBatch]]:
        return self.hyp[rows], [ref[rows] for ref in self.refs]


def surface(study: Study, spec: str) -> Tensor:
    """Segment scores [n] of a metric on the text."""
    found = tm.score(study.texts, reference_streams(study.references), metrics=[spec])
    return next(iter(found.segments.values()))


def cross_validate(
    study: Study, spec: str, options: argparse.Namespace, dealt: list[Tensor], human: Tensor
) -> Tensor:
    """Scores [n] of weights learned from human scores [n]. Each grouping in `dealt` [n] (documents,
    systems) is dealt into folds; what is scored shares no fold of any with what was learned."""
    generator = torch.Generator().manual_seed(1)
    folds = [
        (torch.randperm(int(groups.max()) + 1, generator=generator) % options.folds)[groups]
        for groups in dealt
    ]
    scores = torch.zeros(len(human), dtype=torch.float64)
    for numbers in itertools.product(range(options.folds), repeat=len(dealt)):
        same = torch.stack([fold == number for fold, number in zip(folds, numbers, strict=True)])
        test, train = same.all(0).nonzero()[:, 0], (~same).all(0).nonzero()[:, 0]
        if not len(test):
            continue
        model = Learned(spec)
        model.fit(
            model.features(*study.part(train)),
            human[train],
            study.segment[train] if options.ranking else None,
            penalty=options.penalty,
        )
        with torch.no_grad():
            scores[test] = model(*study.part(test))
    return scores


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


def figures(score: Tensor, study: Study) -> dict[str, float]:
    """What is printed of scores [n]."""
    return {
        "segment r": float(pearson(score, study.human)),
        "pairs": ranked_right(score, study),
        "system r": float(pearson(system_means(score, study), system_means(study.human, study))),
    }


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
    data = read_jsonl(path).select(max_references=options.most_references)
    study = Study(data, options.human, forest)
    shuffled = study.human[torch.randperm(len(study.human), generator=torch.manual_seed(4))]
    ways = {
        "learned": ([study.document], study.human),
        "unseen systems": ([study.document, study.system], study.human),
        "shuffled scores": ([study.document], shuffled),
    }
    table: list[dict[str, object]] = []
    for spec in ("bleu", "chrf"):
        table.append({"metric": spec, "plain": figures(surface(study, spec), study)})
    for spec in options.metric:
        with torch.no_grad():
            plain = Learned(spec)(study.hyp, study.refs)
        row: dict[str, object] = {"metric": spec, "plain": figures(plain, study)}
        for name, (dealt, human) in ways.items():
            found = cross_validate(study, spec, options, dealt, human)
            row[name] = figures(found, study)
            if name == "learned":
                row["learned - plain, segment r, 95%"] = interval(plain, found, study)
        table.append(row)
    if not options.json:
        print(f"{len(study.human)} outputs, {options.human}")
        for row in table:
            print(row.pop("metric"))
            for name, values in row.items():
                words = values.items() if isinstance(values, dict) else [("", v) for v in values]
                print(f"  {name:32}", "  ".join(f"{k} {v:+.3f}".strip() for k, v in words))
    if options.json:
        print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
