"""Dependency trees from a supar biaffine model (Dozat and Manning 2017).

    head(d) = argmax over h of s(d, h),   s biaffine in vectors of the dependent and the head

Heads that do not form a tree (a cycle, several roots or none) are detected by pointer jumping for a
whole batch, and only those sentences are decoded again as a maximum spanning tree
(`tensormt.parser.mst`). Relations are scored at the arcs of the tree only, not for all n² pairs.
The result is a Forest whose nodes are the words, labeled with relations; in a segment of several
sentences, later roots are attached to the first one.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tensormt.kernels.backend import at_a_time, nonzero, owners
from tensormt.kernels.lstm import full_precision
from tensormt.kernels.nodes import Nodes
from tensormt.parser.char_features import CharFeatures
from tensormt.parser.decode import Forest
from tensormt.parser.encoder import embed, flatten_weights, run_lstm
from tensormt.parser.model import Settings, supar_encode
from tensormt.parser.mst import spanning_heads
from tensormt.parser.network import Lexicon, type_vectors
from tensormt.trees.conllu import LATER

LOW = -1e32
ROWS = 256  # arcs per product whose products fit into a CPU's cache


def are_trees(heads: Tensor, lengths: Tensor) -> Tensor:
    """Return whether heads int64 [B,T] (0: root, words from 1) are trees with one root: bool [B].

    >>> are_trees(torch.tensor([[2, 0], [2, 1]]), torch.tensor([2, 2])).tolist()
    [True, False]
    """
    rows, width = heads.shape
    inside = torch.arange(width, device=heads.device) < lengths[:, None]
    roots = (heads.eq(0) & inside).sum(1)
    reach = torch.cat((heads.new_zeros(rows, 1), heads.masked_fill(~inside, 0)), 1)
    for _ in range(width.bit_length()):
        reach = reach.gather(1, reach)
    return roots.eq(1) & reach.eq(0).all(1)


def arc_scores(model: Any, x: Tensor, lengths: Tensor) -> Tensor:
    """Compute scores of all arcs: vectors float [B,T+1,H], lengths int64 [B] -> float [B,T+1,T+1].

    Rows are dependents, columns heads; heads beyond the end of a sentence have the score −1e32.
    """
    scores: Tensor = model.arc_attn(model.arc_mlp_d(x), model.arc_mlp_h(x))
    outside = torch.arange(x.shape[1], device=x.device) > lengths[:, None]
    return scores.masked_fill(outside[:, None], LOW)


def best_heads(scores: Tensor, lengths: Tensor) -> Tensor:
    """Find the best trees with one root: float [B,T+1,T+1], int64 [B] -> heads int64 [B,T]."""
    heads = scores.argmax(-1)[:, 1:]
    bad = nonzero(~are_trees(heads, lengths))
    if len(bad):
        heads[bad] = spanning_heads(scores[bad], lengths[bad])
    return heads


def relation_table(model: Any) -> Tensor:
    """Return the weights of supar's relation scores, [D+1,(D+1)R]: head, dependent × relation."""
    weight: Tensor = model.rel_attn.weight
    return weight.permute(2, 1, 0).flatten(1)


def relation_scores(table: Tensor, dependent: Tensor, head: Tensor) -> Tensor:
    """Compute relation scores of N arcs: relation_table, vectors float [N,D] -> float [N,R]."""
    left, right = F.pad(dependent, (0, 1), value=1.0), F.pad(head, (0, 1), value=1.0)
    inner = (right @ table).view(len(right), left.shape[1], -1)
    return torch.bmm(left[:, None], inner).squeeze(1)


class DependencyNetwork:
    """A supar biaffine dependency model on a device.

    Args:
        model: supar's model.
        relations: Names of the relations.
        device: Device.
        settings: Settings of the fused encoder; None: supar's own encoder is used.
        lang: Language, for models of several languages.
        parser: supar's parser, if there are no settings.
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
        if settings is not None:
            flatten_weights(self.model)
        self.relations = list(dict.fromkeys((*relations, LATER)))
        self.table = relation_table(self.model).detach()
        self.features = None if settings is None else CharFeatures(settings)

    @torch.inference_mode()
    @full_precision()
    def lexicon(self, types: list[str]) -> Lexicon:
        """Compute ids and character vectors of word types; the last row is the root."""
        if self.features is None:
            return Lexicon(types)
        word, chars = self.features([*((self.lang, word) for word in types), (self.lang, "")])
        return Lexicon(types, *type_vectors(self.model, word, chars, self.device))

    def vectors(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor) -> Tensor:
        """Encode root and words: types int64 [B,T] (-1: padding), [B] -> float [B,T+1,H]."""
        if lexicon.word is None or lexicon.chars is None:
            return supar_encode(self.parser, lexicon.sentences(rows, lengths), self.device)
        types = F.pad(rows, (1, 0), value=len(lexicon.types))
        words = lexicon.word[types].masked_fill(types < 0, 0)
        x = embed(self.model, words, lexicon.chars[types])
        return run_lstm(self.model.encoder, x, lengths + 1)

    @torch.inference_mode()
    @full_precision()
    def parse(self, lexicon: Lexicon, rows: Tensor, lengths: Tensor, mbr: bool = True) -> Forest:
        """Parse sentences: types int64 [B,T] (-1: padding), int64 [B] -> Forest of words."""
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
        rows_at_a_time = at_a_time(left, ROWS, 8 * self.table.shape[1])
        pairs = zip(*(torch.split(x, rows_at_a_time) for x in (left, right)), strict=True)
        relation = [relation_scores(self.table, d, h).argmax(-1) for d, h in pairs]
        return Forest(torch.cat(relation), above - 1, word, lengths)


def join_sentences(
    forest: Forest, segment: Tensor, segments: int, ids: Tensor, later: int
) -> Nodes:
    """Join the sentences of each segment: later roots become children of the first root.

    Args:
        forest: Dependency trees of S sentences.
        segment: Segment of every sentence, int64 [S], ascending.
        segments: Number of segments.
        ids: Words of all sentences in order, int64 [n].
        later: Relation of roots that are attached.
    """
    owner = owners(forest.counts)
    of_node = segment[owner]
    before = forest.counts.cumsum(0) - forest.counts
    place = torch.arange(len(owner), device=segment.device)
    first = torch.full((segments,), len(owner), dtype=torch.int64, device=segment.device)
    root = forest.parent < 0
    first = first.scatter_reduce(0, of_node, torch.where(root, place, len(owner)), "amin")
    attached = root & (first[of_node] != place)
    above = torch.where(attached, first[of_node], -1)
    parent = torch.where(root, above, forest.parent + before[owner])
    zeros = torch.zeros(segments + 1, dtype=torch.int64, device=segment.device)
    offsets = zeros.index_add(0, segment + 1, forest.counts).cumsum(0)
    width = int((offsets[1:] - offsets[:-1]).max()) if segments else 0
    relation = forest.label.masked_fill(attached, later)
    return Nodes(parent, ids, ids, offsets, width, relation=relation)
