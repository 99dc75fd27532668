"""Completions and references as data sets and trainers write them: text, messages, lists.

A completion is a string or a chat, of which the assistant's last message counts: tool calls and
what tools answered are passed over, and a message's content may be a list of parts, of which the
text is taken. A reference is written like a completion; a row of a data set holds one, a list of
them, or None where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensormt.errors import TensorMTError


def text_of(completion: Any) -> str:
    """The text of a completion: a string, a message, or the assistant's last one of a chat."""
    if completion is None or isinstance(completion, str):
        return completion or ""
    if isinstance(completion, Mapping):
        return _content(completion.get("content"))
    if not _listed(completion) or not all(isinstance(each, Mapping) for each in completion):
        raise TensorMTError(
            f"a completion is {completion!r:.80}: expected text, or a list of messages with "
            "'role' and 'content'"
        )
    said = [message for message in completion if message.get("role", "assistant") == "assistant"]
    return _content(said[-1].get("content")) if said else ""


def references(row: Any) -> list[str]:
    """The references of a row that are not empty: it holds one, a list of them, or None."""
    single = row is None or isinstance(row, str | Mapping)
    chat = not single and _listed(row) and any(isinstance(each, Mapping) for each in row)
    each = [row] if single or chat else list(row)
    return [text for text in map(text_of, each) if text and not text.isspace()]


def _content(content: Any) -> str:
    """The text of a message's content: a string, parts, or None."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = (part if isinstance(part, str) else part.get("text") for part in content)
    return "".join(part for part in parts if part)


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, bytes)
