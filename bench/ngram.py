"""The n-gram family against sacrebleu, torchmetrics, bleuscore (Rust) and nltk.

    python bench/ngram.py [--data FOLDER] [--segments N] [--repeats N] [--json]
    python bench/ngram.py --data FOLDER --validate
    python bench/ngram.py --memory 1000000

FOLDER holds `segments.jsonl` of a human-judged set, or several such folders (nine systems, and a
tenth as second reference, are taken from the segments that have ten); without it a corpus of
Zipf-like words is made. Times are from text to scores where a row does not say otherwise, and every
result is compared with the peer's before a time is printed. One thread; times are processor time of
the process, ours and the peer's in turn, as often each, the median. Caches of sacrebleu's
tokenisers are emptied before each run, so that it pays for every line once.

`--validate` compares BLEU with sacrebleu's on all references of every set, however many a segment
has, for two systems, all smoothings, segments and corpus, and prints the largest difference.

`--memory N` streams N segments in chunks and prints the peak of the resident set on the way.
"""

import argparse
import json
import logging
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"

import torch
from fair import forget, in_turn
from nltk.translate.nist_score import corpus_nist
from sacrebleu.metrics import BLEU as SacreBLEU
from sacrebleu.metrics import CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from torchmetrics.functional.text import sacre_bleu_score

from tensormt.ngram import BLEU, BM, BMA, NIST, NM, ChrF
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

SYSTEMS = 9
CHUNK = 2000


def real(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Nine systems and two references from the sets in a folder that have ten systems."""
    systems: list[list[str]] = [[] for _ in range(SYSTEMS)]
    refs: list[list[str]] = [[], []]
    for path in sorted([*folder.glob("segments.jsonl"), *folder.glob("*/segments.jsonl")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            segment = json.loads(line)
            outputs = [output["hyp"] for output in segment["sys"].values()]
            if len(outputs) <= SYSTEMS or not segment["refs"][0].split():
                continue
            for stream, output in zip(systems, outputs, strict=False):
                stream.append(output)
            refs[0].append(segment["refs"][0])
            refs[1].append(outputs[SYSTEMS] if outputs[SYSTEMS].split() else segment["refs"][0])
    return systems, refs


def made(segments: int, seed: int = 1) -> tuple[list[list[str]], list[list[str]]]:
    """Nine systems and two references of Zipf-like words, each a noisy copy of a hidden text."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]

    def noisy(tokens: list[str], rate: float) -> str:
        changed = [rng.choice(words) if rng.random() < rate else token for token in tokens]
        middle = len(changed) // 2
        mark = rng.choice([",", " 1.5", " (so)", "-", ""])
        return f"{' '.join(changed[:middle])}{mark} {' '.join(changed[middle:])}."

    hidden = [
        rng.choices(words, weights, k=max(3, int(rng.lognormvariate(2.95, 0.5))))
        for _ in range(segments)
    ]
    streams = [[noisy(tokens, 0.3) for tokens in hidden] for _ in range(SYSTEMS + 2)]
    return streams[:SYSTEMS], streams[SYSTEMS:]


def check(name: str, ours: float, theirs: float, within: float) -> None:
    if not abs(ours - theirs) <= within:
        raise SystemExit(f"{name}: {ours} differs from the peer's {theirs}: no time is of interest")


def measures(
    systems: list[list[str]], refs: list[list[str]]
) -> Iterator[tuple[str, Callable[[], object], Callable[[], object], float]]:
    """Name, our call, the peer's call, and the ratio that is asked for; results are checked."""
    import bleuscore

    hyps = systems[0]
    lists = [list(own) for own in zip(*refs, strict=True)]

    tokenizer = Tokenizer13a()
    expected = [tokenizer(line.rstrip()).split() for line in hyps]
    if TokenBatch.from_text(hyps).to_tokens() != expected:
        raise SystemExit("13a tokens differ from sacrebleu's")
    yield (
        "13a tokens to ids / sacrebleu's tokeniser",
        lambda: TokenBatch.from_text(hyps),
        lambda: [tokenizer(line.rstrip()) for line in hyps],
        15,
    )

    bleu = BLEU(effective_order=True)
    sacre = SacreBLEU(effective_order=True)

    def segments(chosen: list[list[str]]) -> list[torch.Tensor]:
        ready = References.from_text(refs)
        return [bleu(TokenBatch.from_text(lines), ready) for lines in chosen]

    def sentences(chosen: list[list[str]]) -> list[list[float]]:
        return [
            [sacre.sentence_score(line, own).score for line, own in zip(lines, lists, strict=True)]
            for lines in chosen
        ]

    for one, other in zip(segments(systems), sentences(systems), strict=True):
        gap = (one - torch.tensor(other, dtype=torch.float64)).abs().max()
        check("segment BLEU", float(gap), 0.0, 1e-9)
    yield (
        "segment BLEU, nine systems / sacrebleu",
        lambda: segments(systems),
        lambda: sentences(systems),
        30,
    )
    yield (
        "segment BLEU, one system / sacrebleu",
        lambda: segments([hyps]),
        lambda: sentences([hyps]),
        18,
    )

    plain = BLEU()
    ready = References.from_text(refs)
    cached = SacreBLEU(references=refs)
    check(
        "corpus BLEU",
        float(plain.corpus(TokenBatch.from_text(hyps), ready)),
        cached.corpus_score(hyps, None).score,
        1e-9,
    )
    yield (
        "corpus BLEU, references cached / sacrebleu",
        lambda: plain.corpus(TokenBatch.from_text(hyps), ready),
        lambda: cached.corpus_score(hyps, None),
        12,
    )

    chrf, letters = ChrF(), CHRF()
    streams = [TokenBatch.from_text(stream, chrf.tokenize) for stream in refs]

    def characters() -> torch.Tensor:
        batch, *others = TokenBatch.from_texts([hyps, *refs], chrf.tokenize)
        return chrf(batch, others)

    def strings() -> list[float]:
        pairs = zip(hyps, lists, strict=True)
        return [letters.sentence_score(line, own).score for line, own in pairs]

    gap = (characters() - torch.tensor(strings(), dtype=torch.float64)).abs().max()
    check("segment chrF", float(gap), 0.0, 1e-9)
    yield "segment chrF / sacrebleu", characters, strings, 20
    kept = CHRF(references=refs)
    own = float(chrf.corpus(TokenBatch.from_text(hyps, chrf.tokenize), streams))
    check("corpus chrF", own, kept.corpus_score(hyps, None).score, 1e-9)
    yield (
        "corpus chrF, references cached / sacrebleu",
        lambda: chrf.corpus(TokenBatch.from_text(hyps, chrf.tokenize), streams),
        lambda: kept.corpus_score(hyps, None),
        10,
    )

    def whole(smooth: str = "none") -> float:
        batch, *streams = TokenBatch.from_texts([hyps, *refs])
        return float(BLEU(smooth=smooth).corpus(batch, streams))

    # torchmetrics counts in float32, and of two closest references takes the first, not the shorter
    batch, only = TokenBatch.from_texts([hyps, refs[0]])
    theirs = 100 * float(sacre_bleu_score(hyps, [[line] for line in refs[0]]))
    check("torchmetrics", float(BLEU(smooth="none").corpus(batch, [only])), theirs, 1e-3)
    yield "corpus BLEU / torchmetrics", whole, lambda: sacre_bleu_score(hyps, lists), 70

    rust = bleuscore.compute(references=lists, predictions=hyps, max_order=4, smooth=False)
    # it takes the shortest reference for the brevity penalty: precisions are what can be compared
    rows = plain.statistics(TokenBatch.from_text(hyps), ready).sum(0)
    for order, share in enumerate(rust["precisions"]):
        check("bleuscore", float(rows[3 + order] / rows[7 + order]), share, 1e-3)
    yield (
        "corpus BLEU / bleuscore (Rust)",
        whole,
        lambda: bleuscore.compute(references=lists, predictions=hyps, max_order=4, smooth=False),
        2,
    )

    words = TokenBatch.from_text(hyps, lowercase=True).to_tokens()
    single = TokenBatch.from_text(refs[0], lowercase=True).to_tokens()
    alone = [[own] for own in single]
    other = TokenBatch.from_text(refs[1], lowercase=True).to_tokens()
    both = [list(own) for own in zip(single, other, strict=True)]

    def nist(streams: list[list[str]]) -> float:
        batch, *others = TokenBatch.from_texts([hyps, *streams], lowercase=True)
        return float(NIST().corpus(batch, others))

    def from_tokens(number: int) -> Callable[[], float]:
        batches = TokenBatch.from_texts([hyps, *refs[:number]], lowercase=True)

        def run() -> float:
            batch, *others = map(replace, batches)  # new batches: nothing is counted yet
            return float(NIST().corpus(batch, others))

        return run

    # with several references nltk takes the best one of each order, which is not NIST
    check("NIST", nist(refs[:1]), corpus_nist(alone, words), 1e-9)
    check("NIST", from_tokens(1)(), corpus_nist(alone, words), 1e-9)
    one, two = lambda: corpus_nist(alone, words), lambda: corpus_nist(both, words)
    yield "NIST from tokens / nltk", from_tokens(1), one, 20
    yield "NIST from tokens / nltk, 2 references", from_tokens(2), two, 20
    yield "NIST from text / nltk from tokens", lambda: nist(refs[:1]), one, 0

    def with_text(metric: BLEU | BM) -> torch.Tensor:
        batch, *streams = TokenBatch.from_texts([hyps, *refs], lowercase=True)
        return metric(batch, streams)

    lower = BLEU(lowercase=True)
    yield (
        "BM / BLEU, from text (at most 2)",
        lambda: with_text(BM()),
        lambda: with_text(lower),
        0.5,
    )


def validate(folder: Path) -> None:
    """Print the largest difference from sacrebleu over the sets of a folder."""
    print(f"{'':16} {'segments':>8} {'references':>10} {'scores':>7} {'largest difference':>19}")
    for path in sorted([*folder.glob("segments.jsonl"), *folder.glob("*/segments.jsonl")]):
        lines = path.read_text(encoding="utf-8").splitlines()
        segments = [json.loads(line) for line in lines]
        segments = [s for s in segments if len(s["sys"]) > 1 and any(r.split() for r in s["refs"])]
        own = [[ref for ref in s["refs"] if ref.split()] for s in segments]
        most = max(map(len, own))
        refs = [[some[k] if k < len(some) else None for some in own] for k in range(most)]
        worst, scores = 0.0, 0
        for lowercase in (False, True):
            ready = References.from_text(refs, lowercase=lowercase)
            for system in (0, 1):
                hyps = [list(s["sys"].values())[system]["hyp"] for s in segments]
                batch = TokenBatch.from_text(hyps, lowercase=lowercase)
                for smooth in ("none", "floor", "add-k", "exp"):
                    ours = BLEU(smooth=smooth, effective_order=system == 1, lowercase=lowercase)
                    peer = SacreBLEU(
                        smooth_method=smooth, effective_order=system == 1, lowercase=lowercase
                    )
                    theirs = [
                        peer.sentence_score(hyp, some).score
                        for hyp, some in zip(hyps, own, strict=True)
                    ]
                    theirs.append(peer.corpus_score(hyps, refs).score)
                    mine = torch.cat([ours(batch, ready), ours.corpus(batch, ready)[None]])
                    gap = (mine - torch.tensor(theirs, dtype=torch.float64)).abs().max()
                    worst, scores = max(worst, float(gap)), scores + len(theirs)
        fewest = min(map(len, own))
        print(
            f"{path.parent.name:16} {len(segments):8} {f'{fewest}-{most}':>10} {scores:7} "
            f"{worst:19.1e}",
            flush=True,
        )
        check(path.parent.name, worst, 0.0, 1e-9)


def stream(number: int) -> None:
    """Score many segments chunk by chunk; print the peak of the resident set on the way."""
    systems, refs = made(CHUNK)
    metrics = [BLEU(), BM(), BMA(), NM(info="segment")]
    sums: list[torch.Tensor | None] = [None] * len(metrics)
    start = time.process_time()
    print(f"{'segments':>10} {'peak MB':>8} {'seconds':>8}")
    for done in range(0, number, CHUNK):
        # every chunk has other words, so that nothing can be kept from the last one
        tag = f" w{done}"
        hyp, *streams = TokenBatch.from_texts(
            [[line + tag for line in lines] for lines in (systems[done // CHUNK % SYSTEMS], *refs)]
        )
        ready = References(streams)
        for place, metric in enumerate(metrics):
            rows = metric.statistics(hyp, ready).sum(0)
            old = sums[place]
            sums[place] = rows if old is None else old + rows
        if done // CHUNK in (0, 9, 49, 99, 199) or done + CHUNK >= number:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            seconds = time.process_time() - start
            print(f"{done + CHUNK:>10} {peak:>8.0f} {seconds:>8.1f}", flush=True)
    for metric, total in zip(metrics, sums, strict=True):
        if total is not None:
            print(f"{metric.name}: {float(metric.score(total, segment=False)):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with */segments.jsonl")
    parser.add_argument("--segments", type=int, default=2000, help="segments of the made corpus")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--validate", action="store_true", help="compare only, with --data")
    parser.add_argument("--memory", type=int, default=0, help="only stream so many segments")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    if args.memory:
        stream(args.memory)
        return
    if args.validate:
        if not args.data:
            parser.error("--validate needs --data FOLDER")
        validate(args.data)
        return
    systems, refs = real(args.data) if args.data else made(args.segments)
    size = len(refs[0])
    rows = []
    for name, ours, peer, asked in measures(systems, refs):
        mine, theirs = in_turn(ours, peer, runs=args.repeats, before=forget)
        rows.append(
            {
                "measure": name,
                "microseconds": 1e6 * mine / size,
                "peer_microseconds": 1e6 * theirs / size,
                "ratio": theirs / mine,
                "asked": asked,
            }
        )
        if not args.json:
            if len(rows) == 1:
                print(f"{size} segments, 2 references; microseconds of processor time a segment")
                print(f"{'':44} {'tensormt':>9} {'peer':>9} {'ratio':>7} {'asked':>6}")
            print(
                f"{name:44} {rows[-1]['microseconds']:9.2f} {rows[-1]['peer_microseconds']:9.1f} "
                f"{rows[-1]['ratio']:7.1f} {asked:6}",
                flush=True,
            )
    if args.json:
        print(json.dumps({"segments": size, "rows": rows}))


if __name__ == "__main__":
    main()
