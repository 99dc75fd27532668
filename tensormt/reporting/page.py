"""One HTML file with everything in it: numbers, texts, trees, style and script.

Columns of numbers and texts are deflated and written in base64, and the browser unpacks what it
needs (DecompressionStream). The content policy allows the page's own script and style, by their
hashes, and nothing else: no network, no other script. All that comes from data is base64, or text
that the script puts in as text.
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

LINES = 2000  # of text in one block
_FOLDER = Path(__file__).parent
_SCRIPTS = ("data.js", "charts.js", "panels.js", "segments.js", "trees.js", "start.js")

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


class Packed:
    """Blocks of bytes, deflated, each an element of the page."""

    def __init__(self) -> None:
        self.blocks: list[str] = []

    def add(self, data: bytes) -> int:
        """Keep a block; its number."""
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(data) + packer.flush()
        self.blocks.append(base64.b64encode(packed).decode("ascii"))
        return len(self.blocks) - 1

    def array(self, values: np.ndarray, kind: str) -> dict[str, Any]:
        """Keep numbers, by their bytes' places: all lowest bytes, then the next ones, ….

        kind: u1, u2, u4, f4.
        """
        data = np.ascontiguousarray(values, dtype=f"<{kind}")
        planes = data.view(np.uint8).reshape(len(data), -1).T
        return {"b": self.add(np.ascontiguousarray(planes).tobytes()), "t": kind, "n": len(data)}

    def texts(self, lines: Sequence[str]) -> dict[str, Any]:
        """Keep lines in blocks: lengths as JavaScript counts them, u4 each, then all in UTF-8.

        The browser unpacks the blocks of the lines that it shows.
        """
        blocks = []
        for start in range(0, len(lines), LINES):
            # what no UTF-8 can hold (a lone surrogate) becomes a question mark
            plain = [
                line.encode("utf-8", "replace").decode() for line in lines[start : start + LINES]
            ]
            sizes = [len(line.encode("utf-16-le")) // 2 for line in plain]
            head = np.array(sizes, "<u4").tobytes()
            blocks.append(self.add(head + "".join(plain).encode()))
        return {"blocks": blocks, "each": LINES}

    def json(self, value: Any) -> int:
        """Keep an object."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return self.add(text.encode("utf-8", "replace"))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(name: str) -> str:
    return files.text(str(_FOLDER / name))


def write(path: Path, title: str, meta: dict[str, Any], packed: Packed) -> None:
    """Write the page; `meta` refers to blocks by number."""
    script = "'use strict';\n(() => {\n" + "\n".join(map(_asset, _SCRIPTS)) + "\n})();"
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
        body=_asset("page.html"),
        data="\n".join(blocks),
        script=script,
    )
    with atomic_file(path) as file:
        file.write(page.encode("utf-8", "replace"))
