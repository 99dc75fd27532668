"""Dependency trees from a supar biaffine model (Dozat and Manning 2017).

    head(d) = argmax over h of s(d, h),   s biaffine in vectors of the dependent and the head

Heads that are no tree (a cycle, two roots, none) are found by pointer jumping, a whole batch at a
time, and only those sentences are decoded again by a spanning tree (`tensormt.parser.mst`).
Relations are scored at the arcs of the tree only, not at all n² pairs. The result is a Forest whose
nodes are the words, labelled with relations; a segment of several sentences hangs the later roots
on the first one.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tensormt.kernels.backend import nonzero, owners
from tensormt.kernels.nodes import Nodes
from tensormt.parser.char_features import Speller
from tensormt.parser.decode import Forest
from tensormt.parser.encoder import embed, run_chars, run_lstm
from tensormt.parser.model import Settings, supar_encode
from tensormt.parser.mst import spanning_heads
from tensormt.parser.network import TYPES, Lexicon
from tensormt.trees.conllu import LATER

LOW = -1e32
ROWS = 256  # arcs a product: the products of more would leave the cache


def are_trees(heads: Tensor, lengths: Tensor) -> Tensor:
    """Whether heads int64 [B,T] (0 the root, words from 1) are trees with one root: bool [B]."""
    rows, width = heads.shape
    inside = torch.arange(width, device=heads.device) < lengths[:, None]
    roots = (heads.eq(0) & inside).sum(1)
    reach = torch.cat((heads.new_zeros(rows, 1), heads.masked_fill(~inside, 0)), 1)
    for _ in range(width.bit_length()):
        reach = reach.gather(1, reach)
    return roots.eq(1) & reach.eq(0).all(1)


def arc_scores(model: Any, x: Tensor, lengths: Tensor) -> Tensor:
    """Scores of all heads: vectors float [B,T+1,H], words int64 [B] -> float [B,T+1,T+1].

    Row d, column h; columns beyond the end of a sentence are as good as impossible.
    """
    scores: Tensor = model.arc_attn(model.arc_mlp_d(x), model.arc_mlp_h(x))
    outside = torch.arange(x.shape[1], device=x.device) > lengths[:, None]
    return scores.masked_fill(outside[:, None], LOW)


def best_heads(scores: Tensor, lengths: Tensor) -> Tensor:
    """Heads of the best trees with one root: float [B,T+1,T+1], int64 [B] -> int64 [B,T]."""
    heads = scores.argmax(-1)[:, 1:]
    bad = nonzero(~are_trees(heads, lengths))
    if len(bad):
        heads[bad] = spanning_heads(scores[bad], lengths[bad])
    return heads


def relation_table(model: Any) -> Tensor:
    """The weights of supar's relation scores, [D+1,(D+1)R]: head, then dependent and relation."""
    weight: Tensor = model.rel_attn.weight
    return weight.permute(2, 1, 0).flatten(1)


def relation_scores(table: Tensor, dependent: Tensor, head: Tensor) -> Tensor:
    """Relation scores at N arcs: relation_table, vectors float [N,D] twice -> float [N,R]."""
    left, right = F.pad(dependent, (0, 1), value=1.0), F.pad(head, (0, 1), value=1.0)
    inner = (right @ table).view(len(right), left.shape[1], -1)
    return torch.bmm(left[:, None], inner).squeeze(1)


class DependencyNetwork:
    """A supar biaffine dependency model on a device, run over batches of sentences.

    With settings the fused encoder runs it, in the language `lang`; without them `parser`, supar's
    own, encodes.
    """

    kind = "dependency"

    def __init__(
        self,
        model: Any,
        relations: Sequence[str],
        device: torch.device,
        settings: Settings | None = None,
        lang: str = "",
        parser: Any = None,
    ) -> None:
        self.parser, self.device, self.settings, self.lang = parser, device, settings, lang
        self.model = model.to(device).eval()
        self.relations = list(dict.fromkeys((*relations, LATER)))
        self.table = relation_table(self.model).detach()
        self.speller = None if settings is None else Speller(settings)

    def lexicon(self, types: list[str]) -> Lexicon:
        """Number word types and read their characters; the last row is the root."""
        if self.speller is None:
            return Lexicon(types)
        word, chars = self.speller([*((self.lang, word) for word in types), (self.lang, "")])
        order = chars.ne(0).sum(-1).argsort()  # short words together: less padding
        vectors = []
        for rows in torch.split(order, TYPES):
            block = chars[rows]
            block = block[:, : int(block.ne(0).sum(-1).max())].to(self.device)
            vectors.append(run_chars(self.model.char_embed, block))
        found = torch.empty_like(torch.cat(vectors))
        found[order.to(self.device)] = torch.cat(vectors)
        return Lexicon(types, word.to(self.device), found)

    def vectors(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor) -> Tensor:
        """Vectors of the root and the words: int64 [B,T] (-1 fills up), [B] -> float [B,T+1,H]."""
        if lexicon.word is None or lexicon.chars is None:
            pairs = zip(rows.tolist(), lengths.tolist(), strict=True)
            sentences = [[lexicon.types[i] for i in row[:length]] for row, length in pairs]
            return supar_encode(self.parser, sentences, self.device)
        types = F.pad(rows, (1, 0), value=len(lexicon.types))
        words = lexicon.word[types].masked_fill(types < 0, 0)
        x = embed(self.model, words, lexicon.chars[types])
        return run_lstm(self.model.encoder, x, lengths + 1)

    @torch.inference_mode()
    def parse(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor, mbr: bool = True) -> Forest:
        """Trees of sentences: types int64 [B,T] (-1 fills up), int64 [B] -> Forest of words."""
        x = self.vectors(lexicon, rows, lengths)
        heads = best_heads(arc_scores(self.model, x, lengths), lengths)
        place = torch.arange(heads.shape[1], device=self.device)
        cells = nonzero(place < lengths[:, None])
        word = place.expand(len(rows), -1).flatten()[cells]
        above = heads.flatten()[cells]
        first = torch.div(cells, heads.shape[1], rounding_mode="floor") * x.shape[1]
        x = x.flatten(0, 1)
        left, right = (
            self.model.rel_mlp_d(x)[first + word + 1],
            self.model.rel_mlp_h(x)[first + above],
        )
        pairs = zip(torch.split(left, ROWS), torch.split(right, ROWS), strict=True)
        relation = [relation_scores(self.table, d, h).argmax(-1) for d, h in pairs]
        return Forest(torch.cat(relation), above - 1, word, lengths)


def join(forest: Forest, segment: Tensor, segments: int, ids: Tensor, later: int) -> Nodes:
    """Dependency trees of segments; the roots of later sentences hang on the first one's.

    segment int64 [S] rises; ids int64 [n] are the words of all sentences in order; `later` is the
    relation of such roots.
    """
    owner = owners(forest.counts)
    of_node = segment[owner]
    before = forest.counts.cumsum(0) - forest.counts
    place = torch.arange(len(owner), device=segment.device)
    first = torch.full((segments,), len(owner), dtype=torch.int64, device=segment.device)
    root = forest.parent < 0
    first = first.scatter_reduce(0, of_node, torch.where(root, place, len(owner)), "amin")
    hung = root & (first[of_node] != place)
    above = torch.where(hung, first[of_node], -1)
    parent = torch.where(root, above, forest.parent + before[owner])
    zeros = torch.zeros(segments + 1, dtype=torch.int64, device=segment.device)
    offsets = zeros.index_add(0, segment + 1, forest.counts).cumsum(0)
    width = int((offsets[1:] - offsets[:-1]).max()) if segments else 0
    relation = forest.label.masked_fill(hung, later)
    return Nodes(parent, ids, ids, offsets, width, relation=relation)
