"""Labeled bracket F1 and tag accuracy of predicted trees.

    precision = matched / predicted,  recall = matched / gold,  F1 = 2 matched / (predicted + gold)

A bracket is (start, end, label); the brackets of a sentence are compared as multisets, as evalb
does. The outer root (TOP) and the tags are excluded; tags are evaluated separately, as accuracy
over words. There are two F1 scores: `f1` counts all words and labels; `evalb` follows evalb's
COLLINS.prm: words whose gold tag is punctuation are removed before spans are numbered, and PRT
equals ADVP.
"""

from collections import Counter

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.trees.batch import TreeBatch

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
OUTER = frozenset({"TOP", "ROOT", ""})

Bracket = tuple[int, int, str]


def _brackets(trees: TreeBatch, counted: Tensor, equal: dict[str, str]) -> Counter[Bracket]:
    """All brackets of a batch, words numbered consecutively; counted int64 [n]: 0 or 1 per word."""
    nodes = trees.nodes
    leaf = nodes.word >= 0
    before = torch.cat((counted.new_zeros(1), counted.cumsum(0)))
    start = before[leaf.long().cumsum(0) - leaf.long()]
    width = torch.zeros_like(nodes.parent)
    width[leaf] = counted
    for level in reversed(nodes.levels[1:]):
        width.index_add_(0, nodes.parent[level], width[level])
    names = [equal.get(name, name) for name in trees.labels.strings]
    outer = torch.tensor([name in OUTER for name in names])[nodes.label] & (nodes.parent < 0)
    kept = ~leaf & ~outer & (width > 0)
    rows = torch.stack((start, width, nodes.label), -1)[kept].tolist()
    return Counter((first, size, names[label]) for first, size, label in rows)


def _tags(trees: TreeBatch) -> list[str]:
    labels = trees.nodes.label[trees.nodes.word >= 0].tolist()
    return [trees.labels[label] for label in labels]


def bracket_scores(predicted: TreeBatch, gold: TreeBatch) -> dict[str, float]:
    """Compute F1, evalb's F1 and tag accuracy of trees over the same words.

    Args:
        predicted: Predicted trees.
        gold: Gold trees.

    Returns:
        "f1", "evalb" and "tags", in percent.

    Raises:
        TensorMTError: If numbers of words differ.

    >>> gold = TreeBatch.from_brackets(["(S (NP (DT the) (NN dog)) (VP (VBD ran)))"])
    >>> bracket_scores(gold, gold)["f1"]
    100.0
    """
    if not torch.equal(predicted.tokens.cpu(), gold.tokens.cpu()):
        raise TensorMTError("predicted and gold trees must have the same words, line by line")
    predicted, gold = predicted.to("cpu"), gold.to("cpu")
    guess, truth = _tags(predicted), _tags(gold)
    every = torch.ones(len(truth), dtype=torch.int64)
    words = torch.tensor([tag not in PUNCTUATION for tag in truth], dtype=torch.int64)
    right = sum(a == b for a, b in zip(guess, truth, strict=True))
    scores = {"tags": 100.0 * right / max(len(truth), 1)}
    for name, counted, equal in (("f1", every, {}), ("evalb", words, {"PRT": "ADVP"})):
        ours, theirs = _brackets(predicted, counted, equal), _brackets(gold, counted, equal)
        matched = (ours & theirs).total()
        scores[name] = 200.0 * matched / max(ours.total() + theirs.total(), 1)
    return scores
