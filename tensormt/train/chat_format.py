"""Texts of completions and references in the formats of data sets and trainers.

A completion is a string or a chat, of which the last message of the assistant is used: tool calls
and answers of tools are ignored, and if the content of a message is a list of parts, their text is
used. A reference has the same format; a row of a data set has one reference, a list of them, or
None (NaN). Lists may be numpy arrays or Arrow lists, as data frames hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensormt.data.coercion import as_list
from tensormt.errors import TensorMTError


def completion_text(completion: Any) -> str:
    """Return the text of a completion: a string, a message, or a chat.

    Raises:
        TensorMTError: If the completion is something else.

    >>> completion_text([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}])
    'Yo'
    """
    completion = _row(completion)
    if completion is None or isinstance(completion, str):
        return completion or ""
    if isinstance(completion, Mapping):
        return _content(completion.get("content"))
    if not _listed(completion) or not all(isinstance(each, Mapping) for each in completion):
        raise TensorMTError(
            f"a completion is {completion!r:.80}: expected text, or a list of messages with "
            "'role' and 'content'"
        )
    replies = [message for message in completion if message.get("role", "assistant") == "assistant"]
    return _content(replies[-1].get("content")) if replies else ""


def reference_texts(row: Any) -> list[str]:
    """Return the non-empty references of a row: one, a list of them, or None.

    >>> reference_texts(["a", ""]), reference_texts(None)
    (['a'], [])
    """
    row = _row(row)
    single = row is None or isinstance(row, str | Mapping)
    chat = not single and _listed(row) and any(isinstance(each, Mapping) for each in row)
    each = [row] if single or chat else list(row)
    return [text for text in map(completion_text, each) if text and not text.isspace()]


def _row(value: Any) -> Any:
    """A cell of a table as Python has it: arrays as lists, NaN as None."""
    (found,) = as_list([value], "rows")
    listed = hasattr(found, "tolist") or hasattr(found, "to_list")
    return as_list(found, "references") if listed else found


def _content(content: Any) -> str:
    """The text of the content of a message: a string, a list of parts, or None."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = (part if isinstance(part, str) else part.get("text") for part in content)
    return "".join(part for part in parts if part)


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, bytes)
