"""BLEU rewards on token ids against a loop over sacrebleu, and against TensorBLEU (PyPI rxlm).

    python bench/reward.py [--repeats N] [--most-gigabytes G] [--length T] [--concurrent] [--json]

First what a training step asks: 64 segments with 8 samples each, 2 references, one thread, ours on
the ids, sacrebleu in the loop that people write (strings are ready; making them is not counted).
Then one sample a segment for batches of 64 to 4,096, ours and TensorBLEU on the same ids, with the
growth of the process's peak memory. TensorBLEU counts in tables of batch × different n-grams; a
batch whose table would exceed --most-gigabytes is not given to it (it holds three or four at once;
a shorter --length lets it run on larger batches). `pip install --no-deps rxlm`
brings it without its other dependencies; without it that part says so and is left out.

Then minimum Bayes risk decoding of text, 64 hypotheses with 64 pseudo-references a segment, against
mbrs (PyPI, see examples/mbr.py), by all pairs and by averaged references; and self-BLEU of 64 to
512 samples, which grows nearly as their number.

Then 512 samples that are rewarded at the same time, as reward loops do (verl): one by one, each in
one of 32 threads, and by `tensormt.train.batched`; every way has texts of its own, so that no parse
is found in a cache. The same inside verl's own reward loop, by `verl()` and `verl_async()`, where
verl is installed (the line `rollouts` of .ci/run). --concurrent runs this part alone.

Every result is compared with the peer's before a time is printed. Times are processor time of the
process, in turn, as often each, the median; of concurrent samples they are seconds of the clock.
Last, what the other rewards of the same step cost.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from fair import in_turn
from sacrebleu.metrics import BLEU as SacreBLEU
from torch import Tensor

import tensormt as tm
from tensormt.registry import make
from tensormt.train.batcher import batched
from tensormt.train.functional import scores
from tensormt.train.mbr import best, nbest
from tensormt.train.rewards import Reward
from tensormt.train.text_reward import TextReward

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

VOCABULARY, PAD = 100_000, 0


def made(
    segments: int, samples: int, refs: int, length: int = 40, seed: int = 1
) -> tuple[Tensor, Tensor]:
    """Zipf-like ids: samples [B,K,T] and references [B,R,T], noisy copies of a hidden text."""
    generator = torch.Generator().manual_seed(seed)
    weights = 1.0 / torch.arange(3, VOCABULARY + 2)

    def words(*shape: int) -> Tensor:
        count = int(torch.tensor(shape).prod())
        drawn = torch.multinomial(weights, count, True, generator=generator) + 1
        return drawn.view(shape)

    hidden = words(segments, 1, length)

    def noisy(number: int) -> Tensor:
        shape = (segments, number, length)
        change = torch.rand(shape, generator=generator) < 0.3
        text = torch.where(change, words(*shape), hidden)
        lengths = torch.randint(length // 2, length + 1, (segments, 1, 1), generator=generator)
        lengths = lengths + torch.randint(-3, 4, (segments, number, 1), generator=generator)
        return text * (torch.arange(length) < lengths)

    return noisy(samples), noisy(refs)


def agree(name: str, ours: Tensor, theirs: Tensor, within: float) -> None:
    gap = (ours - theirs).abs().max().item()
    if not gap <= within:
        raise SystemExit(f"{name}: results differ by {gap}: no time is of interest")


def strings(ids: Tensor) -> list[str]:
    return [" ".join(str(k) for k in row if k != PAD) for row in ids.tolist()]


def against_sacrebleu(repeats: int) -> dict[str, float]:
    samples, refs = made(64, 8, 2)
    reward = Reward(tm.BLEU(effective_order=True), pad=PAD)
    texts = [strings(row) for row in samples]
    others = [strings(row) for row in refs]
    peer = SacreBLEU(effective_order=True, tokenize="none")

    def loop() -> list[float]:
        return [
            peer.sentence_score(text, own).score
            for row, own in zip(texts, others, strict=True)
            for text in row
        ]

    found = reward(samples, refs)
    agree("sacrebleu", found.flatten(), torch.tensor(loop(), dtype=torch.float64), 1e-9)
    ours, theirs = in_turn(lambda: reward(samples, refs), loop, runs=repeats)
    return {"samples": found.numel(), "ours ms": ours * 1e3, "peer ms": theirs * 1e3}


def grown(call: Callable[[], Tensor]) -> tuple[Tensor, float]:
    """What a call gives, and by how many megabytes it raised the resident set (Linux)."""

    def status(name: str) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024

    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = status("VmRSS")
    result = call()
    return result, status("VmHWM") - before


def table_gigabytes(samples: Tensor, refs: Tensor) -> float:
    """The size of one of TensorBLEU's tables: batch × different n-grams, the largest order."""
    texts = [samples, *refs.unbind(1)]
    different = max(
        torch.unique(
            torch.cat([text.unfold(1, n, 1).flatten(0, 1) for text in texts]), dim=0
        ).shape[0]
        for n in (1, 4)
    )
    return samples.shape[0] * different * 8 / 1e9


def against_tensorbleu(repeats: int, most: float, length: int) -> list[dict[str, float | str]]:
    try:
        from rxlm.metrics.tensorbleu import tensor_sentence_bleu
    except ImportError:
        return []
    metric = tm.BLEU(smooth="none")
    rows: list[dict[str, float | str]] = []
    for size in (64, 128, 256, 512, 1024, 2048, 4096):
        hyp, refs = made(size, 1, 2, length)
        hyp = hyp[:, 0]

        def ours(hyp: Tensor = hyp, refs: Tensor = refs) -> Tensor:
            return scores(metric, hyp, refs, pad=PAD)

        def peer(hyp: Tensor = hyp, refs: Tensor = refs) -> Tensor:
            found: Tensor = tensor_sentence_bleu(hyp, refs, PAD, smoothing_method="none")
            return found

        mine, memory = grown(ours)
        row: dict[str, float | str] = {"batch": size, "ours MB": memory}
        gigabytes = table_gigabytes(hyp, refs)
        if gigabytes <= most:
            theirs, row["peer MB"] = grown(peer)
            theirs = theirs.double() * 100
            # the peer puts a small number for 0 where an order has no match, and takes the first of
            # two references that are equally close in length, not the shorter
            gap = (refs != PAD).sum(-1) - (hyp != PAD).sum(-1, keepdim=True)
            alike = (mine > 0) & ((gap[:, 0] != -gap[:, 1]) | (gap[:, 0] == 0))
            agree("TensorBLEU", mine[alike], theirs[alike], 1e-3)
            seconds = in_turn(ours, peer, runs=max(repeats // 2, 1))
            row |= {"ours ms": seconds[0] * 1e3, "peer ms": seconds[1] * 1e3}
        else:
            row["peer"] = f"not run: each of its tables would take {gigabytes:.1f} GB"
            row["ours ms"] = in_turn(ours, runs=repeats)[0] * 1e3
        rows.append(row)
    return rows


def against_mbrs(repeats: int) -> list[dict[str, float | str]]:
    """MBR of text, 64 × 64; the choices and their scores are compared first."""
    from mbr import load_mbrs, same_choice

    peers = load_mbrs()
    if peers is None:
        return []
    samples, _ = made(3, 64, 1)
    texts = [strings(row) for row in samples]
    reward = TextReward(tm.BLEU(effective_order=True))
    rows: list[dict[str, float | str]] = []
    for name, decoder, ours in (
        ("all pairs", peers[0], lambda some: nbest(reward.utility(some))),
        ("averaged references", peers[1], lambda some: best(reward.aggregate(some))),
    ):
        for own in texts:
            found = ours([own])
            peer = decoder.decode(own, own)
            same_choice(name, own, type(found)(found.indices[0], found.scores[0]), peer)
        spent = in_turn(
            lambda ours=ours: [ours([own]) for own in texts],
            lambda decoder=decoder: [decoder.decode(own, own) for own in texts],
            runs=repeats,
        )
        rows.append({"by": name, "ours ms": spent[0] * 1e3, "peer ms": spent[1] * 1e3})
    return rows


def self_scores() -> dict[int, float]:
    """Milliseconds of self-BLEU of one segment by the number of samples."""
    reward = Reward(tm.BLEU(effective_order=True), pad=PAD)
    found = {}
    for number in (64, 128, 256, 512):
        samples, _ = made(1, number, 1)
        found[number] = in_turn(lambda s=samples: reward.self_score(s), runs=3)[0] * 1e3
    return found


def sentences(number: int, seed: int) -> list[tuple[str, list[str]]]:
    """English-like samples with two references each."""
    rng = random.Random(seed)
    nouns = "dog cat boy girl house garden river teacher letter window".split()
    verbs = "sees finds likes carries paints follows remembers leaves".split()

    def line() -> str:
        first, second, third = (f"the {rng.choice(nouns)}" for _ in range(3))
        return f"{first} {rng.choice(verbs)} {second} near {third} {rng.randint(10, 9999)} times ."

    return [(line(), [line(), line()]) for _ in range(number)]


def concurrent(number: int = 512) -> list[dict[str, float | str]]:
    """Seconds for samples that come at the same time, by metric and way; the median of three."""
    ways: dict[str, Callable[[TextReward, list[tuple[str, list[str]]]], list[float]]] = {
        "one by one": lambda reward, rows: [reward([t], [r]).item() for t, r in rows],
        "threads": by_threads,
        "batched": by_batches,
    }
    table: list[dict[str, float | str]] = []
    for name in ("bleu:effective_order=true", "chrf", "stm:balance=f1"):
        reward = TextReward(make(name), "default")
        reward(["warm up ."], [["warm up ."]])
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for repeat in range(3):
            for k, (way, call) in enumerate(ways.items()):
                rows = sentences(number, 10 * repeat + k)
                begin = time.perf_counter()
                found = call(reward, rows)
                seconds[way].append(time.perf_counter() - begin)
                batch = reward([text for text, _ in rows], [refs for _, refs in rows])
                agree(way, torch.tensor(found, dtype=torch.float64), batch, 1e-9)
        table.append({"metric": name} | {way: median(own) for way, own in seconds.items()})
    return table


def by_threads(reward: TextReward, rows: list[tuple[str, list[str]]]) -> list[float]:
    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(lambda row: reward([row[0]], [row[1]]).item(), rows))


def by_batches(reward: TextReward, rows: list[tuple[str, list[str]]]) -> list[float]:
    score = batched(reward)

    async def run() -> list[float]:
        return await asyncio.gather(*(score(text, refs) for text, refs in rows))

    return asyncio.run(run())


def inside_verl(number: int = 512) -> list[dict[str, float | str]]:
    """Seconds of verl's reward loop for concurrent samples, plain and async; none without verl."""
    try:
        import numpy as np
        from omegaconf import OmegaConf
        from tokenizers import Tokenizer, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast
        from verl import DataProto
        from verl.trainer.ppo.reward import load_reward_manager
    except ImportError as error:
        print(f"verl's reward loop is left out: {error}")
        return []

    def loop(kind: str, spec: str, rows: list[tuple[str, list[str]]]) -> list[float]:
        names = {word: k for k, word in enumerate(sorted({w for t, _ in rows for w in t.split()}))}
        core = Tokenizer(models.WordLevel({"<pad>": len(names), **names}, "<pad>"))
        core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>")
        ids = [[names[word] for word in text.split()] for text, _ in rows]
        width = max(map(len, ids))
        responses = torch.tensor([row + [len(names)] * (width - len(row)) for row in ids])
        real = torch.tensor([[1] * (1 + len(row)) + [0] * (width - len(row)) for row in ids])
        truth = [{"ground_truth": np.array(refs, dtype=object)} for _, refs in rows]
        data = DataProto.from_dict(
            tensors={
                "prompts": torch.zeros(len(rows), 1, dtype=torch.int64),
                "responses": responses,
                "attention_mask": real,
            },
            non_tensors={
                "data_source": np.array(["bench"] * len(rows), dtype=object),
                "reward_model": np.array(truth, dtype=object),
                "extra_info": np.array([{} for _ in rows], dtype=object),
            },
        )
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(
                "from tensormt.train import TextReward\n"
                f"compute_score = TextReward({spec!r}, 'default').{kind}()\n"
            )
            file.flush()
            function = {"path": file.name, "name": "compute_score"}
            manager = {"source": "register", "name": "naive"}
            own = {"custom_reward_function": function, "reward_manager": manager}
            config = OmegaConf.create({"reward": {**own, "reward_kwargs": {}}})

            async def run() -> list[float]:
                loaded = load_reward_manager(config, tokenizer)
                await loaded.run_single(data[:1])  # opens the parser
                begin = time.perf_counter()
                tasks = [loaded.run_single(data[k : k + 1]) for k in range(len(rows))]
                found = await asyncio.gather(*tasks)
                seconds.append(time.perf_counter() - begin)
                return [each["reward_score"] for each in found]

            return asyncio.run(run())

    table: list[dict[str, float | str]] = []
    for spec in ("bleu:effective_order=true", "chrf", "stm:balance=f1"):
        row: dict[str, float | str] = {"metric": spec}
        for seed, kind in enumerate(("verl", "verl_async")):
            rows, seconds = sentences(number, seed), list[float]()
            found = loop(kind, spec, rows)
            batch = TextReward(spec, "default").verl().several(*map(list, zip(*rows, strict=True)))
            ours, theirs = (torch.tensor(own, dtype=torch.float64) for own in (found, batch))
            agree(kind, ours, theirs, 1e-9)
            row[kind] = seconds[0]
        table.append(row)
        print(
            f"512 concurrent samples inside verl's reward loop, {spec}: verl() "
            f"{float(row['verl']) * 1e3:.0f} ms, verl_async() {float(row['verl_async']) * 1e3:.0f} "
            f"ms, ratio {float(row['verl']) / float(row['verl_async']):.1f}"
        )
    return table


def print_concurrent(table: list[dict[str, float | str]]) -> None:
    for row in table:
        one, threads, together = (
            float(row[way]) * 1e3 for way in ("one by one", "threads", "batched")
        )
        print(
            f"512 concurrent samples, {row['metric']}: one by one {one:.0f} ms, 32 threads "
            f"{threads:.0f} ms, batched {together:.0f} ms, ratio {one / together:.0f}"
        )


def others() -> dict[str, float]:
    """Milliseconds of the other rewards of the same step."""
    samples, refs = made(64, 8, 2)
    calls: dict[str, Callable[[], object]] = {}
    for metric in (tm.NIST(info="segment"), tm.BM(), tm.BMA(), tm.NM(info="segment")):
        calls[metric.name] = lambda metric=metric: Reward(metric, pad=PAD)(samples, refs)
    bleu = Reward(tm.BLEU(effective_order=True), pad=PAD)
    calls["BLEU, gain of every token"] = lambda: bleu.shaped(samples, refs)
    calls["BLEU, all pairs of samples"] = lambda: bleu.utility(samples)
    calls["BLEU, self-BLEU"] = lambda: bleu.self_score(samples)
    times = in_turn(*calls.values(), runs=3)
    return {name: spent * 1e3 for name, spent in zip(calls, times, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--most-gigabytes", type=float, default=1.0)
    parser.add_argument("--length", type=int, default=40, help="tokens, for TensorBLEU")
    parser.add_argument("--concurrent", action="store_true", help="concurrent samples alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    together = concurrent()
    if options.concurrent:
        print_concurrent(together)
        inside_verl()
        return
    loop = against_sacrebleu(options.repeats)
    table = against_tensorbleu(options.repeats, options.most_gigabytes, options.length)
    decoding = against_mbrs(options.repeats)
    alike = self_scores()
    rest = others()
    for row in (loop, *table, *decoding):
        if "peer ms" in row:
            row["ratio"] = float(row["peer ms"]) / float(row["ours ms"])
    if options.json:
        print(
            json.dumps(
                {
                    "sacrebleu": loop,
                    "tensorbleu": table,
                    "mbrs": decoding,
                    "self": alike,
                    "concurrent": together,
                    "others": rest,
                },
                indent=1,
            )
        )
        return
    print(
        f"64 x 8 samples, 2 references: ours {loop['ours ms']:.2f} ms, sacrebleu's loop "
        f"{loop['peer ms']:.1f} ms, ratio {loop['ratio']:.0f}"
    )
    if not table:
        print("TensorBLEU is not installed: pip install --no-deps rxlm")
    for row in table:
        line = f"batch {row['batch']:5}: ours {row['ours ms']:8.2f} ms, +{row['ours MB']:.0f} MB"
        if "ratio" in row:
            line += f"; TensorBLEU {row['peer ms']:9.1f} ms, +{row['peer MB']:.0f} MB"
            line += f"; ratio {row['ratio']:.1f}"
        print(line if "ratio" in row else f"{line}; TensorBLEU {row['peer']}")
    if not decoding:
        print("mbrs is not installed: see examples/mbr.py")
    for row in decoding:
        print(
            f"MBR 64 x 64, {row['by']}: ours {row['ours ms']:.1f} ms, "
            f"mbrs {row['peer ms']:.0f} ms, ratio {row['ratio']:.0f}"
        )
    print("self-BLEU: " + ", ".join(f"{k} samples {value:.1f} ms" for k, value in alike.items()))
    print_concurrent(together)
    for name, value in rest.items():
        print(f"{name:28} {value:8.2f} ms")


if __name__ == "__main__":
    main()
