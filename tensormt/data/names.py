"""Names of systems and documents as they are shown: visible, on one line, and still different.

Names come from files and may contain any character. Two different names never become the same.
"""

from __future__ import annotations

import re

# what a name without control characters must not contain, if it is to be told from an escaped one
_LIKE_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt\\])")
_SPACES = re.compile(r"^ | (?= )| $")  # white space that tables would take away


def shown_name(name: str) -> str:
    r"""Escape what is not visible in a name: control characters, marks of direction, odd spaces.

    Backslashes of names that look as if they were escaped are doubled.

    >>> print(shown_name("a\x1b"), shown_name("a\\x1b"), shown_name("a b"), shown_name("a\u202eb"))
    a\x1b a\\x1b a b a\u202eb
    """
    if name.isprintable() and not _SPACES.search(name) and not _LIKE_ESCAPE.search(name):
        return name
    escaped = "".join(
        letter
        if letter.isprintable() and letter != "\\"
        else letter.encode("unicode_escape").decode()
        for letter in name
    )
    return _SPACES.sub(r"\\x20", escaped)
