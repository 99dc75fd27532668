"""The answer in a query that repeats its prompt, as OpenRLHF passes it to reward functions.

    query = tokenizer.decode(prompt ids + answer ids, skip_special_tokens=False)

So the query has the end-of-sequence token, and it need not start with the prompt: decoding may
change blanks, and a long prompt has lost its beginning. The prompt is removed if the query starts
with

1. the prompt,
2. the prompt as the tokenizer encodes and decodes it, or the longest end of it, for a prompt that
   was truncated (both need the tokenizer),
3. the prompt up to white space.

Everything else is an error: a query that is scored together with its prompt has a wrong reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.options import describe

__all__ = ["QueryAnswer"]

# how the special tokens of common models are written
_COMMON = re.compile(
    r"<\|[^|<>\s]+\|>|<｜[^｜<>\s]+｜>|</?s>|<(?:eos|bos|pad|end_of_turn|start_of_turn)>"
)


class QueryAnswer:
    """Answers of queries without special tokens.

    Args:
        special: Hugging Face tokenizer, or a list of special tokens as they are written in text;
            None: there are none, and an answer with a special token of common models is an error.

    Raises:
        TensorMTError: If special tokens are not text.

    >>> QueryAnswer(["</s>"])("Translate: Hund = dog</s>", "Translate: Hund =")
    'dog'
    """

    def __init__(self, special: Any = None) -> None:
        self.tokenizer = special if hasattr(special, "all_special_tokens") else None
        self.known = special is not None
        tokens = _special_tokens(self.tokenizer) if self.tokenizer is not None else special or ()
        if isinstance(tokens, str) or not isinstance(tokens, Iterable):
            raise TensorMTError(
                f"special is a tokenizer or a list of special tokens: got {describe(special)}"
            )
        listed = sorted(tokens, key=lambda token: -len(str(token)))
        if not all(isinstance(token, str) and token for token in listed):
            raise TensorMTError("special tokens are given as text, such as ['</s>']")
        self.tokens = re.compile("|".join(map(re.escape, listed))) if listed else None

    def __call__(self, query: str, prompt: str) -> str:
        """Return the answer of a query.

        Raises:
            TensorMTError: If the query does not start with the prompt, or the answer has a special
                token and none are known.
        """
        answer = self._after_prompt(query, prompt)
        if answer is None:
            advice = "" if self.tokenizer else ", or pass the tokenizer, which aligns them"
            raise TensorMTError(
                f"the query {query!r:.60} does not start with its prompt {prompt!r:.60}: pass the "
                f"prompt that the model was given{advice}"
            )
        if self.tokens is not None:
            answer = self.tokens.sub("", answer)
        found = None if self.known else _COMMON.search(answer)
        if found:
            raise TensorMTError(
                f"the answer {answer!r:.60} has the special token {found[0]!r}, which would be "
                "scored as a word: pass openrlhf(special=tokenizer), or a list of special tokens"
            )
        return answer.strip()

    def _after_prompt(self, query: str, prompt: str) -> str | None:
        """The part of a query after its prompt; None: the prompt was not found."""
        if query.startswith(prompt):
            return query[len(prompt) :]
        if self.tokenizer is not None:
            ids = list(self.tokenizer(text=prompt, add_special_tokens=False)["input_ids"])
            for start in range(len(ids)):
                decoded = self.tokenizer.decode(ids[start:], skip_special_tokens=False)
                if decoded.strip() and query.startswith(decoded):
                    return query[len(decoded) :]
        end = _end_of_prompt(query, prompt)
        return None if end is None else query[end:]


def _special_tokens(tokenizer: Any) -> set[str]:
    """Special tokens of a Hugging Face tokenizer, also those that have no role."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    return {*tokenizer.all_special_tokens, *(str(each) for each in added if each.special)}


def _end_of_prompt(query: str, prompt: str) -> int | None:
    """Where a query goes on after its prompt, white space aside; None: it does not start so."""
    place = 0
    for letter in prompt:
        if letter.isspace():
            continue
        while place < len(query) and query[place].isspace():
            place += 1
        if place == len(query) or query[place] != letter:
            return None
        place += 1
    return place
