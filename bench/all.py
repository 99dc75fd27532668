"""Everything that can be measured without outside data, in ten minutes, as one table.

    python bench/all.py [--write] [--only WORD]

Every job is a race (fair.py): both sides from the same strings where the table does not say
otherwise, as many runs each, in turn, the median of the processor time, one thread; results are
compared before anything is timed. `--write` puts the table into docs/speed.md and docs/speed.json
with the machine's name, and the rows that README.md shows into its table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent))

import end_to_end
import errors
import memory
import ngram
import nltk
import numpy as np
import peers
import qarla as qarla_bench
import reward
import sacrebleu
import syntax
import torch
from fair import Row, forget, machine, race
from nltk.translate.nist_score import corpus_nist
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

import tensormt as tm
from tensormt import qarla

ROOT = Path(__file__).resolve().parent.parent
BATCH = 2000
# the jobs that README.md shows
SHOWN = (
    "STM-4 from brackets, 20 words",
    "TKM from brackets, 20 words",
    "corpus BLEU from text",
    "one segment: BLEU",
)

Jobs = Iterator[Row]


def close(found: torch.Tensor, expected: list[float], within: float = 1e-9) -> None:
    """Raise unless both sides give the same."""
    other = torch.tensor(expected, dtype=torch.float64)
    assert torch.allclose(found, other, rtol=within, atol=1e-12), (found - other).abs().max()


def of_trees() -> Jobs:
    """Metrics on trees, from bracketed text."""
    read = tm.TreeBatch.from_brackets
    hyps, refs = syntax.sentences(BATCH, 20, 1), syntax.sentences(BATCH, 20, 2)
    few = 300
    yield race(
        "read brackets",
        "`nltk.Tree.fromstring`",
        lambda: read(hyps),
        lambda: [nltk.Tree.fromstring(line) for line in hyps[:few]],
        BATCH,
        few,
    )
    yield race(
        "read brackets",
        "lean Python",
        lambda: read(hyps),
        lambda: [peers.read(line) for line in hyps[:few]],
        BATCH,
        few,
    )
    stm, tkm, hwcm = tm.STM(4), tm.TKM(), tm.HWCM(4)
    close(stm(read(hyps[:few]), [read(refs[:few])]), peers.stm(hyps[:few], refs[:few]))
    close(tkm(read(hyps[:few]), [read(refs[:few])]), peers.tkm(hyps[:few], refs[:few]))
    both: list[tuple[str, tm.Metric, Callable[..., list[float]]]] = [
        ("STM-4 from brackets, 20 words", stm, peers.stm),
        ("TKM from brackets, 20 words", tkm, peers.tkm),
    ]
    for job, metric, peer in both:
        yield race(
            job,
            "lean Python",
            lambda m=metric: m(read(hyps), [read(refs)]),
            lambda p=peer: p(hyps[:few], refs[:few]),
            BATCH,
            few,
        )
    heads = [read(lines).dependencies().to_heads() for lines in (hyps, refs)]
    sides = [list(zip(*side, strict=True)) for side in heads]
    make = tm.TreeBatch.from_heads
    close(
        hwcm(make(*heads[0])[:few], [make(*heads[1])[:few]]),
        peers.hwcm(sides[0][:few], sides[1][:few]),
    )
    yield race(
        "HWCM-4 from words and heads",
        "lean Python",
        lambda: hwcm(make(*heads[0]), [make(*heads[1])]),
        lambda: peers.hwcm(sides[0][:few], sides[1][:few]),
        BATCH,
        few,
    )


def against_c() -> Jobs:
    """The tree kernel against a lean C program of the same algorithm."""
    kernel = peers.FastTreeKernel()
    if not kernel.present:
        print("no C compiler: the tree kernel is not raced against bench/treekernel.c")
        return
    read = tm.TreeBatch.from_brackets
    for words in (10, 20, 50, 100, 200):
        count = 40_000 // words
        hyps, refs = syntax.sentences(count, words, 1), syntax.sentences(count, words, 2)
        for lexical in (False, True):
            metric = tm.TKM(lexical=lexical)
            found = metric(read(hyps[:200]), [read(refs[:200])])
            close(found, kernel(hyps[:200], refs[:200], lexical), 1e-8)
            yield race(
                f"TKM from brackets{', lexical' * lexical}, {words} words",
                "C (bench/treekernel.c)",
                lambda m=metric, h=hyps, r=refs: m(read(h), [read(r)]),
                lambda h=hyps, r=refs, x=lexical: kernel(h, r, x),
                count,
            )


def of_tokens() -> Jobs:
    """Metrics on n-grams, from text; made-up text of Zipf-like words."""
    systems, refs = ngram.made(BATCH)
    hyps, few = systems[0], 500
    own = [[ref[k] for ref in refs] for k in range(BATCH)]
    make = tm.TokenBatch.from_text
    cut = Tokenizer13a()

    def tokens() -> list[str]:
        forget()
        return [cut(line) for line in hyps]

    batch = make(hyps)
    assert [" ".join(line) for line in batch.to_tokens()] == tokens()
    yield race("13a tokens to ids", "sacrebleu's tokeniser", lambda: make(hyps), tokens, BATCH)

    segment, corpus = sacrebleu.BLEU(effective_order=True), sacrebleu.BLEU()

    def sentences() -> list[float]:
        forget()
        return [segment.sentence_score(hyps[k], own[k]).score for k in range(few)]

    def whole() -> float:
        forget()
        return corpus.corpus_score(hyps, refs).score

    bleu = tm.BLEU()
    close(bleu(make(hyps), [make(ref) for ref in refs])[:few], sentences())
    close(bleu.corpus(make(hyps), [make(ref) for ref in refs]), whole())
    yield race(
        "segment BLEU from text",
        "sacrebleu `sentence_score`",
        lambda: bleu(make(hyps), [make(ref) for ref in refs]),
        sentences,
        BATCH,
        few,
    )
    yield race(
        "segment BLEU from text",
        "sacrebleu `sentence_score`, its caches warm",
        lambda: bleu(make(hyps), [make(ref) for ref in refs]),
        lambda: [segment.sentence_score(hyps[k], own[k]).score for k in range(few)],
        BATCH,
        few,
    )
    yield race(
        "corpus BLEU from text",
        "sacrebleu `corpus_score`",
        lambda: bleu.corpus(make(hyps), [make(ref) for ref in refs]),
        whole,
        BATCH,
    )
    yield from against_rust(hyps, refs)

    chrf, letters = tm.ChrF(), sacrebleu.CHRF()

    def characters() -> torch.Tensor:
        batch, *others = tm.TokenBatch.from_texts([hyps, *refs], chrf.tokenize)
        return chrf(batch, others)

    def spelt() -> list[float]:
        return [letters.sentence_score(hyps[k], own[k]).score for k in range(few)]

    close(characters()[:few], spelt())
    yield race(
        "segment chrF from text", "sacrebleu `sentence_score`", characters, spelt, BATCH, few
    )
    lines = [line.split() for line in hyps]
    others = [[ref.split() for ref in row] for row in own]
    plain = [[" ".join(words) for words in stream] for stream in (lines,)]
    streams = [[" ".join(row[k]) for row in others] for k in range(len(refs))]

    def nist() -> torch.Tensor:
        metric = tm.NIST(tokenize="none", lowercase=False)
        sides = [make(stream, "none") for stream in (*plain, *streams)]
        return metric.corpus(sides[0], sides[1:])

    def nltk_nist() -> float:
        return corpus_nist(others, lines, 5)

    yield race("NIST from tokens", "nltk (given lists of words)", nist, nltk_nist, BATCH, runs=3)


def against_rust(hyps: list[str], refs: list[list[str]]) -> Jobs:
    """BLEU and chrF against libraries in Rust, where these are installed."""
    bleu, chrf, make = tm.BLEU(), tm.ChrF(), tm.TokenBatch.from_text
    own = [[ref[k] for ref in refs] for k in range(len(hyps))]
    if find_spec("bleuscore"):
        import bleuscore

        def rust() -> dict[str, float]:
            return bleuscore.compute(references=own, predictions=hyps, max_order=4, smooth=False)

        rows = bleu.statistics(make(hyps), [make(ref) for ref in refs]).sum(0)
        shares = [float(rows[3 + k] / rows[7 + k]) for k in range(4)]
        assert np.allclose(shares, rust()["precisions"], rtol=1e-3), "bleuscore differs"
        yield race(
            "13a tokens to ids",
            "bleuscore (Rust), tokens as strings",
            lambda: make(hyps),
            lambda: [bleuscore.tokenizer_13a(line) for line in hyps],
            len(hyps),
        )
        yield race(
            "corpus BLEU from text",
            "bleuscore (Rust)",
            lambda: bleu.corpus(make(hyps), [make(ref) for ref in refs]),
            rust,
            len(hyps),
        )
    if find_spec("fastchrf"):
        import fastchrf

        pairs = [[line] for line in hyps], [[line] for line in refs[0]]

        def characters() -> torch.Tensor:
            batch, other = tm.TokenBatch.from_texts([hyps, refs[0]], chrf.tokenize)
            return chrf(batch, [other])

        found = np.array(fastchrf.pairwise_chrf(*pairs)).reshape(-1)
        assert np.allclose(characters().numpy(), found, atol=0.1), "fastchrf differs"
        yield race(
            "segment chrF from text, one reference",
            "fastchrf (Rust)",
            characters,
            lambda: fastchrf.pairwise_chrf(*pairs),
            len(hyps),
        )


def of_commands() -> Jobs:
    """The command line, start-up included: three lines, and a bootstrap of five systems."""
    systems, (first, *_) = ngram.made(1500)
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, lines in (("ref", first), *(zip("abcde", systems, strict=False))):
            path = Path(folder) / f"{name}.txt"
            path.write_text("\n".join(lines) + "\n", "utf-8")
            (Path(folder) / f"{name}3.txt").write_text("\n".join(lines[:3]) + "\n", "utf-8")
            names.append(name)
        short = ["ref3.txt", "-i", "a3.txt", "-m", "bleu", "chrf"]
        long = ["ref.txt", "-i", *(f"{name}.txt" for name in names[1:]), "-m", "bleu"]

        def command(*arguments: str) -> Callable[[], object]:
            line = [sys.executable, "-m", *arguments]
            return lambda: subprocess.run(line, cwd=folder, capture_output=True, check=True)

        yield race(
            "`score -m bleu chrf` of 3 lines",
            "sacrebleu's command",
            command("tensormt", "score", *short),
            command("sacrebleu", *short),
            1,
        )
        yield race(
            "`compare -m bleu`, 5 systems, 1,500 segments, 10,000 resamples",
            "sacrebleu's command, `--paired-bs`, 1,000 resamples",
            command("tensormt", "compare", *long),
            command("sacrebleu", *long, "--paired-bs"),
            1,
        )


def of_errors() -> Jobs:
    """Error rates and ROUGE, from text."""
    yield from errors.jobs(*errors.made(BATCH))


def of_rewards() -> Jobs:
    """Rewards of 64 prompts with 8 samples and 2 references."""
    samples, refs = reward.made(64, 8, 2)
    ours = reward.Reward(tm.BLEU(effective_order=True), pad=reward.PAD)
    texts, others = [[reward.strings(row) for row in part] for part in (samples, refs)]
    peer = sacrebleu.BLEU(effective_order=True, tokenize="none")

    def loop() -> list[float]:
        return [
            peer.sentence_score(text, own).score
            for row, own in zip(texts, others, strict=True)
            for text in row
        ]

    hyps = [text for row in texts for text in row]
    streams = [
        [own[k] for row, own in zip(texts, others, strict=True) for _ in row] for k in (0, 1)
    ]
    make = tm.TokenBatch.from_text
    bleu = tm.BLEU(effective_order=True, tokenize="none")
    close(ours(samples, refs).flatten(), loop())
    yield race(
        "BLEU rewards from ids",
        "a sacrebleu loop (from strings)",
        lambda: ours(samples, refs),
        loop,
        512,
    )
    yield race(
        "BLEU rewards from strings",
        "a sacrebleu loop",
        lambda: bleu(make(hyps, "none"), [make(s, "none") for s in streams]),
        loop,
        512,
    )


def one_segment() -> Jobs:
    """A batch of one segment and one reference: both sides from the same text, trees or heads."""
    hyps, refs = syntax.sentences(50, 20, 5), syntax.sentences(50, 20, 6)
    read, make, runs = tm.TreeBatch.from_brackets, tm.TreeBatch.from_heads, 21
    heads = [read(lines).dependencies().to_heads() for lines in (hyps, refs)]
    trees = list(zip(hyps, refs, strict=True))
    # words and heads of a hypothesis, then of its reference
    pairs = list(zip(*(zip(*side, strict=True) for side in heads), strict=True))
    stm, tkm, hwcm = tm.STM(4), tm.TKM(), tm.HWCM(4)

    def of_heads() -> list[torch.Tensor]:
        return [
            hwcm(make([words], [above]), [make([others], [over])])
            for (words, above), (others, over) in pairs
        ]

    jobs: list[tuple[str, Callable[[], list[torch.Tensor]], Callable[[], list[float]]]] = [
        (
            "STM-4",
            lambda: [stm(read([h]), [read([r])]) for h, r in trees],
            lambda: [peers.stm([h], [r])[0] for h, r in trees],
        ),
        (
            "TKM",
            lambda: [tkm(read([h]), [read([r])]) for h, r in trees],
            lambda: [peers.tkm([h], [r])[0] for h, r in trees],
        ),
        (
            "HWCM-4 from words and heads",
            of_heads,
            lambda: [peers.hwcm([h], [r])[0] for h, r in pairs],
        ),
    ]
    for name, ours, peer in jobs:
        close(torch.cat(ours()), peer())
        yield race(f"one segment: {name}", "lean Python", ours, peer, 1, runs=runs).each(50)

    systems, (first, *_) = ngram.made(50)
    lines = list(zip(systems[0], first, strict=True))
    text, bleu, chrf = tm.TokenBatch.from_text, tm.BLEU(), tm.ChrF()
    sentence, letters = sacrebleu.BLEU(effective_order=True), sacrebleu.CHRF()

    def tokens(metric: tm.BLEU | tm.ChrF) -> list[torch.Tensor]:
        cut = metric.tokenize
        return [metric(text([h], cut), [text([r], cut)]) for h, r in lines]

    def scores(metric: sacrebleu.BLEU | sacrebleu.CHRF) -> list[float]:
        forget()
        return [metric.sentence_score(h, [r]).score for h, r in lines]

    yield race(
        "one segment: BLEU",
        "sacrebleu `sentence_score`, its caches warm",
        lambda: tokens(bleu),
        lambda: [sentence.sentence_score(h, [r]).score for h, r in lines],
        1,
        runs=runs,
    ).each(50)
    for name, own, other in (("BLEU", bleu, sentence), ("chrF", chrf, letters)):
        close(torch.cat(tokens(own)), scores(other))
        yield race(
            f"one segment: {name}",
            "sacrebleu `sentence_score`",
            lambda m=own: tokens(m),
            lambda m=other: scores(m),
            1,
            runs=runs,
        ).each(50)


def of_qarla() -> Jobs:
    """QUEEN of all metric sets: numpy, one set at a time, and on packed bits."""
    cases, models, others, metrics = 100, 11, 16, 10
    rng = np.random.default_rng(7)
    shape = (cases, others + models, others + models, metrics)
    values = np.round(rng.random(shape) + 2 * rng.random(shape[:3])[..., None], 3)
    am, mm = values[:, :others, others:], values[:, others:, others:]
    tensors = [torch.from_numpy(np.ascontiguousarray(part)) for part in (am, mm)]
    kept = qarla_bench.OneSetAtATime(am, mm, values[:, :others, :others])
    sets = 1 << metrics
    chosen = [int(k) for k in rng.choice(np.arange(1, sets), 40, replace=False)]
    members = [[k for k in range(metrics) if number >> k & 1] for number in chosen]

    def packed() -> np.ndarray:
        """All sets from packed bits, depth first: each from a smaller one by one conjunction."""
        passes = kept._passes(am).reshape(metrics, cases * others, -1)
        bits = np.packbits(passes, axis=-1)
        bits = np.pad(bits, ((0, 0), (0, 0), (0, -bits.shape[-1] % 8))).view(np.uint64)
        found = np.empty((sets, cases * others))
        found[0] = 1
        ones = np.empty(bits.shape[1:], np.uint8)
        held = np.empty((metrics, *bits.shape[1:]), np.uint64)  # the conjunction at each depth

        def visit(number: int, first: int, depth: int) -> None:
            """Count the sets that add metrics from `first` on to a set, depth first."""
            for metric in range(first, metrics):
                here = held[depth]
                if depth:
                    np.bitwise_and(held[depth - 1], bits[metric], out=here)
                else:
                    here[:] = bits[metric]
                np.bitwise_count(here, out=ones)
                found[number | 1 << metric] = ones.sum(-1) / passes.shape[-1]
                visit(number | 1 << metric, metric + 1, depth + 1)

        visit(0, 0, 0)
        return found

    ours = qarla.queen_sets(*tensors)
    for number, group in zip(chosen, members, strict=True):
        np.testing.assert_allclose(ours[..., number].numpy(), kept.queen(group), rtol=1e-12)
    flat = ours.reshape(-1, ours.shape[-1]).T.numpy()
    np.testing.assert_allclose(flat[1:], packed()[1:], rtol=1e-12)
    job = "QUEEN of 1,023 metric sets"
    name = "numpy, a set at a time, comparisons kept"
    yield race(
        job,
        name,
        lambda: qarla.queen_sets(*tensors),
        lambda: [kept.queen(group) for group in members],
        sets - 1,
        len(members),
        runs=3,
    )
    yield race(
        job,
        "numpy on packed bits, depth first",
        lambda: qarla.queen_sets(*tensors),
        packed,
        sets - 1,
    )


# by what --only asks for
PARTS = {
    "trees": of_trees,
    "tree kernel in C": against_c,
    "tokens": of_tokens,
    "error rates and ROUGE": of_errors,
    "rewards": of_rewards,
    "one segment": one_segment,
    "QARLA": of_qarla,
    "command line": of_commands,
}


def references() -> list[str]:
    """BM and chrF with many references: microseconds a reference of a segment."""
    rng = random.Random(1)
    words = [f"w{k}" for k in range(3000)]
    rows, size = [], 100
    metrics: list[tm.BM | tm.ChrF] = [tm.BM(), tm.ChrF()]
    for metric in metrics:
        for number in (4, 16, 64, 200):
            lines = [
                [" ".join(rng.choices(words, k=20)) for _ in range(size)] for _ in range(number + 1)
            ]
            hyp, *refs = tm.TokenBatch.from_texts(lines, *metric.reads.cut)
            times = []
            for _ in range(3):
                start = time.process_time()
                metric.statistics(hyp, refs)
                times.append(time.process_time() - start)
            took = sorted(times)[1] / size / number * 1e6
            rows.append(
                f"- {metric.name}, {number} references, {size} segments: {took:.1f} µs a reference."
            )
    return rows


def streaming() -> list[str]:
    """The command on different text, with and without NIST."""
    rows = []
    jobs: list[tuple[list[str], int, bool]] = [
        (["bleu", "bm"], 100_000, False),
        (["bleu", "nist", "bm"], 100_000, False),
        (["bleu", "nist", "bm"], 400_000, True),
    ]
    for metrics, count, repeated in jobs:
        made = end_to_end.repeated if repeated else end_to_end.different
        found = end_to_end.stream(count, metrics, made)
        kind = "segments, the same twelve over and over" if repeated else "different segments"
        rows.append(
            f"- `tensormt score -m {' '.join(metrics)} --segments`, {found['segments']:,} "
            f"{kind}, 2 references: {found['segments_per_cpu_second']:,.0f} segments "
            f"a second of processor time, start-up included, peak {found['peak_mib']:.0f} MiB."
        )
    for row in memory.curve(100_000):
        rows.append(
            f"- NIST's counts of {row['segments']:,} different segments: {row['ngrams']:,} "
            f"n-grams, {row['table_bytes_per_ngram']:.1f} bytes each, "
            f"{row['peak_bytes_per_ngram']:.0f} at the peak ({row['peak_mib']:.0f} MiB), "
            f"{row['microseconds_per_segment']:.0f} µs a segment."
        )
    return rows


def table(rows: list[dict[str, object]], columns: bool) -> list[str]:
    """The rows as Markdown; with microseconds where `columns`."""
    if columns:
        lines = ["| job | peer | batch | ours, µs | peer, µs | ratio |", "|" + " --- |" * 6]
    else:
        lines = ["| job | peer | batch | ratio |", "|" + " --- |" * 4]
    for row in rows:
        cells = [row["job"], row["peer"], f"{row['batch']:,}"]
        cells += [f"{row[key]:,.1f}" for key in ("ours_us", "peer_us")] if columns else []
        lines.append("| " + " | ".join(map(str, [*cells, row["ratio"]])) + " |")
    return lines


def write(rows: list[dict[str, object]], more: list[str], name: str) -> None:
    """The table into docs/speed.md and docs/speed.json, and its shown rows into README.md."""
    text = ["# Speed", "", f"`python bench/all.py --write` on: {name}.", ""]
    text += [" ".join(line.strip() for line in (__doc__ or "").splitlines()[4:8]), ""]
    text += ["Microseconds are those of one segment (of one metric set for QUEEN).", ""]
    text += [*table(rows, True), "", *more, ""]
    page = ROOT / "docs" / "speed.md"
    _, heading, others = page.read_text().partition("\n## ")  # figures of other scripts
    page.write_text("\n".join(text) + heading + others)
    data = {"machine": name, "rows": rows}
    (ROOT / "docs" / "speed.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    readme = ROOT / "README.md"
    shown = "\n".join(table([row for row in rows if row["job"] in SHOWN], False))
    place = re.compile(r"(<!-- speed -->\n).*?(\n<!-- end of speed -->)", re.DOTALL)
    readme.write_text(place.sub(lambda found: found[1] + shown + found[2], readme.read_text()))


def main() -> None:
    """Race, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", help="the parts whose name holds this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    for name, part in PARTS.items():
        if args.only in name:
            for row in part():
                rows.append(row.data())
                print(table([row.data()], True)[2], flush=True)
    more = [] if args.only else [*references(), *streaming()]
    print("\n".join(more))
    if args.write and not args.only:
        write(rows, more, machine())


if __name__ == "__main__":
    main()
