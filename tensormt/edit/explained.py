"""What error rates explain: aligned words, edits and shifts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tensormt.edit.engine import bag_distances, fewest, pairs, shifted_distances
from tensormt.explanation import Edit, Explanation
from tensormt.kernels.backend import nonzero, repeat, take
from tensormt.kernels.beam import beam_of
from tensormt.kernels.edit_distance import Alignment, align
from tensormt.kernels.edit_path import INSERTION, MATCH
from tensormt.kernels.matches import Items, items
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.kernels.shifts import Shift, translation_edits
from tensormt.ngram.keys import occurrences
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch


def explain(hyp: TokenBatch, refs: References, chosen: Tensor) -> Explanation:
    """Return the aligned words and the edits of each segment with its best reference [B]."""
    one, two = pairs(hyp, refs)
    rows = _rows(chosen)
    found = align(one.of(rows), two.of(rows))
    words = hyp.to_tokens()
    places = [list(range(len(own))) for own in words]
    return aligned(hyp, refs, chosen, found.errors, _edits(words, places, refs, chosen, found))


def explain_shifts(hyp: TokenBatch, refs: References) -> Explanation:
    """Return the aligned words, the shifts and the edits, with the reference of fewest edits."""
    chosen = fewest(shifted_distances(hyp, refs), refs)
    one, two = pairs(hyp, refs)
    rows = _rows(chosen)
    text, pattern = one.of(rows), two.of(rows)
    made: list[Shift] = []
    translation_edits(text, pattern, take(bag_distances(hyp, refs).reshape(-1), rows), made=made)
    words = hyp.to_tokens()
    places = [list(range(int(size))) for size in text.lengths]
    shifts: list[list[Edit]] = [[] for _ in words]
    for own in made:
        for segment, start, size, new in zip(*(part.tolist() for part in own), strict=True):
            order = places[segment]
            run = order[start : start + size]
            del order[start : start + size]
            moved = " ".join(words[segment][place] for place in run)
            before = order[new] if new < len(order) else len(words[segment])
            shifts[segment].append(Edit("shift", run[0], moved, target=before))
            order[new:new] = run
    order_of = [
        first + place
        for first, own in zip(text.starts.tolist(), places, strict=True)
        for place in own
    ]
    symbols = take(
        text.symbols, torch.tensor(order_of, dtype=torch.int64, device=text.lengths.device)
    )
    starts = text.lengths.cumsum(0) - text.lengths
    found = align(Sequences(symbols, starts, text.lengths), pattern, beam_of=beam_of)
    shifted = [[own[place] for place in order] for own, order in zip(words, places, strict=True)]
    edits = _edits(shifted, places, refs, chosen, found)
    errors = torch.ones(len(hyp), max(map(len, words), default=0), dtype=torch.bool)
    for segment, order in enumerate(places):
        errors[segment, order] = found.errors[segment, : len(order)].cpu()
    both = [first + then for first, then in zip(shifts, edits, strict=True)]
    return aligned(hyp, refs, chosen, errors.to(hyp.device), both)


def _rows(chosen: Tensor) -> Tensor:
    """The pairs of each segment with its chosen reference."""
    return chosen * len(chosen) + torch.arange(len(chosen), device=chosen.device)


def aligned(
    hyp: TokenBatch,
    refs: References,
    chosen: Tensor,
    errors: Tensor,
    edits: Sequence[Sequence[Edit]] = (),
    columns: Sequence[int] = (),
) -> Explanation:
    """Return an explanation by aligned words.

    Args:
        hyp: The hypotheses.
        refs: The references.
        chosen: The reference of each segment, int64 [B].
        errors: Which words of the hypothesis are not matched, bool [B,T].
        edits: The edits of each segment.
        columns: Columns of the statistics that count the matched words.
    """
    found = _items(hyp, refs, chosen)
    segment, place = repeat(hyp.lengths)
    # text without a token has one place, which no alignment has
    counted = ~torch.nn.functional.pad(errors, (0, 1), value=True)[segment, place]
    found = found._replace(
        counted=counted, reference=torch.where(counted, take(chosen, segment), -1)
    )
    return Explanation("word", hyp, refs, found, columns=[list(columns)], best=chosen, edits=edits)


def explain_bags(hyp: TokenBatch, refs: References, chosen: Tensor) -> Explanation:
    """Return the words that each segment has in common with its best reference [B]."""
    return Explanation("n-gram", hyp, refs, _items(hyp, refs, chosen), columns=[[]], best=chosen)


def _items(hyp: TokenBatch, refs: References, chosen: Tensor) -> Items:
    """The words of the hypotheses, matched as bags with the chosen reference."""
    own, *others = [occurrences(batch, 1) for batch in (hyp, *refs)]
    return items(own, others, chosen)


def _edits(
    words: Sequence[Sequence[str]],
    places: Sequence[Sequence[int]],
    refs: References,
    chosen: Tensor,
    found: Alignment,
) -> list[list[Edit]]:
    """The substitutions, insertions and deletions of each segment, in the text's order.

    words, places: the words that were aligned, and their places in the hypothesis.
    """
    others = [stream.to_tokens() for stream in refs]
    edits: list[list[tuple[tuple[int, int, int], Edit]]] = [[] for _ in words]
    width = max(found.edits.shape[1], 1)
    for cell in nonzero(found.edits != MATCH).tolist():
        segment, place = divmod(cell, width)
        word = others[int(chosen[segment])][segment][place]
        at = int(found.place[segment, place])
        own, order = words[segment], places[segment]
        if found.edits[segment, place] == INSERTION:  # the hypothesis lacks the word
            before = order[at + 1] if at + 1 < len(order) else len(order)
            edits[segment].append(((at, 1, place), Edit("deletion", before, "", word)))
        else:
            edits[segment].append(((at, 0, 0), Edit("substitution", order[at], own[at], word)))
    known = [{key[0] for key, edit in own if edit.kind == "substitution"} for own in edits]
    height = max(found.errors.shape[1], 1)
    for cell in nonzero(found.errors).tolist():
        segment, at = divmod(cell, height)
        if at not in known[segment]:
            edit = Edit("insertion", places[segment][at], words[segment][at])
            edits[segment].append(((at, 0, 0), edit))
    return [[edit for _, edit in sorted(own)] for own in edits]
