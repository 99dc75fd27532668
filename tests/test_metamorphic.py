"""What must not change a score: order, duplicates, chunks, the route of the input, the interface.

Random texts with blank outputs, missing references and references that equal each other; metrics on
trees read the trees of a stand-in for a parser.
"""

import csv
import gzip
import io
import json
import random
import tempfile
from html import escape
from pathlib import Path

import hostile
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.command.main import main
from tensormt.evaluator import Evaluator
from tensormt.scale import score_files
from tensormt.segments import Segments
from tensormt.statistics import Totals
from tensormt.train import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore

pytestmark = pytest.mark.heavy(needs="minutes")

NGRAM = [
    "bleu",
    "bleu:lowercase=yes,smooth=floor",
    "nist",
    "bm",
    "bma",
    "nm",
    "chrf",
    "chrf:word_order=2",
]
TREE = [
    *("stm", "tkm", "hwcm", "dstm", "dtkm", "stm:balance=f1", "stm:balance=recall,max_depth=2"),
    *("hwcm:balance=f1,max_length=2", "dstm:balance=f1", "stm:balance=brevity"),
]
WORDS = "a b c the dog Dog . , ! ΑΣ.Α &QUOT; 1.5 é 犬".split()
seeds = st.integers(0, 2**32)


class Parser:
    """A tree whose shape depends on the words."""

    fingerprint, kind = "stand-in", "constituency"

    def __call__(self, lines):
        return tm.TreeBatch.from_brackets([self.tree((line or "").split()) for line in lines])

    def tree(self, words):
        if not words:
            return ""
        made = f"(X {words[0]})".replace("(X (", "(X -LRB-")
        for word in words[1:]:
            made = f"(S{len(word) % 3} {made} (X{len(word) % 2} {word}))"
        return made


def corpus(seed, systems=1):
    """Outputs by system, and R streams of references; every segment has one."""
    draw = random.Random(seed)

    def line(least=0):
        return " ".join(draw.choices(WORDS, k=draw.randint(least, 7)))

    size, streams = draw.choice([1, 2, 5, 40]), draw.randint(1, 4)
    refs = [[line() if draw.random() < 0.7 else "" for _ in range(size)] for _ in range(streams)]
    for k in range(size):
        if not any(stream[k] for stream in refs):
            draw.choice(refs)[k] = line(1)
        if draw.random() < 0.3:
            draw.choice(refs)[k] = next(stream[k] for stream in refs if stream[k])
    hyps = [
        [draw.choice([line(), next(s[k] for s in refs if s[k])]) for k in range(size)]
        for _ in range(systems)
    ]
    return hyps, refs


def scored(hyps, refs, metrics=NGRAM + TREE):
    found = tm.score(hyps, refs, metrics, parser=Parser())
    return {m: found.segments[m].tolist() for m in metrics}, dict(found.corpus)


def close(one, two):
    return one == pytest.approx(two, rel=1e-12, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_order_of_segments(seed):
    (hyps,), refs = corpus(seed)
    order = random.Random(seed).sample(range(len(hyps)), len(hyps))
    segments, whole = scored(hyps, refs)
    moved, again = scored([hyps[k] for k in order], [[ref[k] for k in order] for ref in refs])
    assert close(again, whole)
    for name, values in segments.items():
        assert close(moved[name], [values[k] for k in order]), name


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_order_of_references(seed):
    (hyps,), refs = corpus(seed)
    segments, whole = scored(hyps, refs)
    for order in (refs[::-1], random.Random(seed).sample(refs, len(refs))):
        moved, again = scored(hyps, order)
        for name in segments:
            assert close(moved[name], segments[name]), name
            # chrF counts the first of equally good references, as sacrebleu does
            assert name.startswith("chrf") or close(again[name], whole[name]), name


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_duplicates(seed):
    """Of references, but for the diversity of BM; and of the whole corpus."""
    (hyps,), refs = corpus(seed)
    metrics = [name for name in NGRAM + TREE if name not in ("bm", "bma", "nm")]
    segments, whole = scored(hyps, refs, metrics)
    more, again = scored(hyps, [*refs, *refs], metrics)
    assert all(close(more[name], segments[name]) for name in metrics)
    assert close(again, whole)
    twice, doubled = scored(hyps * 2, [ref * 2 for ref in refs], metrics)
    assert all(close(twice[name], segments[name] * 2) for name in metrics)
    # smoothed precisions depend on the size; a single segment has HWCM's ε, a corpus of two has not
    for name in metrics if len(hyps) > 1 else ():
        assert name.startswith("bleu") or close(doubled[name], whole[name]), name


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_systems_and_chunks(seed):
    """Systems do not see each other; sums over chunks are exact."""
    outputs, refs = corpus(seed, systems=3)
    streams = [[line or None for line in ref] for ref in refs]
    names = NGRAM + TREE
    expected = {str(k): scored(hyps, refs)[1] for k, hyps in enumerate(outputs)}
    for order in ([0, 1, 2], [2, 0, 1]):
        segments = Segments({str(k): list(outputs[k]) for k in order}, streams)
        evaluator = Evaluator(names, Parser()).fit(segments)
        for size in (1, 3, len(segments)):
            totals = Totals()
            for _, found in evaluator.run(segments, size):
                totals.add(found)
            for k in order:
                found = totals.corpus_scores(evaluator.metrics, str(k))
                assert close(found, expected[str(k)])


def write_files(folder, hyps, refs):
    """The same segments in every format: arguments of `score` for each."""
    (folder / "h.txt").write_text("".join(f"{line}\n" for line in hyps))
    for k, ref in enumerate(refs):
        (folder / f"r{k}.txt").write_text("".join(f"{line}\n" for line in ref))
        (folder / f"r{k}.gz").write_bytes(gzip.compress((folder / f"r{k}.txt").read_bytes()))
    columns = [f"reference{k}" for k in range(1, 1 + len(refs))]
    rows = list(zip(hyps, *refs, strict=True))
    dicts = [dict(zip(["hypothesis", *columns], row, strict=True)) for row in rows]
    lists = [{"mt": row[0], "gold": list(row[1:])} for row in rows]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in dicts))
    (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lists))
    (folder / "a.tsv").write_text(
        "".join("\t".join(row) + "\n" for row in [["hypothesis", *columns], *rows])
    )
    text = io.StringIO()
    csv.writer(text).writerows([["hypothesis", *columns], *rows])
    (folder / "a.csv").write_text(text.getvalue())

    def markup(kind, lines, system):
        body = "".join(f"<seg id={k}>{escape(line)}</seg>\n" for k, line in enumerate(lines, 1))
        return f'<{kind} setid="x"><doc docid="d" sysid="{system}">{body}</doc></{kind}>'

    (folder / "h.sgm").write_text(markup("tstset", hyps, "s"))
    for k, ref in enumerate(refs):
        (folder / f"r{k}.sgm").write_text(markup("refset", ref, f"r{k}"))
    numbers = range(len(refs))
    return [
        [*(f"r{k}.txt" for k in numbers), "-i", "h.txt"],
        [*(f"r{k}.gz" for k in numbers), "-i", "h.txt"],
        ["-i", "a.jsonl"],
        ["-i", "b.jsonl", "--hyp", "mt", "--refs", "gold"],
        ["-i", "a.tsv"],
        ["-i", "a.csv"],
        [*(f"r{k}.sgm" for k in numbers), "-i", "h.sgm"],
    ]


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_every_route_of_input(seed):
    (hyps,), refs = corpus(seed)
    expected = scored(hyps, refs, NGRAM)[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for route in write_files(folder, hyps, refs):
            given = [str(folder / part) if (folder / part).is_file() else part for part in route]
            for chunk in ("1", "7"):
                more = ["-m", *NGRAM, "-f", "json", "-q", "--chunk", chunk]
                status, out, err = hostile.run(main, ["score", *given, *more])
                assert status == 0, err
                (found,) = json.loads(out)["systems"].values()
                assert {m: value["score"] for m, value in found.items()} == expected, route


def test_files_of_shards(tmp_path):
    (hyps,), refs = corpus(12, 1)
    write_files(tmp_path, hyps, refs)
    names = ["bleu", "chrf", "nist"]
    expected = scored(hyps, refs, names)[1]
    for file in ("a.jsonl", "a.tsv", "a.csv"):
        out = tmp_path / f"out {file}"
        found = score_files([tmp_path / file], out, names, workers=1, shard_bytes=400)
        assert found.corpus == expected


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_rewards_and_torchmetrics(seed):
    (hyps,), refs = corpus(seed)
    rows = [[ref for ref in row if ref] for row in zip(*refs, strict=True)]
    names = [name for name in NGRAM + TREE if name not in ("nist", "nm")]
    segments, whole = scored(hyps, refs, names)
    for name in names:
        assert close(TextReward(name, Parser())(hyps, rows).tolist(), segments[name]), name
        wrapped = TorchScore(name, Parser())
        for start in range(0, len(hyps), 3):
            wrapped.update(hyps[start : start + 3], rows[start : start + 3])
        if len(hyps) > 1:
            # rows have no empty references: their order among themselves is that of the streams
            assert close(wrapped.compute().item(), whole[name]), name


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_explanations(seed):
    """The matches that are explained are those that statistics count."""
    (hyps,), refs = corpus(seed)
    source = Parser()
    hyp, *others = (source(lines) for lines in (hyps, *refs))
    for metric in (tm.STM(2, "f1"), tm.HWCM(2), tm.DSTM(2, "recall")):
        found, rows = metric.explain(hyp, others), metric.statistics(hyp, others)
        for order, (column,) in enumerate(found.columns, 1):
            items = found.items
            own = items.hyp.segment[(items.hyp.order == order) & items.counted]
            assert torch.bincount(own, minlength=len(hyps)).tolist() == rows[:, column].tolist()
