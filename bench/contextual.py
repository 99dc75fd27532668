"""BERTScore's matching against the package bert-score, from the same vectors.

    python bench/contextual.py [--segments N] [--data FILE [--cost]] [--runs N] [--json]

With --data, a `segments.jsonl`: outputs of its systems in turn and their first references, encoded
by MiniLM. Without, vectors of made texts of 384 numbers a piece: lengths of references have the
mean (25 pieces) and spread (logarithms: .47) of WMT17 de-en, those of outputs differ by .16, and a
vector of an output is that of a piece of the reference, in their order, with noise. Both sides
begin with the vectors of pieces as the encoder gives them, and end with precision, recall and F of
every segment, which are compared first. bert-score pads 64 segments at a time, in the order of the
file, as its `score` does. The last row is the floor: the bare products of all pieces, without
padding, each segment alone, which every exact implementation needs. With --cost, and --data, the
cost of whole metrics from text: a segment is one output with one reference, every different text is
parsed and encoded once, nothing is cached. One thread, processor time, in turn, medians.
"""

import argparse
import json
import os
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from bert_score.utils import greedy_cos_idf
from fair import in_turn, race
from torch.nn.utils.rnn import pad_sequence

import tensormt as tm
from tensormt.data.human_scores import read_jsonl
from tensormt.evaluator import Evaluator
from tensormt.parser import Parser
from tensormt.segments import Segments
from tensormt.vectors.batch import TextVectors, VectorBatch
from tensormt.vectors.encoder import load_encoder

SIZE = 384
BATCH = 64  # bert-score's


def made(number: int, seed: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Vectors of the pieces of made outputs and references."""
    random = torch.Generator().manual_seed(seed)
    draws = torch.randn(2, number, generator=random)
    sizes = (draws[0] * 0.47 + 3.12).exp()
    own = (sizes * (draws[1] * 0.16).exp()).round().long().clamp_min(3).tolist()
    refs = [torch.randn(n, SIZE, generator=random) for n in sizes.round().long().clamp_min(3)]
    hyps = []
    for size, ref in zip(own, refs, strict=True):
        place = torch.linspace(0, len(ref) - 1, size).round().long()
        hyps.append(ref[place] + torch.randn(size, SIZE, generator=random))
    return hyps, refs


def real(path: str, number: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """MiniLM's vectors of outputs and references of a set."""
    test = read_jsonl(path)
    systems, refs = list(test.outputs.values()), test.reference_rows()
    places = range(min(number, len(test)))
    texts = [systems[k % len(systems)][k] for k in places], [refs[k][0] for k in places]
    encoder = load_encoder("minilm")
    sides = []
    for lines in texts:
        found = encoder.encode([line or "." for line in lines])
        sides.append(list(found.vectors.split(found.lengths.tolist())))
    return sides[0], sides[1]


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


def cost(path: str, number: int, runs: int) -> None:
    """Print µs a segment of metrics from text, and of parser and encoder alone."""
    test = read_jsonl(path)
    places = range(min(number, len(test)))
    systems, rows = list(test.outputs.values()), test.reference_rows()
    hyps = [systems[k % len(systems)][k] or "." for k in places]
    refs = [rows[k][0] for k in places]
    texts = list(dict.fromkeys([*hyps, *refs]))
    parser, segments = Parser.load(), Segments({"": hyps}, [refs])

    def whole(spec: str) -> Callable[[], object]:
        evaluator = Evaluator([spec], parser)
        return lambda: evaluator.fit(segments).evaluate(segments)

    jobs = {
        "parser": lambda: parser.parse(texts),
        "encoder, minilm": lambda: load_encoder("minilm").encode(texts),
        "encoder, minilm, layer 4": lambda: load_encoder("minilm", 4).encode(texts),
        **{spec: whole(spec) for spec in ("bleu", "chrf", "blend", "bertscore", "blend-context")},
    }
    for work in jobs.values():
        work()
    for name, spent in zip(jobs, in_turn(*jobs.values(), runs=runs), strict=True):
        print(f"{name:32}{spent / len(hyps) * 1e6:10.0f} µs a segment")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--data", help="segments.jsonl; MiniLM is needed")
    parser.add_argument("--cost", action="store_true", help="whole metrics, from text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    number = options.segments
    if options.cost:
        if not options.data:
            parser.error("--cost needs --data")
        cost(options.data, number, options.runs)
        return
    hyps, refs = real(options.data, number) if options.data else made(number, 1)
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
            len(hyps),
            runs=options.runs,
        )
        for name, settings in jobs.items()
    ]

    def products() -> None:
        for own, other in zip(hyps, refs, strict=True):
            torch.mm(own, other.t())

    rows.append(
        race(
            "bare products of pieces",
            "bert-score, greedy",
            products,
            lambda: theirs(hyps, refs),
            len(hyps),
            runs=options.runs,
        )
    )
    if options.json:
        print(json.dumps([row.data() for row in rows]))
    for row in [] if options.json else rows:
        print(f"{row.job:32}{row.ours_us:8.1f} µs{row.peer_us:10.1f} µs of {row.peer}: {row.shown}")


if __name__ == "__main__":
    main()
