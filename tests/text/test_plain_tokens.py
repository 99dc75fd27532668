"""Tokens in plain Python: as sacrebleu's, and as those of the vectorised tokeniser."""

from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from text_samples import texts

from tensormt.errors import TensorMTError
from tensormt.plain import MAX_SEGMENTS, MAX_TEXT
from tensormt.text import plain_tokens
from tensormt.text.plain_tokens import NATIVE, tokenize, tokenize_13a
from tensormt.text.tokens import TokenBatch, unify

lines = st.lists(texts, min_size=1, max_size=4)
names = st.sampled_from([*NATIVE, "intl"])


def vectorised(batch_lines: list[str | None], name: str, lowercase: bool) -> TokenBatch:
    """The same lines among more than are read in plain Python."""
    many = TokenBatch.from_text(batch_lines + [""] * (MAX_SEGMENTS + 1), name, lowercase)
    assert many._rows is None
    return many[: len(batch_lines)]


@settings(max_examples=500, deadline=None)
@given(texts)
@example("a.b 1.5 .5 5. 1..5 1...5 a..5 a...5 1.,5 ,1, -1- 5-6")
@example("5-\n6 a-\n b<skipped>-\nc -\n")
@example("&amp;lt; &quot;&amp;quot; &gt;=5.")
def test_13a_equals_sacrebleu(line: str) -> None:
    assert tokenize_13a(line) == Tokenizer13a()(line.rstrip()).split()


@settings(max_examples=500, deadline=None)
@given(lines, names, st.booleans())
def test_plain_and_vectorised_tokens_agree(found: list[str], name: str, lowercase: bool) -> None:
    few = TokenBatch.from_text(found, name, lowercase)
    many = vectorised(found, name, lowercase)
    assert few._arrays is None, "a few lines make no tensors"
    assert few.to_tokens() == many.to_tokens()
    assert few.lengths.tolist() == many.lengths.tolist()
    assert [list(row) for row in few.plain_rows() or ()] == few.to_tokens()
    assert [list(row) for row in many.plain_rows() or ()] == few.to_tokens()
    assert few.tokens.dtype == many.tokens.dtype
    assert few.dictionary is not None
    assert many.dictionary is not None
    assert few.dictionary.strings == many.dictionary.strings
    assert few.tokens.tolist() == many.tokens.tolist()
    assert few.lowered.to_tokens() == many.lowered.to_tokens()
    fresh = TokenBatch.from_text(found, name, lowercase)
    assert fresh.lowered.to_tokens() == many.lowered.to_tokens()
    assert torch.equal(fresh.lowered.hashes, many.lowered.hashes)


@settings(max_examples=100, deadline=None)
@given(lines, lines, st.sampled_from(NATIVE))
def test_batches_of_plain_tokens_behave_like_others(
    first: list[str], second: list[str], name: str
) -> None:
    few, many = TokenBatch.from_text(first, name), vectorised(first, name, False)
    for index in (0, -1, slice(1, None), slice(None, None, -1), [0, 0], torch.tensor([0])):
        assert few[index].to_tokens() == many[index].to_tokens()
        assert pickle.loads(pickle.dumps(few[index])).to_tokens() == many[index].to_tokens()
    assert few.to("cpu") is few
    assert few._arrays is None, "slices, pickles and the CPU need no tensors"
    other = TokenBatch.from_text(second, name)
    joined = TokenBatch.concat([few, other])
    assert joined.to_tokens() == few.to_tokens() + other.to_tokens()
    mixed = TokenBatch.concat([many, other])
    assert mixed.to_tokens() == joined.to_tokens()
    shared = TokenBatch.from_texts([first, second], name)
    assert shared[1]._arrays is None
    assert shared[0].dictionary is shared[1].dictionary
    assert [batch.to_tokens() for batch in shared] == [few.to_tokens(), other.to_tokens()]
    one, two = unify([few, other])
    assert one.dictionary is two.dictionary
    assert [one.to_tokens(), two.to_tokens()] == [few.to_tokens(), other.to_tokens()]
    assert [list(row) for row in one.plain_rows() or ()] == few.to_tokens()
    for batch in (few, few[:1], one):
        again = pickle.loads(pickle.dumps(batch))
        assert again.to_tokens() == batch.to_tokens()
        assert torch.equal(again.hashes, batch.hashes)


def test_bytes_and_absent_lines() -> None:
    batch = TokenBatch.from_text([None, "caf\xe9 x", b"caf\xc3\xa9 y"])
    assert batch.to_tokens() == [[], ["café", "x"], ["café", "y"]]
    assert tokenize([None, ""]) == [[], []]
    assert tokenize([b"a"]) is None


@pytest.mark.parametrize("name", [*NATIVE, "intl"])
def test_invalid_text_raises_the_error_of_the_vectorised_tokeniser(name: str) -> None:
    for wrong in ("a \ud800", b"a \xff"):
        for count in (0, MAX_SEGMENTS):
            with pytest.raises(TensorMTError, match=r"line 2: (character|byte) .* UTF-8"):
                TokenBatch.from_text(["fine", wrong] + ["fine"] * count, name)
    with pytest.raises(TensorMTError, match="unknown tokeniser 'x': choose one of 13a"):
        TokenBatch.from_text(["fine"], "x")
    with pytest.raises(TensorMTError, match="expected a string, got int"):
        TokenBatch.from_text(["fine", 5])  # type: ignore[list-item]


def test_many_lines_and_long_ones_are_not_held_as_strings() -> None:
    for few in (["a"] * (MAX_SEGMENTS + 1), ["a" * (MAX_TEXT + 1)]):
        assert TokenBatch.from_text(few)._rows is None
    long = TokenBatch.from_text(["a " * (MAX_TEXT + 1)], "none")
    assert long.plain_rows() is None
    assert TokenBatch.from_ids(torch.tensor([[1]]), torch.tensor([1])).plain_rows() is None


def test_lower_case_character_by_character() -> None:
    assert plain_tokens.lower("ABΣ") == "abσ"
    assert plain_tokens.lower("Aİ") == ["a", "i̇"]
    assert plain_tokens.lower(["AΣ", "İ"]) == ["aς", "i̇"]


def test_needs_neither_torch_nor_arrow() -> None:
    import subprocess
    import sys

    modules = [
        *("tensormt.text.plain_tokens", "tensormt.ngram.bleu", "tensormt.ngram.chrf"),
        *("tensormt.syntax.stm", "tensormt.syntax.hwcm", "tensormt.syntax.tkm"),
        *("tensormt.trees.plain_trees", "tensormt.trees.plain_heads", "tensormt.plain"),
    ]
    heavy = "[m for m in ('torch', 'pyarrow') if m in sys.modules]"
    for module in modules:
        code = f"import sys, {module}; print({heavy})"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert result.stdout.strip() == "[]", module + result.stdout + result.stderr


def test_batches_are_freed_without_the_garbage_collector() -> None:
    """A batch that refers to itself would keep its tensors until the collector runs."""
    import gc
    import weakref

    gc.disable()
    try:
        for count in (1, MAX_SEGMENTS + 1):
            batch = TokenBatch.from_text(["a b"] * count)
            watch = [weakref.ref(batch), weakref.ref(batch[:1]), weakref.ref(batch.lengths)]
            del batch
            assert [found() for found in watch] == [None] * 3
    finally:
        gc.enable()
