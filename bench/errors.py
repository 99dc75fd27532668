"""Error rates and ROUGE against sacrebleu, jiwer and rouge-score.

    python bench/errors.py [--data segments.jsonl] [--segments N]

`--data` is a file of rows with `refs` and `sys` (name → `hyp`): outputs with their first reference
are drawn from it; without it, text of Zipf-like words is made, with words replaced, left out and
moved. All jobs go from text to segment scores, on one thread; results are compared before anything
is timed, and both sides run in turn (fair.py). ROUGE-1, 2 and L together are one job, since
rouge-score cuts text into words once for the three.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent))

import jiwer
import sacrebleu
import torch
from fair import Row, machine, race
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

import tensormt as tm
from tensormt.edit.base import ErrorRate

BATCH = 2000


def made(
    segments: int, seed: int = 1, length: float = 2.95, left_out: int = 0
) -> tuple[list[str], list[str]]:
    """Hypotheses and references: the former have words replaced, left out and moved.

    Args:
        segments: How many.
        seed: Of the random numbers.
        length: Mean logarithm of the number of words of a reference.
        left_out: Length of the longest run of words that is left out as a whole.
    """
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    hyps, refs = [], []
    for _ in range(segments):
        ref = rng.choices(words, weights, k=max(3, int(rng.lognormvariate(length, 0.5))))
        hyp = [rng.choice(words) if rng.random() < 0.25 else w for w in ref if rng.random() < 0.9]
        if left_out:
            start = rng.randrange(len(hyp) + 1)
            del hyp[start : start + rng.randint(0, left_out)]
        for _ in range(rng.randint(0, 3)):
            start = rng.randrange(len(hyp) + 1)
            run = hyp[start : start + rng.randint(1, 4)]
            del hyp[start : start + len(run)]
            place = rng.randint(0, len(hyp))
            hyp[place:place] = run
        hyps.append(" ".join(hyp) + ".")
        refs.append(" ".join(ref) + ".")
    return hyps, refs


def drawn(path: str, segments: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Outputs of a file with their first references."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pairs = [(own["hyp"], row["refs"][0]) for row in rows for own in row["sys"].values()]
    pairs = [pair for pair in pairs if all(text and text.strip() for text in pair)]
    chosen = random.Random(seed).sample(pairs, min(segments, len(pairs)))
    return [hyp for hyp, _ in chosen], [ref for _, ref in chosen]


def close(found: torch.Tensor, expected: list[float]) -> None:
    """Raise unless both sides give the same."""
    other = torch.tensor(expected, dtype=torch.float64)
    assert torch.allclose(found, other, rtol=1e-9, atol=1e-12), (found - other).abs().max()


def jobs(hyps: list[str], refs: list[str]) -> Iterator[Row]:
    """TER, WER, CER, and ROUGE without and with stems."""
    texts, batch = (hyps, refs), len(hyps)

    def ours(
        *metrics: ErrorRate | tm.ROUGE, texts: tuple[list[str], list[str]] = texts
    ) -> list[torch.Tensor]:
        sides = tm.TokenBatch.from_texts(texts, metrics[0].tokenize)
        first, *others = metrics  # as tm.score computes metrics that read alike
        rows = first.rows_with(others, sides[0], sides[1:])
        tables = [torch.as_tensor(own) for own in rows]
        return [m.score(own, segment=True) for m, own in zip(metrics, tables, strict=True)]

    ter = sacrebleu.TER()

    # sentences are left out of paragraphs: the path of least edits leaves Tercom's beam
    paragraphs = made(400, length=4.1, left_out=40)
    for job, own in (("TER from text", texts), ("TER of paragraphs from text", paragraphs)):

        def shifts(own: tuple[list[str], list[str]] = own) -> list[float]:
            TercomTokenizer.__call__.cache_clear()
            return [ter.sentence_score(hyp, [ref]).score for hyp, ref in zip(*own, strict=True)]

        close(ours(tm.TER(), texts=own)[0], shifts())
        yield race(
            job,
            "sacrebleu `sentence_score`",
            lambda own=own: ours(tm.TER(), texts=own),
            shifts,
            len(own[0]),
            runs=3,
        )
    few = hyps[:100], refs[:100]

    def alone() -> list[float]:
        return [
            float(ours(tm.TER(), texts=([hyp], [ref]))[0]) for hyp, ref in zip(*few, strict=True)
        ]

    close(torch.tensor(alone(), dtype=torch.float64), shifts(few))
    peer = "sacrebleu `sentence_score`"
    yield race("one segment: TER", peer, alone, lambda: shifts(few), len(few[0]))
    rates: list[tuple[str, ErrorRate, Callable[[str, str], float]]] = [
        ("WER", tm.WER(), jiwer.wer),
        ("CER", tm.CER(), jiwer.cer),
    ]
    for name, metric, peer in rates:
        close(ours(metric)[0], [*map(peer, refs, hyps)])
        yield race(
            f"{name} from text",
            f"jiwer.{name.lower()}, all segments in one call",
            lambda m=metric: ours(m),
            lambda p=peer: p(refs, hyps),
            batch,
        )
    for stem in (False, True):
        scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
        metrics = [tm.ROUGE(variant, stem=stem) for variant in ("1", "2", "l")]

        def rouge(s: RougeScorer = scorer) -> list[list[float]]:
            rows = [*map(s.score, refs, hyps)]
            return [[row[name].fmeasure for row in rows] for name in s.rouge_types]

        for found, expected in zip(ours(*metrics), rouge(), strict=True):
            close(found, expected)
        yield race(
            f"ROUGE-1, 2 and L from text{', stems' * stem}",
            "rouge-score",
            lambda m=metrics: ours(*m),
            rouge,
            batch,
        )


def main() -> None:
    """Print a table of all jobs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", help="rows with refs and sys")
    parser.add_argument("--segments", type=int, default=BATCH)
    args = parser.parse_args()
    torch.set_num_threads(1)
    hyps, refs = drawn(args.data, args.segments) if args.data else made(args.segments)
    words = sum(len(ref.split()) for ref in refs) / len(refs)
    print(f"{machine()}\n{len(hyps):,} segments, references of {words:.0f} words")
    for row in jobs(hyps, refs):
        print(
            f"{row.job:34} {row.peer:38} {row.ours_us:9.1f} {row.peer_us:9.1f} µs {row.shown:>5}×"
        )


if __name__ == "__main__":
    main()
