"""Soft targets: the span and label probabilities of teachers on plain text.

For every sentence of n words, the probabilities of teachers t with shares a_t are averaged,

    p(i,j) = Σ_t a_t p_t(i,j)        p(label | i,j) = Σ_t a_t p_t(label | i,j),

and those below a threshold are dropped (but never the best label of a span). p_t(i,j) is the
marginal of the teacher's CRF. What is left of p(i,j) is no longer the marginal of any distribution
over trees, and for such targets the loss of the student, log Z − Σ p(i,j) s(i,j), has no lower
bound: the score of a span with a target above 1 rises for ever. So the targets are the marginals of
a CRF over the spans that are left, fitted to p(i,j) (`consistent`). Labels are scaled to
Σ p(label | i,j) = 1. The student is trained on these targets and on gold trees by
`fit_constituency` (Hinton, Vinyals and Dean 2015; of structures: Wang et al. 2020).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tensormt.errors import TensorMTError
from tensormt.kernels.charts import marginals
from tensormt.kernels.lstm import full_precision
from tensormt.parser.labels import label_scores
from tensormt.parser.network import ConstituencyNetwork, Lexicon
from tensormt.parser.treebank import Example

NEGLIGIBLE = 1e-6  # probability
EXCLUDED = -60.0  # score of a span that is left out, if there is a tree without it


def soft_targets(
    teachers: Sequence[ConstituencyNetwork],
    shares: Sequence[float],
    sentences: Sequence[Sequence[str]],
    *,
    threshold: float = 0.02,
    tokens: int = 3000,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Example]:
    """Label sentences with the probabilities of teachers.

    Args:
        teachers: Constituency networks with the same labels.
        shares: Weights of the teachers, which sum to 1.
        sentences: Words of each sentence; none is empty.
        threshold: Probability below which a span, or a label of a span, is dropped.
        tokens: Words per batch.
        progress: Called with the number of sentences of each batch.

    Returns:
        The sentences with weighted spans, in their order.

    Raises:
        TensorMTError: If the labels of the teachers differ.
    """
    names = [teacher.parser.transform.CHART.vocab.itos for teacher in teachers]
    if any(sorted(other) != sorted(names[0]) for other in names):
        raise TensorMTError("the teachers have different labels: train them on the same trees")
    order = [torch.tensor([other.index(name) for name in names[0]]) for other in names]
    types = sorted({word for words in sentences for word in words})
    number = {word: i for i, word in enumerate(types)}
    lexicons = [teacher.lexicon(types) for teacher in teachers]
    rows = [torch.tensor([number[word] for word in words]) for words in sentences]
    found: dict[int, Example] = {}
    for members in _batches([len(row) for row in rows], tokens):
        padded = pad_sequence([rows[k] for k in members], True, -1)
        lengths = torch.tensor([len(rows[k]) for k in members])
        cells, weights = _average(teachers, shares, lexicons, order, padded, lengths, threshold)
        owners = cells[:, 0]
        for place, k in enumerate(members):
            own = owners == place
            spans = [(i, j, names[0][label]) for _, i, j, label in cells[own].tolist()]
            found[k] = Example(list(sentences[k]), spans, weights[own].tolist())
        progress(len(members))
    return [found[k] for k in range(len(sentences))]


def consistent(spans: Tensor, lengths: Tensor, steps: int = 10, rate: float = 0.15) -> Tensor:
    """Compute marginals of a CRF over binary trees that are close to given weights of spans.

    Args:
        spans: Weights, float64 [B,T+1,T+1]; spans of weight 0 are used only where there is no tree
            without them.
        lengths: Lengths of sentences, int64 [B].
        steps: Steps of fitting.
        rate: Share of the difference, in logarithms, that a step adds to the scores.

    Returns:
        Marginal probabilities, float64 [B,T+1,T+1].

    >>> spans = torch.zeros(1, 4, 4).double()
    >>> given = torch.tensor([1, 1, 1, 1, 0.7, 0.3]).double()
    >>> spans[0, [0, 1, 2, 0, 0, 1], [1, 2, 3, 3, 2, 3]] = given
    >>> found = consistent(1.05 * spans, torch.tensor([3]))
    >>> [round(found[0, i, j].item(), 2) for i, j in ((0, 1), (0, 2), (1, 3))]
    [1.0, 0.7, 0.3]
    """
    kept = spans > 0
    goal = spans.clamp(min=NEGLIGIBLE).log()
    scores = goal.masked_fill(~kept, EXCLUDED)
    for _ in range(steps):
        change = goal - marginals(scores, lengths).clamp(min=NEGLIGIBLE).log()
        scores = torch.where(kept, scores + rate * change, scores)
    return marginals(scores, lengths)


@torch.inference_mode()
@full_precision()
def _average(
    teachers: Sequence[ConstituencyNetwork],
    shares: Sequence[float],
    lexicons: Sequence[Lexicon],
    order: Sequence[Tensor],
    rows: Tensor,
    lengths: Tensor,
    threshold: float,
) -> tuple[Tensor, Tensor]:
    """The rows (sentence, i, j, label) int64 [S,4] of a batch and their weights float [S]."""
    heads, spans = [], torch.zeros(())
    for teacher, share, lexicon in zip(teachers, shares, lexicons, strict=True):
        words, sizes = rows.to(teacher.device), lengths.to(teacher.device)
        scores, left, right = teacher.heads(teacher.posts(lexicon, words, sizes))
        heads.append((left, right))
        spans = spans + share * marginals(scores, sizes).cpu()
    spans = consistent(spans * (spans > threshold), lengths)
    b, i, j = (spans > NEGLIGIBLE).nonzero(as_tuple=True)
    weight = spans[b, i, j].float()
    labels = torch.zeros(())
    for teacher, share, (left, right), own in zip(teachers, shares, heads, order, strict=True):
        logits = label_scores(teacher.model.label_attn.weight, left[b, i], right[b, j]).float()
        narrow = torch.zeros(logits.shape[1], dtype=torch.bool)
        narrow[teacher.labeller.sets[0].cpu()] = True
        logits = logits.cpu().masked_fill((j - i == 1)[:, None] != narrow, -torch.inf)
        labels = labels + share * logits.softmax(-1)[:, own]
    best = labels.amax(-1, keepdim=True)  # stays even if all are below the threshold
    labels = labels * ((labels > threshold) | (labels == best))
    labels = labels / labels.sum(-1, keepdim=True) * weight[:, None]
    span, label = labels.nonzero(as_tuple=True)
    return torch.stack((b[span], i[span], j[span], label), -1), labels[span, label]


def _batches(lengths: list[int], tokens: int) -> list[list[int]]:
    """Sentences of similar length, `tokens` words together."""
    parts: list[list[int]] = []
    size = 0
    for k in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not parts or size + lengths[k] > tokens:
            parts.append([])
            size = 0
        parts[-1].append(k)
        size += lengths[k]
    return parts
