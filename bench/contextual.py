"""BERTScore's matching against the package bert-score, from the same vectors.

    python bench/contextual.py [--segments N] [--runs N] [--json]

Vectors of random texts of 12 to 62 pieces, 384 numbers each (MiniLM's); a segment has one
reference. Both sides begin with the vectors of pieces as the encoder gives them, and end with
precision, recall and F of every segment, which are compared first. bert-score pads 64 segments at a
time, in the order of the file, as its `score` does. One thread, processor time, in turn, medians.
"""

import argparse
import json
import os

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from bert_score.utils import greedy_cos_idf
from fair import race
from torch.nn.utils.rnn import pad_sequence

import tensormt as tm
from tensormt.vectors.batch import TextVectors, VectorBatch

SIZE = 384
BATCH = 64  # bert-score's


def texts(number: int, seed: int) -> list[torch.Tensor]:
    """Vectors of the pieces of random texts."""
    random = torch.Generator().manual_seed(seed)
    sizes = torch.randint(12, 63, (number,), generator=random).tolist()
    return [torch.randn(size, SIZE, generator=random) for size in sizes]


def batch(vectors: list[torch.Tensor]) -> VectorBatch:
    """The same for our metric; the first and last piece are special symbols."""
    lengths = torch.tensor([len(own) for own in vectors])
    total, ends = int(lengths.sum()), lengths.cumsum(0)
    words = torch.arange(total)
    words[ends - 1] = words[ends - lengths] = -1
    none = torch.zeros(total, 2, dtype=torch.int64)
    found = TextVectors([""] * len(vectors), torch.cat(vectors), lengths, words, words, none)
    return VectorBatch(found, torch.arange(len(vectors)))


def theirs(hyps: list[torch.Tensor], refs: list[torch.Tensor]) -> torch.Tensor:
    """Precision, recall and F by bert-score, float32 [N,3]."""
    found = []
    for start in range(0, len(hyps), BATCH):
        sides = []
        for part in (refs[start : start + BATCH], hyps[start : start + BATCH]):
            weights = [torch.ones(len(own)) for own in part]
            for own in weights:
                own[0] = own[-1] = 0
            masks = pad_sequence([torch.ones(len(own)) for own in part], batch_first=True).bool()
            vectors = pad_sequence(part, batch_first=True, padding_value=2.0)
            sides += [vectors, masks, pad_sequence(weights, batch_first=True)]
        found.append(torch.stack(greedy_cos_idf(*sides), 1))
    return torch.cat(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    hyps, refs = texts(options.segments, 1), texts(options.segments, 2)
    hyp, ref = batch(hyps), batch(refs)

    def ours(**settings: object) -> torch.Tensor:
        for side in (hyp, ref):
            side.source._units.clear()  # lengths of vectors are a part of the work
        return tm.BERTScore(**settings).statistics(hyp, [ref])  # type: ignore[arg-type]

    expected = theirs(hyps, refs).double()
    assert torch.allclose(ours()[:, 1:], expected, atol=1e-5)
    jobs = {"greedy, pieces": {}, "one to one, words": {"units": "words", "matching": "one_to_one"}}
    rows = [
        race(
            f"matching, {name}",
            "bert-score, greedy",
            lambda settings=settings: ours(**settings),
            lambda: theirs(hyps, refs),
            options.segments,
            runs=options.runs,
        )
        for name, settings in jobs.items()
    ]
    if options.json:
        print(json.dumps([row.data() for row in rows]))
    for row in [] if options.json else rows:
        print(f"{row.job:32}{row.ours_us:8.1f} µs{row.peer_us:10.1f} µs of {row.peer}: {row.shown}")


if __name__ == "__main__":
    main()
