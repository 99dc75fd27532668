"""Bags of words: the texts of every test case as counts over the vocabulary of the case.

A case has N texts (peers, then models). A term may be a word, a sentence, a source document
or a key concept. Counts are dense over the small vocabulary of one case, so that all pairs of texts
of all cases can be compared at once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import argsort, runs, sort
from tensormt.text.dictionary import Dictionary
from tensormt.text.sentences import split_text
from tensormt.text.stopwords import STOP_WORDS
from tensormt.text.tokens import TokenBatch

# texts[t][i] is text i of case t; None where a case has fewer texts.
Texts = Sequence[Sequence[str | None]]


def sentences(text: str) -> list[str]:
    """Split a text into sentences with normalized white space.

    >>> sentences("It rained. Nobody  knew why.")
    ['It rained.', 'Nobody knew why.']
    """
    return [" ".join(sentence.split()) for sentence in split_text(text)]


def term_counts(terms: Sequence[Sequence[Sequence[str]]]) -> Tensor:
    """Count the terms of every text.

    Args:
        terms: terms[t][i] are the terms of text i of case t.

    Returns:
        int64 [T,N,V], where V is the size of the largest vocabulary of a case. Columns of different
        cases are unrelated.

    Raises:
        TensorMTError: If cases have different numbers of texts.

    >>> term_counts([[["a", "b", "a"], ["b"]]]).tolist()
    [[[2, 1], [0, 1]]]
    """
    width = _width(terms)
    flat = [term for case in terms for text in case for term in text]
    ids, dictionary = Dictionary.encode(flat)
    lengths = torch.tensor([len(text) for case in terms for text in case], dtype=torch.int64)
    owner = torch.repeat_interleave(lengths)
    return _counts(ids, owner, len(dictionary), len(terms), width)


def content_counts(texts: Texts, *, tokenize: str = "13a") -> Tensor:
    """Count the lower-cased words of every text, without punctuation and English function words.

    Args:
        texts: texts[t][i] is text i of case t, None if there is none.
        tokenize: Name of the tokenizer.

    Returns:
        int64 [T,N,V], as `term_counts`.

    Raises:
        TensorMTError: If cases have different numbers of texts.

    >>> content_counts([["The cats sat.", "a cat"]]).sum(dim=-1).tolist()
    [[2, 1]]
    """
    width = _width(texts)
    batch = TokenBatch.from_text(
        [text for case in texts for text in case], tokenize=tokenize, lowercase=True
    )
    assert batch.dictionary is not None
    kept = [
        any(letter.isalnum() for letter in word) and word not in STOP_WORDS
        for word in batch.dictionary.strings
    ]
    owner = torch.repeat_interleave(batch.lengths)
    tokens = batch.tokens.to(torch.int64)
    real = torch.tensor(kept, dtype=torch.bool)[tokens]
    return _counts(tokens[real], owner[real], len(kept), len(texts), width)


def sentence_counts(texts: Texts) -> Tensor:
    """Count the sentences of every text, int64 [T,N,V]; as `content_counts`."""
    return term_counts([[sentences(text or "") for text in case] for case in texts])


def _width(cases: Sequence[Sequence[object]]) -> int:
    """Return the number of texts of a case, which must be the same for all."""
    widths = {len(case) for case in cases}
    if len(widths) != 1:
        raise TensorMTError(
            f"cases hold {sorted(widths)} texts: pad every case to the same number of texts"
        )
    return widths.pop()


def _counts(ids: Tensor, owner: Tensor, types: int, cases: int, width: int) -> Tensor:
    """Count ids int64 [n] of the texts owner int64 [n] (case * width + place), int64 [T,N,V]."""
    if not len(ids):
        return torch.zeros((cases, width, 1), dtype=torch.int64, device=ids.device)
    # The column of a (case, term) is its number among the distinct terms of the case.
    key = owner // width * types + ids
    order = argsort(key)
    starts, lengths = runs(sort(key))
    first = key[order][starts] // types
    number = torch.arange(len(starts), device=ids.device)
    begin = torch.full((cases,), len(starts), dtype=torch.int64, device=ids.device)
    begin = begin.scatter_reduce(0, first, number, "amin")
    local = number - begin[first]
    columns = int(local.max()) + 1
    column = torch.empty_like(key)
    column[order] = torch.repeat_interleave(local, lengths)
    out = torch.zeros(cases * width * columns, dtype=torch.int64, device=ids.device)
    out.index_add_(0, owner * columns + column, torch.ones_like(key))
    return out.view(cases, width, columns)
