"""Minimum-risk training with a BLEU reward, on a toy task, in a minute on one CPU core.

    python examples/minimum_risk.py [--device cuda] [--seeds 3]

The task copies and reorders: of a source w₁ w₂ … wₙ both `w₂ … wₙ w₁` and `wₙ w₁ … wₙ₋₁` are right,
and each training example shows one of them at random. The model is tiny and writes all tokens at
once (non-autoregressive), so likelihood teaches it the mixture of the two orders at every place,
and its best guess mixes them. The reward sees whole outputs: minimum-risk training makes the model
decide for one order. Both ways start from the same model, see the same number of further examples
and are judged on sources that were never seen, by corpus BLEU against both references.
"""

import argparse
import copy
import time

import torch
from torch import Tensor, nn

import tensormt as tm
from tensormt.train.functional import statistics
from tensormt.train.rewards import Reward, minimum_risk

WORDS, LENGTH, PAD = 30, 10, 0


class Writer(nn.Module):
    """Source ids [B,T] to the log-probabilities of all target tokens at once, [B,T,V]."""

    def __init__(self, size: int = 48) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, size)
        self.reader = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.out = nn.Sequential(
            nn.Linear(2 * size, 2 * size), nn.ReLU(), nn.Linear(2 * size, WORDS)
        )

    def forward(self, source: Tensor) -> Tensor:
        hidden, _ = self.reader(self.words(source))
        return self.out(hidden).log_softmax(-1)


def data(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Sources [B,T] of 4…T words, then padding, and their two references [B,2,T]."""
    source = torch.randint(1, WORDS, (size, LENGTH), device=device)
    lengths = torch.randint(4, LENGTH + 1, (size, 1), device=device)
    place = torch.arange(LENGTH, device=device)
    first_last = source.gather(1, (place + 1) % lengths)
    last_first = source.gather(1, (place - 1) % lengths)
    refs = torch.stack([first_last, last_first], 1)
    inside = place < lengths
    return source * inside, refs * inside[:, None]


def likelihood(model: Writer, source: Tensor, refs: Tensor) -> Tensor:
    """Minus the log-likelihood a token of one reference, chosen at random."""
    chosen = torch.randint(2, (len(source), 1, 1), device=source.device)
    target = refs.gather(1, chosen.expand(-1, 1, LENGTH))[:, 0]
    real = target != PAD
    found = model(source).gather(2, target[..., None])[..., 0]
    return -(found * real).sum() / real.sum()


def risk(model: Writer, source: Tensor, refs: Tensor, reward: Reward, number: int) -> Tensor:
    """The expected negative reward of outputs sampled from the model."""
    log_probabilities = model(source)
    rows = log_probabilities.exp().flatten(0, 1)
    samples = torch.multinomial(rows, number, replacement=True).view(*source.shape, number)
    samples = samples.transpose(1, 2) * (source != PAD)[:, None]
    chosen = log_probabilities.gather(2, samples.transpose(1, 2)).transpose(1, 2)
    total = (chosen * (samples != PAD)).sum(-1)
    return minimum_risk(total, reward(samples, refs) / 100, alpha=0.2)


def evaluate(model: Writer, source: Tensor, refs: Tensor) -> float:
    """Corpus BLEU of the best guess at every place."""
    with torch.no_grad():
        output = model(source)[..., 1:].argmax(-1).add(1) * (source != PAD)
    metric = tm.BLEU()
    return float(metric.score(statistics(metric, output, refs, pad=PAD).sum(0), segment=False))


def train(
    device: str = "cpu",
    warm: int = 600,
    more: int = 400,
    batch: int = 64,
    samples: int = 8,
    seed: int = 1,
) -> dict[str, float]:
    """Likelihood for `warm` steps, then `more` steps of either kind; BLEU of the three models."""
    torch.manual_seed(seed)
    where = torch.device(device)
    held = data(500, where)
    reward = Reward(tm.BLEU(smooth="add-k"), pad=PAD)
    model = Writer().to(where)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def run(model: Writer, optimizer: torch.optim.Optimizer, steps: int, by_risk: bool) -> float:
        for _ in range(steps):
            source, refs = data(batch, where)
            loss = (
                risk(model, source, refs, reward, samples)
                if by_risk
                else likelihood(model, source, refs)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return evaluate(model, *held)

    found = {"likelihood": run(model, optimizer, warm, False)}
    for name, by_risk in (("more likelihood", False), ("minimum risk", True)):
        branch = copy.deepcopy(model)
        found[name] = run(branch, torch.optim.Adam(branch.parameters(), lr=2e-3), more, by_risk)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    begin = time.perf_counter()
    found = [train(options.device, seed=seed) for seed in range(1, options.seeds + 1)]
    for name in found[0]:
        bleu = sorted(one[name] for one in found)
        print(f"{name:16} BLEU {bleu[0]:6.2f} to {bleu[-1]:6.2f} over {len(bleu)} seeds")
    print(f"{time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
