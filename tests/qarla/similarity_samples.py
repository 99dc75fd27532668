"""QARLA's measures as in the paper, over nested lists without tensors; and random similarities."""

import itertools
import random

import torch

from tensormt.qarla.similarity_tensors import SimilarityTensors

OPTIONS = list(itertools.product(["pairs", "distinct", "all"], [True, False]))


def triples_of(models, triples):
    for m, first, second in itertools.product(models, repeat=3):
        if triples == "pairs" and first == second:
            continue
        if triples == "distinct" and len({m, first, second}) < 3:
            continue
        yield m, first, second


def oracle_queen(to_models, mm, models, metrics, triples):
    """to_models[m][x] = x(a, m)."""
    passed = total = 0
    for m, first, second in triples_of(models, triples):
        total += 1
        passed += all(to_models[m][x] >= mm[first][second][x] for x in metrics)
    return passed / total


def oracle_king(am, mm, models, peers, metrics, triples, leave_one_out):
    """Over lists of cases; models[t], peers[t] are the real indices of case t."""
    wins = total = 0
    for t in range(len(am)):
        for held in models[t]:
            others = [m for m in models[t] if m != held] if leave_one_out else models[t]
            own = oracle_queen(mm[t][held], mm[t], others, metrics, triples)
            wins += all(
                own > oracle_queen(am[t][a], mm[t], others, metrics, triples) for a in peers[t]
            )
            total += 1
    return wins / total


def oracle_jack(am, mm, aa, models, peers, metrics, triples):
    found = total = 0
    for t in range(len(am)):
        alive = [
            a for a in peers[t] if oracle_queen(am[t][a], mm[t], models[t], metrics, triples) > 0
        ]
        for m in models[t]:
            found += any(
                all(aa[t][a][b][x] <= am[t][a][m][x] for x in metrics)
                for a in alive
                for b in alive
                if a != b
            )
            total += 1
    return found / total


def members(index, count):
    return [x for x in range(count) if index >> x & 1]


def random_similarities(
    seed, ragged=False, values=4, cases=3, peers=4, models=5, metrics=3, lift=1
):
    """Similarities on a few levels, so that ties are everywhere; padding is NaN."""
    source = random.Random(seed)

    def level(bonus=0):
        return float(source.randrange(values) + bonus)

    am = torch.tensor(
        [[[[level() for _ in range(metrics)] for _ in range(models)] for _ in range(peers)]
         for _ in range(cases)], dtype=torch.float64)  # fmt: skip
    mm = torch.tensor(
        [[[[level(source.randrange(lift + 1)) for _ in range(metrics)] for _ in range(models)]
          for _ in range(models)] for _ in range(cases)], dtype=torch.float64)  # fmt: skip
    aa = torch.tensor(
        [[[[level() for _ in range(metrics)] for _ in range(peers)] for _ in range(peers)]
         for _ in range(cases)], dtype=torch.float64)  # fmt: skip
    model_mask = torch.ones(cases, models, dtype=torch.bool)
    peer_mask = torch.ones(cases, peers, dtype=torch.bool)
    if ragged:
        for t in range(cases):
            model_mask[t, source.sample(range(models), source.randrange(2))] = False
            peer_mask[t, source.sample(range(peers), source.randrange(peers - 1))] = False
        am[~(peer_mask[:, :, None] & model_mask[:, None, :])] = float("nan")
        mm[~(model_mask[:, :, None] & model_mask[:, None, :])] = float("nan")
        aa[~(peer_mask[:, :, None] & peer_mask[:, None, :])] = float("nan")
    return am, mm, aa, model_mask, peer_mask


def real(mask):
    return [[k for k, kept in enumerate(row) if kept] for row in mask.tolist()]


def random_tensors(seed, ragged, cases=5, peers=3, models=5, metrics=3, times=1):
    """Random similarities; all cases `times` times over."""
    random = torch.Generator().manual_seed(seed)
    width = peers + models

    def table():
        values = torch.randint(0, 6, (cases, width, width), generator=random).to(torch.float64)
        values[:, peers:, peers:] += 1
        return values

    present = torch.ones(cases, width, dtype=torch.bool)
    if ragged:
        present[1, peers] = present[2, peers + 4] = present[3, 0] = False
    tables = {f"x{k}": table().masked_fill(~present[:, None], torch.nan) for k in range(metrics)}
    tables = {name: table.repeat(times, 1, 1) for name, table in tables.items()}
    return SimilarityTensors.from_tables(tables, present.repeat(times, 1), peers)
