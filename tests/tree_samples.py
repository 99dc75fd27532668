"""Random tree batches that several tests share, with the same trees for the oracles."""

import random

import oracles

import tensormt as tm


def random_batch(seed, dependency):
    """Eight trees as a batch and as the oracles' nested tuples."""
    rng = random.Random(seed)
    trees = [oracles.random_tree(rng, rng.randint(1, 30)) for _ in range(8)]
    batch = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])
    if dependency:
        return batch.dependencies(), [oracles.from_heads(*oracles.dependencies(t)) for t in trees]
    return batch, [oracles.skeleton(tree) for tree in trees]
