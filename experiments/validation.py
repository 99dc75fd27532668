"""The three papers' experiments on other human-judged sets, as Markdown tables.

    python experiments/validation.py liu-gildea --data FOLDER [--parser NAME|PATH] [--json]
    python experiments/validation.py qin-specia --data FOLDER [--json]
    python experiments/validation.py qarla --data FOLDER [--parser NAME|PATH] [--plots FOLDER]
    python experiments/validation.py ranked-first --data FOLDER [--json]
    [--json] … --cache FOLDER                    keeps parses for later runs

FOLDER holds `webnlg20`, `wmt23_zhen_mqm`, `e2e17` and `summeval`, each with a `segments.jsonl` as
`tensormt metaeval` reads it. The papers' own corpora (MTC-P2, MTC-P4, ACL05-MTE, ISCORPUS) cannot
be had freely. `--no-trees` leaves out what needs a parser. docs/validation.md discusses them.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import qarla_draws
import torch

import tensormt.qarla
from tensormt.corrections import holm
from tensormt.data.human_scores import read_jsonl
from tensormt.evaluator import Evaluator
from tensormt.metaeval import correlate, correlate_systems, pairwise_permutation
from tensormt.metaeval.resample import bootstrap_counts
from tensormt.metaeval.scores import Scores, correlate_at, evaluate_metrics
from tensormt.metric import Metric
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.qarla.from_texts import similarity_tensors_from_segments
from tensormt.qarla.plots import save_plots
from tensormt.qarla.similarity_tensors import SimilarityTensors
from tensormt.qarla.summary import Summary, SummaryOptions, summarize
from tensormt.registry import make
from tensormt.segments import Segments
from tensormt.trees.sources import TreeSource

BALANCES = ("precision", "recall", "f1", "brevity")


@dataclass
class Table:
    """One table of results; numbers are printed to three digits."""

    title: str
    header: list[str]
    rows: list[list[Any]]

    def markdown(self) -> str:
        def cell(value: Any) -> str:
            return f"{value:.3f}" if isinstance(value, float) else str(value)

        lines = [self.header, ["---"] * len(self.header), *self.rows]
        body = "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)
        return f"**{self.title}**\n\n{body}\n"


def load(folder: Path, name: str) -> Segments:
    return read_jsonl(folder / name / "segments.jsonl")


def human_scores(test: Segments, name: str) -> torch.Tensor:
    """Human scores, float64 [S,N]."""
    return torch.from_numpy(test.human_scores(name))


# ---------------------------------------------------------------- Liu & Gildea (2005)
def orders_table(
    title: str, sizes: Sequence[int], trees: bool, value: Callable[[Metric[Any]], float]
) -> Table:
    """Lay the metrics out as the paper does: order or depth down, metric across, kernels last."""
    header = ["order", "BLEU", "HWCM", "STM", "DSTM"] if trees else ["order", "BLEU"]
    rows: list[list[Any]] = []
    for n in sizes:
        row: list[Any] = [n, value(make("bleu", max_order=n, smooth="epsilon"))]
        if trees:
            row.append(value(make("hwcm", max_length=n)))
            deep = (
                [value(make("stm", max_depth=n)), value(make("dstm", max_depth=n))]
                if n > 1
                else ["", ""]
            )
            row.extend(deep)
        rows.append(row)
    if trees:
        rows.append(["kernel", "", "", value(make("tkm")), value(make("dtkm"))])
    return Table(title, header, rows)


class Study:
    """Scores of one test set, each metric computed once."""

    def __init__(self, test: Segments, parse: TreeSource | None) -> None:
        self.test, self.parse = test, parse
        self.known: dict[str, Scores] = {}

    def scores(self, metric: Metric[Any]) -> Scores:
        key = metric.signature
        if key not in self.known:
            evaluator = Evaluator({metric.name: metric}, self.parse)
            (self.known[key],) = evaluate_metrics(evaluator, self.test)
        return self.known[key]


def liu_gildea(args: argparse.Namespace, parse: TreeSource | None) -> list[Table]:
    webnlg = load(args.data, "webnlg20").select(min_references=3, max_references=3)
    wmt = load(args.data, "wmt23_zhen_mqm")
    e2e = load(args.data, "e2e17").select(min_references=3, max_references=3)
    natural = human_scores(e2e, "naturalness_z")
    people = {
        "webnlg20": (webnlg, human_scores(webnlg, "fluency"), human_scores(webnlg, "correctness")),
        "wmt23_zhen_mqm": (
            wmt,
            human_scores(wmt, "fluency"),
            human_scores(wmt, "mqm") - human_scores(wmt, "fluency"),
        ),
        "e2e17": (e2e, natural, human_scores(e2e, "quality_z")),
    }
    tables, tests = [], []
    for name, (test, fluency, rest) in people.items():
        study = Study(test, parse)
        human = {"fluency": fluency, "overall": fluency + rest}
        if name != "e2e17":
            tables += _orders(name, study, human, parse is not None)
        if parse is not None:
            tables.append(_balances(name, study, human))
            tests += [_against_bleu(name, study, human, order) for order in (4, 2)]
    return [*tables, *_corrected(tests)]


def _orders(name: str, study: Study, people: dict[str, torch.Tensor], trees: bool) -> list[Table]:
    systems = study.test.systems
    ranking = people["overall"].nanmean(dim=1).argsort(descending=True).tolist()
    # As the paper does: one system people like, one they do not, but neither of the extremes.
    high, low = ranking[len(ranking) // 4], ranking[-1 - len(ranking) // 4]
    everything = list(range(len(systems)))
    views = [
        (f"segments of {systems[high]} (high)", [high], "none"),
        (f"segments of {systems[low]} (low)", [low], "none"),
        ("segments, mean over systems", everything, "system"),
        ("segments, all systems together", everything, "none"),
    ]
    tables = []
    for judgement, human in people.items():
        for label, rows, grouping in views:

            def at_segments(
                metric: Metric[Any],
                human: torch.Tensor = human,
                rows: list[int] = rows,
                grouping: str = grouping,
            ) -> float:
                segments = study.scores(metric).segments
                return float(correlate(human[rows], segments[rows], "pearson", grouping))

            title = f"{name}, {label}, {judgement}"
            tables.append(orders_table(title, range(1, 5), trees, at_segments))

        def at_systems(metric: Metric[Any], human: torch.Tensor = human) -> float:
            return float(correlate_systems(human.nanmean(dim=1), study.scores(metric).systems()))

        title = f"{name}, corpus level over {len(systems)} systems, {judgement}"
        tables.append(orders_table(title, range(1, 7), trees, at_systems))
    return tables


EXCHANGES = 20_000


def _against_bleu(name: str, study: Study, people: dict[str, torch.Tensor], order: int) -> Table:
    """Permutation tests of syntactic metrics against BLEU on the segments of all systems."""
    metrics: dict[str, Metric[Any]] = {
        "HWCM-3": make("hwcm", max_length=3),
        "STM-3": make("stm", max_depth=3),
        "DSTM-2": make("dstm", max_depth=2),
        "TKM": make("tkm"),
        "DTKM": make("dtkm"),
    }
    bleu = make("bleu", max_order=order, smooth="epsilon")
    tables = torch.stack([study.scores(metric).segments for metric in (*metrics.values(), bleu)])
    header = [f"metric - BLEU-{order}"]
    rows: list[list[Any]] = [[label] for label in metrics]
    for judgement, human in people.items():
        header += [f"{judgement}, difference in r", "p"]
        found = pairwise_permutation(human, tables, "pearson", units="both", resamples=EXCHANGES)
        differences, p = found.differences()[:-1, -1].tolist(), found.p()[:-1, -1].tolist()
        for row, difference, chance in zip(rows, differences, p, strict=True):
            row += [difference, chance]
    return Table(f"{name}, segments of all systems together against BLEU-{order}", header, rows)


def _corrected(tables: list[Table]) -> list[Table]:
    """The same tables of tests, their p-values after Holm's correction for all of them."""
    places = [(row, k) for table in tables for row in table.rows for k in range(2, len(row), 2)]
    for (row, k), p in zip(places, holm([row[k] for row, k in places]), strict=True):
        row[k] = p
    return tables


def _balances(name: str, study: Study, people: dict[str, torch.Tensor]) -> Table:
    """Every balance of the fractions beside BLEU, segments of all systems together and systems."""
    metrics: list[tuple[str, Metric[Any]]] = [
        ("BLEU-4 (epsilon)", make("bleu", max_order=4, smooth="epsilon")),
        ("BLEU-4 (exp)", make("bleu", max_order=4)),
    ]
    for balance in BALANCES:
        metrics += [
            (f"STM-4 {balance}", make("stm", max_depth=4, balance=balance)),
            (f"HWCM-4 {balance}", make("hwcm", max_length=4, balance=balance)),
            (f"DSTM-3 {balance}", make("dstm", max_depth=3, balance=balance)),
        ]
    header = ["metric"]
    for judgement in people:
        header += [f"{judgement}, segments", f"{judgement}, systems"]
    rows: list[list[Any]] = []
    for label, metric in metrics:
        row: list[Any] = [label]
        for human in people.values():
            found = study.scores(metric)
            row.append(float(correlate(human, found.segments)))
            row.append(float(correlate_systems(human.nanmean(dim=1), found.systems())))
        rows.append(row)
    return Table(f"{name}, balance", header, rows)


# ---------------------------------------------------------------- Qin & Specia (2015)
def blocks(test: Segments, size: int) -> Segments:
    """Take consecutive segments as documents, for sets that have none."""
    return replace(test, documents=[str(i // size) for i in range(len(test))])


def qin_specia(args: argparse.Namespace, parse: TreeSource | None) -> list[Table]:
    e2e = load(args.data, "e2e17").select(min_references=4, max_references=4)
    webnlg = load(args.data, "webnlg20").select(min_references=3, max_references=3)
    tables = []
    for name, test, judgements in (
        ("e2e17, 4 references", e2e, {"Flu": "naturalness_z", "Acc": "quality_z"}),
        ("webnlg20, 3 references", webnlg, {"Flu": "fluency", "Acc": "correctness"}),
    ):
        # MTC's stories have about nine segments each.
        tables += _qin_specia_on(name, blocks(test, 9), judgements)
    return tables


def _qin_specia_on(name: str, test: Segments, judgements: dict[str, str]) -> list[Table]:
    metrics: dict[str, Metric[Any]] = {
        "BLEU": make("bleu", lowercase=True),
        "BM": make("bm"),
        "BMA": make("bma"),
        "NIST": make("nist"),
        "NM": make("nm"),
        "BM (Zipf)": make("bm", weighting="zipf"),
    }
    columns = evaluate_metrics(Evaluator(metrics), test)
    numbers, names = test.document_numbers()
    documents = torch.from_numpy(numbers), len(names)

    def at(level: str, human: torch.Tensor, column: Scores, grouping: str) -> float:
        return float(correlate_at(level, human, column, "pearson", grouping, documents))

    header = ["", *metrics]
    human = {label: human_scores(test, key) for label, key in judgements.items()}
    systems = [
        [k, *(at("system", table, c, "none") for c in columns)] for k, table in human.items()
    ]
    tables = [Table(f"{name}: system level ({len(test.systems)} systems)", header, systems)]
    for label, table in human.items():
        rows = []
        for s, system in enumerate(test.systems):
            one = torch.full_like(table, torch.nan)
            one[s] = table[s]
            rows.append([system, *(at("document", one, c, "system") for c in columns)])
        means = [at("document", table, c, "system") for c in columns]
        title = f"{name}: document level ({len(names)} blocks of 9 segments), {judgements[label]}"
        tables.append(Table(title, header, [*rows, ["Mean", *means]]))
    segments = [
        [k, *(at("segment", table, c, "system") for c in columns)] for k, table in human.items()
    ]
    tables.append(Table(f"{name}: segment level, mean over systems", header, segments))
    return tables


# ---------------------------------------------------------------- QARLA (Amigó et al. 2005)
EXTRACTIVE = ("Lead-3", "NEUSUM", "BanditSum", "RNES")
RULES = ("dangnt", "forge1", "forge3", "tr2", "tuda")


def qarla(args: argparse.Namespace, parse: TreeSource | None) -> list[Table]:
    own = ["rouge1", "rouge1-content-stem", "vector", "vector-1", "vector-8", "vector-64"]
    ngram = ["bleu", "nist"]
    syntax = ["stm", "hwcm", "dstm"] if parse is not None else []
    metrics: dict[str, Callable[[], Metric[Any]]] = {
        "bleu": lambda: make("bleu", max_order=4, lowercase=True),
        "nist": lambda: make("nist"),
        "stm": lambda: make("stm", max_depth=4, balance="f1"),
        "hwcm": lambda: make("hwcm", max_length=4, balance="f1"),
        "dstm": lambda: make("dstm", max_depth=3, balance="f1"),
    }
    summeval = load(args.data, "summeval").select(max_references=10, without=["Human-H"])
    e2e = load(args.data, "e2e17").select(min_references=5, max_references=10)
    tables = []
    for name, test, kinds, judgements in (
        ("summeval", summeval, ("extractive", EXTRACTIVE, "abstractive"), ("relevance", "fluency")),
        ("e2e17", e2e, ("rules", RULES, "learned"), ("quality_z", "naturalness_z")),
    ):
        names = own + ngram + syntax
        evaluator = Evaluator({key: metrics[key]() for key in names if key in metrics}, parse)
        tensors = similarity_tensors_from_segments(test, names, evaluator)
        subsets = {kinds[0]: list(kinds[1])}
        subsets[kinds[2]] = [system for system in test.systems if system not in kinds[1]]
        human = {key: human_scores(test, key) for key in judgements}
        report = summarize(tensors, test.systems, SummaryOptions(), subsets, human)
        if args.plots:
            save_plots(report, args.plots / name)
        tables += _qarla_tables(
            name, report, Redrawn(tensors, test.systems, subsets, human, report)
        )
    return tables


DRAWS = 2000


class Redrawn:
    """The intervals of one bed: cases drawn, and cases and systems."""

    def __init__(
        self,
        tensors: SimilarityTensors,
        systems: Sequence[str],
        subsets: dict[str, list[str]],
        human: dict[str, torch.Tensor],
        report: Summary,
    ) -> None:
        counted = qarla_draws.Counted.of(tensors)
        qarla_draws.check(tensors, counted, human)
        self.drawn = [
            qarla_draws.Drawn.of(counted, human, DRAWS, systems_too)
            for systems_too in (False, True)
        ]
        self.places = [tensors.names.index(name) for name in report.best["metrics"]]
        self.best = sum(1 << k for k in self.places)
        self.kinds = {
            name: torch.tensor([system in chosen for system in systems])
            for name, chosen in {**subsets, "all": list(systems)}.items()
        }
        self.pairs = qarla_draws.Pairs.of(tensors.take(metrics=self.places))
        random = torch.Generator().manual_seed(qarla_draws.SEED)
        self.cases = bootstrap_counts(DRAWS, len(tensors.am), random)

    def kings(self, index: int) -> list[str]:
        """Intervals of KING of one set."""
        return [qarla_draws.interval(drawn.kings[:, index]) for drawn in self.drawn]

    def outside(self) -> list[list[Any]]:
        """KING of what is best in a draw on the cases outside it: set, single, difference."""
        rows = []
        for label, drawn in zip(("cases", "cases, systems"), self.drawn, strict=True):
            both = drawn.outside
            gap = both[:, 0] - both[:, 1]
            means = [float(side.mean()) for side in (both[:, 0], both[:, 1], gap)]
            rows.append([label, *means, qarla_draws.interval(gap)])
        return rows

    def jack(self, name: str) -> list[Any]:
        """The interval of JACK, the number of systems, and how many such sets have no larger."""
        chosen = self.kinds[name]
        values = torch.tensor([self.pairs.jack(times, chosen) for times in self.cases])
        share = "" if bool(chosen.all()) else self.pairs.subsets_at_most(chosen)
        return [qarla_draws.interval(values), int(chosen.sum()), share]

    def together(self, name: str) -> list[str]:
        """Intervals of Figure 7's numbers and of the best set's r, cases and systems drawn."""
        found = self.drawn[1].together(name)
        numbers = [found["pearson"], found["spearman"], found["quarters"]]
        return [
            qarla_draws.interval(values)
            for values in (*numbers, self.drawn[1].correlations[name][:, self.best])
        ]


def _qarla_tables(name: str, report: Summary, redrawn: Redrawn) -> list[Table]:
    best = "+".join(report.best["metrics"])
    kings: list[list[Any]] = [
        [key, value, *redrawn.kings(1 << k)] for k, (key, value) in enumerate(report.kings.items())
    ]
    kings.append([f"best set: {best}", report.best["king"], *redrawn.kings(redrawn.best)])
    against = report.king_and_correlation or {}
    correlations: list[list[Any]] = []
    for key, found in against.items():
        sets = sorted(found["sets"], key=lambda row: row["king"])
        low, high = (
            sum(row["r"] for row in part) / len(part)
            for part in (sets[: len(sets) // 4], sets[-(len(sets) // 4) :])
        )
        values = [found["pearson"], found["spearman"], high - low, report.human[key]["pearson"]]
        cells = [
            f"{value:.3f} {interval}"
            for value, interval in zip(values, redrawn.together(key), strict=True)
        ]
        correlations.append([key, len(sets), *cells[:2], low, high, *cells[2:]])
    drawn = ["95%, cases drawn", "95%, cases and systems drawn"]
    return [
        Table(f"{name}: KING (Figure 5), {report.cases} cases", ["metric", "KING", *drawn], kings),
        Table(
            f"{name}: KING on cases outside the draw of what is best within it, means of draws",
            ["drawn", "best set", "best metric", "difference", "95%"],
            redrawn.outside(),
        ),
        Table(
            f"{name}: JACK with the best set (Figure 6)",
            ["peers", "JACK", drawn[0], "systems", "sets of so many systems with no larger JACK"],
            [[key, value, *redrawn.jack(key)] for key, value in report.jacks.items()],
        ),
        Table(
            f"{name}: KING against correlation with people over all sets (Figure 7)",
            [
                "human score",
                "sets",
                "Pearson",
                "Spearman",
                "mean r, lowest quarter by KING",
                "mean r, highest quarter",
                "highest less lowest",
                "r of the best set",
            ],
            correlations,
        ),
    ]


# ---------------------------------------------------------------- Table 1 of Amigó et al. 2005
TABLE_1_DRAWS = 10_000


def ranked_first(args: argparse.Namespace, parse: TreeSource | None) -> list[Table]:
    """Whether a reference that is taken out of the models scores above every system.

    The paper takes out all texts of one author. The references of summeval are not ordered by
    author, so that a column mixes several; beside the columns, a reference is drawn for each case.
    """
    test = load(args.data, "summeval").select(max_references=10, without=["Human-H"])
    assert all(len(row) == 10 for row in test.reference_rows())
    paper = ["rouge1-content-stem", "vector", "vector-1", "vector-8", "vector-64"]
    tensors = similarity_tensors_from_segments(test, paper)
    best = summarize(tensors, test.systems, SummaryOptions(), {}, {}).best["metrics"]
    found = {}
    for label, more in (
        ("all words", ",balance=recall"),
        ("stems, no stop words", ",balance=recall,stem=yes,stop_words=no"),
        ("all words, F1", ",balance=f1"),
    ):
        specs = [f"rouge:variant={n},references=average{more}" for n in (1, 2, 3, 4)]
        for n, values in enumerate(_held_out_scores(test, specs), 1):
            found[f"ROUGE-{n} ({label})"] = values
    found["QUEEN(ROUGESim)"] = _held_out_queens(tensors.take(metrics=[0]))
    places = [paper.index(name) for name in best]
    found[f"QUEEN(best set: {'+'.join(best)})"] = _held_out_queens(tensors.take(metrics=places))
    random = torch.Generator().manual_seed(qarla_draws.SEED)
    drawn = torch.randint(10, (TABLE_1_DRAWS, len(test)), generator=random)
    rows = []
    for name, values in found.items():
        first = _above_all_systems(values, torch.arange(10)[:, None].expand(10, len(test)))
        share = _above_all_systems(values, drawn).to(torch.float64).mean()
        rows.append([name, f"{int(first.sum())}/10", float(share)])
    header = ["criterion", "columns of references ranked first", "drawn references ranked first"]
    return [
        Table(f"summeval: human summaries ranked first (Table 1), {len(test)} cases", header, rows)
    ]


def _held_out_scores(test: Segments, specs: Sequence[str]) -> list[torch.Tensor]:
    """Scores of all systems and of reference m against the other references, [T,A+1,M] each."""
    evaluator = Evaluator(specs)
    found = []
    for m, own in enumerate(test.references):
        others = [stream for k, stream in enumerate(test.references) if k != m]
        part = evaluator.evaluate(Segments({**test.outputs, " human": own}, others))
        found.append([part.segments(spec).T for spec in specs])
    return [torch.stack(list(values), -1) for values in zip(*found, strict=True)]


def _held_out_queens(tensors: SimilarityTensors) -> torch.Tensor:
    """QUEEN of all systems and of reference m with the other references as models, [T,A+1,M]."""
    found = []
    for m in range(tensors.mm.shape[1]):
        others = [k for k in range(tensors.mm.shape[1]) if k != m]
        am = torch.cat([tensors.am[:, :, others], tensors.mm[:, m : m + 1, others]], 1)
        found.append(tensormt.qarla.queen(am, tensors.mm[:, others][:, :, others]))
    return torch.stack(found, -1)


def _above_all_systems(values: torch.Tensor, held_out: torch.Tensor) -> torch.Tensor:
    """Whether the mean of the references held out, int64 [R,T], is above that of every system, [R].

    values [T,A+1,M]: scores of systems and, last, of reference m, if m is held out.
    """
    cases = torch.arange(values.shape[0])
    means = torch.stack([values[cases, :, places].mean(0) for places in held_out])
    return means[:, -1] > means[:, :-1].max(1).values


EXPERIMENTS: dict[str, Callable[[argparse.Namespace, TreeSource | None], list[Table]]] = {
    "liu-gildea": liu_gildea,
    "qin-specia": qin_specia,
    "qarla": qarla,
    "ranked-first": ranked_first,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=list(EXPERIMENTS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parser", default="english-large")
    parser.add_argument("--cache", type=Path, help="folder that keeps parses for later runs")
    parser.add_argument("--no-trees", action="store_true", help="leave out what needs a parser")
    parser.add_argument("--plots", type=Path, help="folder for the figures of qarla")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    parse: TreeSource | None = None
    if args.experiment in ("liu-gildea", "qarla") and not args.no_trees:
        parse = CachedParser(Parser.load(args.parser), args.cache)
    tables = EXPERIMENTS[args.experiment](args, parse)
    if args.json:
        print(json.dumps([asdict(table) for table in tables]))
    else:
        print("\n".join(table.markdown() for table in tables))


if __name__ == "__main__":
    main()
