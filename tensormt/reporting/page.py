"""The HTML file of a report, which contains all data, style and scripts.

Columns of numbers and texts are compressed (deflate) and encoded in base64; the browser unpacks
what it needs (DecompressionStream). The content security policy allows only the script and style of
the page, by their hashes: no network access and no other scripts. Data is written as base64, or as
text that the script inserts as text nodes, never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensormt.data import files
from tensormt.data.atomic_write import atomic_file

LINES = 2000  # lines of text in one block
_FOLDER = Path(__file__).parent
REPORT = (
    "page.html",
    "elements.js",
    "axes.js",
    "state.js",
    "data.js",
    "charts.js",
    "panels.js",
    "segments.js",
    "trees.js",
    "alignment.js",
    "waterfall.js",
    "errors.js",
    "zoom.js",
    "start.js",
)

METAEVAL = ("metaeval.html", "elements.js", "axes.js", "state.js", "metaeval.js")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="tensormt">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
{data}
<script>{script}</script>
</body>
</html>
"""


class PackedBlocks:
    """Compressed blocks of bytes, each of which becomes an element of the page.

    >>> packed = PackedBlocks()
    >>> packed.array(np.array([1.0, 2.0]), "f4")
    {'b': 0, 't': 'f4', 'n': 2}
    """

    def __init__(self) -> None:
        self.blocks: list[str] = []

    def add(self, data: bytes) -> int:
        """Add a block of bytes and return its number."""
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(data) + packer.flush()
        self.blocks.append(base64.b64encode(packed).decode("ascii"))
        return len(self.blocks) - 1

    def array(self, values: np.ndarray, kind: str) -> dict[str, Any]:
        """Add an array of numbers, stored by byte: all lowest bytes, then all second bytes, ….

        Args:
            values: The numbers [n].
            kind: Type of the stored numbers: "u1", "u2", "u4" or "f4".

        Returns:
            Number of the block, type and length, for the script.
        """
        data = np.ascontiguousarray(values, dtype=f"<{kind}")
        planes = data.view(np.uint8).reshape(len(data), -1).T
        return {"b": self.add(np.ascontiguousarray(planes).tobytes()), "t": kind, "n": len(data)}

    def texts(self, lines: Sequence[str]) -> dict[str, Any]:
        """Add lines of text in blocks, of which the browser unpacks those that it shows.

        A block has the lengths of the lines in UTF-16 units, u4 each, and then the text in UTF-8.

        Returns:
            Numbers of the blocks and lines per block, for the script.
        """
        blocks = []
        for start in range(0, len(lines), LINES):
            # Lone surrogates, which are not valid in UTF-8, become question marks.
            plain = [
                line.encode("utf-8", "replace").decode() for line in lines[start : start + LINES]
            ]
            sizes = [len(line.encode("utf-16-le")) // 2 for line in plain]
            head = np.array(sizes, "<u4").tobytes()
            blocks.append(self.add(head + "".join(plain).encode()))
        return {"blocks": blocks, "each": LINES}

    def json(self, value: Any) -> int:
        """Add an object as JSON and return the number of its block."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return self.add(text.encode("utf-8", "replace"))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(name: str) -> str:
    return files.text(str(_FOLDER / name))


def write_page(
    path: Path,
    title: str,
    meta: dict[str, Any],
    packed: PackedBlocks,
    assets: Sequence[str] = REPORT,
) -> None:
    """Write the page.

    Args:
        path: The file.
        title: Title of the page.
        meta: Data of the page, which refers to blocks by number.
        packed: The blocks.
        assets: Files of the body and of the scripts.
    """
    body, *scripts = assets
    script = "'use strict';\n(() => {\n" + "\n".join(map(_asset, scripts)) + "\n})();"
    style = _asset("page.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    first = packed.json(meta)
    blocks = [
        f'<script type="text/plain" id="{"meta" if number == first else f"b{number}"}">{block}'
        "</script>"
        for number, block in enumerate(packed.blocks)
    ]
    page = _PAGE.format(
        policy=html.escape(policy, quote=False),
        title=html.escape(title),
        style=style,
        body=_asset(body),
        data="\n".join(blocks),
        script=script,
    )
    with atomic_file(path) as file:
        file.write(page.encode("utf-8", "replace"))
