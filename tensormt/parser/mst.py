"""Maximum spanning trees with one root, for sentences whose best heads are not a tree.

Chu and Liu (1965), Edmonds (1967): every word takes its best head; a cycle is contracted to one
node, whose arcs have the score

    s(cycle ← h) = max over words d of the cycle of s(d ← h) − s(d ← head of d in the cycle)

until there is no cycle. If the best tree has several roots, each of them is tried as the only root,
and the best of these trees is returned, as in supar. Few sentences need this, so it runs on the
CPU.
"""

import numpy as np
import torch
from torch import Tensor


def spanning_heads(scores: Tensor, lengths: Tensor) -> Tensor:
    """Find the best trees with one root: float [B,T+1,T+1], int64 [B] -> heads int64 [B,T]."""
    table = scores.double().cpu().numpy()
    heads = np.zeros((len(table), table.shape[1] - 1), np.int64)
    for row, size in enumerate(lengths.tolist()):
        heads[row, :size] = best_tree(table[row, : size + 1, : size + 1])[1:]
    return torch.from_numpy(heads).to(scores.device)


def best_tree(scores: np.ndarray) -> np.ndarray:
    """Find the best tree: scores float [n+1,n+1] (dependent, head; 0: root) -> heads int64 [n+1].

    >>> best_tree(np.array([[0.0, 0, 0], [1, 0, 3], [2, 3, 0]])).tolist()
    [0, 2, 0]
    """
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    heads = _arborescence(scores)
    roots = np.flatnonzero(heads[1:] == 0) + 1
    if len(roots) == 1:
        return heads
    words = np.arange(1, len(scores))
    best, from_root = -np.inf, scores[:, 0].copy()
    for root in roots:
        scores[:, 0] = -np.inf
        scores[root, 0] = from_root[root]
        found = _arborescence(scores)
        total = scores[words, found[1:]].sum()
        if total > best:
            best, heads = total, found
    return heads


def _arborescence(scores: np.ndarray) -> np.ndarray:
    """Heads of the best tree from node 0, which may have several children."""
    heads: np.ndarray = scores.argmax(1)
    heads[0] = 0
    inside = _cycle(heads.tolist())
    if not len(inside):
        return heads
    mask = np.ones(len(heads), bool)
    mask[inside] = False
    outside = np.flatnonzero(mask)
    size = len(outside)
    rest, own = scores[outside], scores[inside]
    down = rest[:, inside]  # the cycle as a head
    up = own[:, outside] - scores[inside, heads[inside]][:, None]  # as a dependent
    lower, upper = down.argmax(1), up.argmax(0)
    smaller = np.full((size + 1, size + 1), -np.inf)
    smaller[:size, :size] = rest[:, outside]
    smaller[:size, size] = down.max(1)
    smaller[size, :size] = up.max(0)
    found = _arborescence(smaller)
    above = found[:size]
    heads[outside] = np.where(above == size, inside[lower], outside[np.minimum(above, size - 1)])
    enters = found[size]
    heads[inside[upper[enters]]] = outside[enters]
    return heads


def _cycle(heads: list[int]) -> np.ndarray:
    """The nodes of a cycle of heads; empty: there is none."""
    state = [0] * len(heads)  # start of the walk that visited the node
    for start in range(1, len(heads)):
        node = start
        while node and not state[node]:
            state[node] = start
            node = heads[node]
        if node and state[node] == start:
            cycle = [node]
            while heads[cycle[-1]] != node:
                cycle.append(heads[cycle[-1]])
            return np.array(cycle)
    return np.array([], np.int64)
