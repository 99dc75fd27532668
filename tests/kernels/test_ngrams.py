"""The comparison of n-grams against plain Python, on padded tensors of ids."""

from __future__ import annotations

import ngram_oracle as oracle
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from hypothesis import given, settings
from hypothesis import strategies as st

from tensormt.kernels.ngrams import LONGEST, clipped_matches, compare, different, share
from tensormt.ngram.bleu import bleu

Rows = list[tuple[list[str], list[list[str]]]]

words = st.lists(st.sampled_from("abc"), max_size=9)
segments = st.integers(1, 3).flatmap(
    lambda r: st.lists(
        st.tuples(words, st.lists(words, min_size=r, max_size=r)), min_size=1, max_size=5
    )
)


def columns(texts: list[list[str]], width: int, padding: int) -> torch.Tensor:
    """Texts [b] as int16 columns [T,b]."""
    low = torch.iinfo(torch.int16).min + padding
    rows = [[*map(ord, text), *[low] * (width - len(text))] for text in texts]
    return torch.tensor(rows, dtype=torch.int16).view(len(texts), width).t().contiguous()


def laid_out(rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """Hypotheses [T,b] and references [R,T'+1,b], padded as `compare` wants them."""
    hyp = columns([h for h, _ in rows], max(len(h) for h, _ in rows), 0)
    width = 1 + max(len(ref) for _, refs in rows for ref in refs)
    streams = zip(*(refs for _, refs in rows), strict=True)
    return hyp, torch.stack([columns(list(stream), width, 1) for stream in streams])


@settings(max_examples=100, deadline=None)
@given(segments, st.integers(1, 5))
def test_ranks_and_counts(rows: Rows, top: int) -> None:
    for n, order in enumerate(compare(*laid_out(rows), top), 1):
        for column, (hyp, refs) in enumerate(rows):
            grams = oracle.grams(hyp, n)
            real = len(grams)
            counts = [[oracle.grams(ref, n).count(gram) for gram in grams] for ref in refs]
            assert order.counts[:, :real, column].tolist() == counts
            assert not order.counts[:, real:, column].any()
            rank = [grams[:i].count(gram) for i, gram in enumerate(grams)]
            assert order.rank[:real, column].tolist() == rank
            by_gram = list(zip(*counts, strict=True))
            assert order.total[:real, column].tolist() == [sum(own) for own in by_gram]
            assert order.held[:real, column].tolist() == [any(own) for own in by_gram]
            holders = [sum(count > 0 for count in own) for own in by_gram]
            assert order.holders[:real, column].tolist() == holders
            matched = sum(oracle.clip(hyp, refs, n).values())
            assert order.matched[:, column].sum() == matched


def test_counts_above_a_byte() -> None:
    """One word, more often than a byte can count."""
    size = LONGEST + 45
    (order,) = compare(*laid_out([(["a"] * size, [["a"] * size, ["b"]])]), 1)
    assert order.rank[:, 0].tolist() == list(range(size))
    assert order.counts[:, :, 0].tolist() == [[size] * size, [0] * size]


@settings(max_examples=100, deadline=None)
@given(segments, st.integers(1, 5))
def test_different_ngrams(rows: Rows, top: int) -> None:
    _, refs = laid_out(rows)
    lengths = torch.tensor([[len(ref) for ref in refs] for _, refs in rows]).t()
    assert different(refs, lengths, top).tolist() == [
        [len({g for ref in refs for g in oracle.grams(ref, n)}) for n in range(1, top + 1)]
        for _, refs in rows
    ]


def padded(texts: list[list[str]], width: int, other: int) -> torch.Tensor:
    """Texts [B] as ids [B,T]; what lies beyond a text is anything."""
    rows = [[*map(ord, text), *[other] * (width - len(text))] for text in texts]
    return torch.tensor(rows).view(len(texts), width)


@settings(max_examples=100, deadline=None)
@given(segments, st.integers(1, 5))
def test_clipped_matches(rows: Rows, top: int) -> None:
    hyp = padded([h for h, _ in rows], 9, ord("a"))
    refs = torch.stack([padded(refs, 11, ord("b")) for _, refs in rows])
    lengths = torch.tensor([len(h) for h, _ in rows])
    ref_lengths = torch.tensor([[len(ref) for ref in refs] for _, refs in rows])
    found = clipped_matches(hyp, lengths, refs, ref_lengths, top)
    assert found.dtype == torch.int64
    assert found.tolist() == [
        [sum(oracle.clip(h, r, n).values()) for n in range(1, top + 1)] for h, r in rows
    ]


def test_id_tensors_never_wait_for_the_device() -> None:
    ids = torch.tensor([[1, 2, 3, 1, 2], [4, 4, 4, 0, 0]])
    refs = torch.tensor([[[1, 2, 3, 4], [3, 1, 2, 0]], [[4, 4, 0, 0], [4, 5, 0, 0]]])
    lengths, widths = torch.tensor([5, 3]), torch.tensor([[4, 3], [2, 2]])
    expected = clipped_matches(ids, lengths, refs, widths, 2)
    assert expected.tolist() == [[3, 3], [2, 1]]
    with FakeCuda() as cuda:
        there = [part.to("cuda") for part in (ids, lengths, refs, widths)]
        matched = clipped_matches(*there, 2)
        score = bleu(matched, matched + 1, there[1], there[1])
    assert isinstance(matched, DeviceTensor)
    assert isinstance(score, DeviceTensor)
    assert torch.equal(to_host(matched), expected)
    assert not cuda.syncs, cuda.syncs


def test_compiled_as_one_graph() -> None:
    hyp, refs = laid_out([(list("abca"), [list("abcb"), list("ca")]), (list("b"), [[], ["b"]])])
    compiled = torch.compile(compare, backend="eager", fullgraph=True)
    for left, right in zip(compare(hyp, refs, 3), compiled(hyp, refs, 3), strict=True):
        assert torch.equal(left.rank, right.rank)
        assert torch.equal(left.counts, right.counts)


def test_shares() -> None:
    assert share(torch.tensor([1, 0, 3]), torch.tensor([4, 0, 3])).tolist() == [0.25, 1, 1]
