"""Minimum Bayes risk decoding over samples of a tiny model, checked against mbrs where it is there.

    python examples/mbr.py [--segments 32] [--samples 64] [--check 4]
    pip install --no-deps -c constraints.txt mbrs fastchrf simple-parsing docstring-parser

The model of `minimum_risk.py` has two right orders of words in mind and mixes them in every sample.
The sample that is most like all others (BLEU with each of them as its reference) is better than a
sample taken as it comes; averaging the references first is cheaper and nearly as good. mbrs (PyPI)
makes the same choices from the same text. Half a minute on one CPU core.
"""

import argparse
import resource
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
from minimum_risk import PAD, Writer, data, likelihood

import tensormt as tm
from tensormt.train import TextReward, best, nbest


def sampled(segments: int, samples: int, steps: int) -> tuple[list[list[str]], list[list[str]]]:
    """Samples [B][K] of a model that was trained here, and two streams of references, as text."""
    torch.manual_seed(1)
    device = torch.device("cpu")
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = likelihood(model, *data(64, device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source, refs = data(segments, device)
    with torch.no_grad():
        rows = model(source).exp().flatten(0, 1)
    drawn = torch.multinomial(rows, samples, replacement=True).view(*source.shape, samples)
    drawn = drawn.transpose(1, 2) * (source != PAD)[:, None]
    texts = [[text_of(row) for row in rows] for rows in drawn.tolist()]
    return texts, [[text_of(row) for row in stream] for stream in refs.transpose(0, 1).tolist()]


def text_of(row: list[int]) -> str:
    return " ".join(f"w{k}" for k in row if k != PAD) or "w0"


def load_mbrs() -> tuple[Any, Any] | None:
    """mbrs' decoders with BLEU: by all pairs, and by averaged references; None without mbrs.

    Its neural metrics are imported along with BLEU and need other releases of transformers: empty
    modules stand in for them.
    """

    class Stand(types.ModuleType):
        def __getattr__(self, name: str) -> type:
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    for name in "bertscore bleurt comet cometkiwi metricx xcomet".split():
        sys.modules.setdefault(f"mbrs.metrics.{name}", Stand(name))
    try:
        from mbrs.decoders import DecoderAggregateMBR, DecoderMBR
        from mbrs.metrics.bleu import MetricBLEU
    except ImportError:
        return None
    metric = MetricBLEU(MetricBLEU.Config(num_workers=1))
    return (
        DecoderMBR(DecoderMBR.Config(), metric),
        DecoderAggregateMBR(DecoderAggregateMBR.Config(), metric),
    )


def seconds(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives and its processor time, that of processes it started among it."""

    def now() -> float:
        usage = [resource.getrusage(k) for k in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in usage)

    begin = now()
    found = call()
    return found, now() - begin


def same_choice(name: str, texts: list[str], ours: Any, peer: Any) -> None:
    """Stop unless a segment's choice is the peer's; of equal scores either is right."""
    mine, theirs = int(ours.indices[0]), int(peer.idx[0])
    alike = texts[mine] == texts[theirs] or abs(float(ours.scores[0]) - peer.score[0]) < 1e-4
    if not alike or abs(float(ours.scores[0]) - peer.score[0]) > 1e-3:
        raise SystemExit(f"{name}: ours {mine} {ours.scores}, mbrs {theirs} {peer.score}")


def run(
    segments: int = 32, samples: int = 64, check: int = 4, steps: int = 400
) -> dict[str, float]:
    """Corpus BLEU of the first samples and of both kinds of MBR; how much faster than mbrs."""
    texts, refs = sampled(segments, samples, steps)
    reward = TextReward(tm.BLEU(effective_order=True))
    pairs, pair_time = seconds(lambda: nbest(reward.utility(texts), 1))
    averages, average_time = seconds(lambda: best(reward.aggregate(texts), 1))
    chosen = {
        "the first sample": [row[0] for row in texts],
        "MBR": [row[k] for row, k in zip(texts, pairs.indices[:, 0].tolist(), strict=True)],
        "MBR, averaged": [
            row[k] for row, k in zip(texts, averages.indices[:, 0].tolist(), strict=True)
        ],
    }
    found = {
        name: float(tm.score(hyps, refs, metrics=["bleu"]).corpus["bleu"])
        for name, hyps in chosen.items()
    }
    peers = load_mbrs()
    if peers is None:
        print("mbrs is not installed: its choices are not compared")
        return found
    for name, decoder, own, time in (
        ("MBR", peers[0], pairs, pair_time),
        ("MBR, averaged", peers[1], averages, average_time),
    ):
        taken = 0.0
        for k in range(min(check, segments)):
            rows = texts[k]
            peer, more = seconds(lambda rows=rows, decoder=decoder: decoder.decode(rows, rows))
            taken += more
            same_choice(name, rows, type(own)(own.indices[k], own.scores[k]), peer)
        found[f"{name}: times faster than mbrs"] = taken / min(check, segments) / (time / segments)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--segments", type=int, default=32)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--check", type=int, default=4, help="segments given to mbrs as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, value in run(options.segments, options.samples, options.check).items():
        print(f"{name:40} {value:7.2f}")


if __name__ == "__main__":
    main()
