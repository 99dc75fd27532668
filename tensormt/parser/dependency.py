"""Dependency trees straight from a supar biaffine checkpoint (Dozat and Manning 2017).

    head(d) = argmax over h of s(d, h),   s biaffine in vectors of the dependent and the head

Heads that are no tree (a cycle, two roots, none) are found by pointer jumping, a whole batch at a
time, and only those sentences are decoded again by supar's spanning tree. The result is a Forest
whose nodes are the words; a segment of several sentences hangs the later roots on the first one.
"""

from typing import Any

import torch
from torch import Tensor

from tensormt.kernels.arrays import nonzero, repeat
from tensormt.kernels.nodes import Nodes
from tensormt.parser.decode import Forest
from tensormt.parser.model import spanning_heads, supar_encode
from tensormt.parser.network import Lexicon


def are_trees(heads: Tensor, lengths: Tensor) -> Tensor:
    """Whether heads int64 [B,T] (0 the root, words from 1) are trees with one root: bool [B]."""
    rows, width = heads.shape
    inside = torch.arange(width, device=heads.device) < lengths[:, None]
    roots = (heads.eq(0) & inside).sum(1)
    reach = torch.cat((heads.new_zeros(rows, 1), heads.masked_fill(~inside, 0)), 1)
    for _ in range(width.bit_length()):
        reach = reach.gather(1, reach)
    return roots.eq(1) & reach.eq(0).all(1)


class DependencyNetwork:
    """A supar biaffine dependency model on a device, run over batches of sentences."""

    kind = "dependency"

    def __init__(self, parser: Any, device: torch.device) -> None:
        self.parser, self.device = parser, device
        self.model = parser.model.to(device).eval()

    def lexicon(self, types: list[str]) -> Lexicon:
        """Words go to supar's own fields as they are."""
        return Lexicon(types)

    @torch.inference_mode()
    def parse(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor, mbr: bool = True) -> Forest:
        """Trees of sentences: types int64 [B,T] (-1 fills up), int64 [B] -> Forest of words."""
        pairs = zip(rows.tolist(), lengths.tolist(), strict=True)
        sentences = [[lexicon.types[i] for i in row[:length]] for row, length in pairs]
        x = supar_encode(self.parser, sentences, self.device)
        place = torch.arange(x.shape[1], device=self.device)
        inside = place <= lengths[:, None]
        scores = self.model.arc_attn(self.model.arc_mlp_d(x), self.model.arc_mlp_h(x))
        scores = scores.masked_fill(~inside[:, None], -1e32)
        heads = scores.argmax(-1)[:, 1:]
        bad = nonzero(~are_trees(heads, lengths))
        if len(bad):
            heads[bad] = spanning_heads(scores[bad], lengths[bad])[:, 1:]
        cells = nonzero(inside[:, 1:])
        word = (place[1:] - 1).expand(len(rows), -1).flatten()[cells]
        return Forest(word, heads.flatten()[cells] - 1, word, lengths)


def join(forest: Forest, segment: Tensor, segments: int, ids: Tensor) -> Nodes:
    """Dependency trees of segments; the roots of later sentences hang on the first one's.

    segment int64 [S] rises; ids int64 [n] are the words of all sentences in order.
    """
    owner, _ = repeat(forest.counts)
    of_node = segment[owner]
    before = forest.counts.cumsum(0) - forest.counts
    place = torch.arange(len(owner), device=segment.device)
    first = torch.full((segments,), len(owner), dtype=torch.int64, device=segment.device)
    root = forest.parent < 0
    first = first.scatter_reduce(0, of_node, torch.where(root, place, len(owner)), "amin")
    above = torch.where(first[of_node] == place, -1, first[of_node])
    parent = torch.where(root, above, forest.parent + before[owner])
    zeros = torch.zeros(segments + 1, dtype=torch.int64, device=segment.device)
    offsets = zeros.index_add(0, segment + 1, forest.counts).cumsum(0)
    width = int((offsets[1:] - offsets[:-1]).max()) if segments else 0
    return Nodes(parent, ids, ids, offsets, width)
