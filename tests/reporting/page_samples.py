"""Small inputs of a report, and a reader of the page's data."""

import base64
import json
import zlib
from collections import Counter
from html.parser import HTMLParser

import numpy as np

REFS = [
    ["the cat sat on the mat", "it rained all day", "nobody knew why", "a dog ran home"],
    ["a cat sat on a mat", "all day it rained", "no one knew why", ""],
    ["the cat sits on the mat", "the rain fell all day", "nobody knew", ""],
]
HYPS = {
    "A": ["the cat sat on a mat", "it rained all day", "nobody knew", "a dog ran"],
    "B": ["cat on mat", "rain fell", "nobody knew why", "a cat ran home home"],
    "C": ["the the the", "", "who knew", "a dog ran home"],
}
DOCS = ["d1", "d1", "d2", "d2"]
TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    "(S (NP (PRP I)) (VP (VBP have) (NP (DT the) (NN dog))))",
]


class Page(HTMLParser):
    """The blocks of a page, by id, and the tags it is made of."""

    def __init__(self, text):
        super().__init__()
        self.blocks, self.tags, self.now, self.metas = {}, Counter(), None, {}
        self.feed(text)
        self.meta = json.loads(self.bytes("meta"))

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        attrs = dict(attrs)
        self.now = attrs.get("id", "script") if tag == "script" else None
        if tag == "meta":
            self.metas[attrs.get("http-equiv") or attrs.get("name")] = attrs.get("content")

    def handle_endtag(self, tag):
        self.now = None

    def handle_data(self, data):
        if self.now:
            self.blocks[self.now] = self.blocks.get(self.now, "") + data

    def bytes(self, name):
        return zlib.decompress(base64.b64decode(self.blocks[name]), -15)

    def array(self, column):
        planes = np.frombuffer(self.bytes(f"b{column['b']}"), np.uint8)
        kind = np.dtype(f"<{column['t']}")
        return np.ascontiguousarray(planes.reshape(kind.itemsize, -1).T).view(kind)[:, 0]

    def texts(self, column):
        lines, left = [], self.meta["n"]
        for block in column["blocks"]:
            data, size = self.bytes(f"b{block}"), min(column["each"], left)
            text, at = data[4 * size :].decode().encode("utf-16-le"), 0
            for units in np.frombuffer(data[: 4 * size], "<u4").tolist():
                lines.append(text[2 * at : 2 * (at + units)].decode("utf-16-le"))
                at += units
            left -= size
        return lines

    def cards(self):
        blocks = self.meta["drawn"]["blocks"]
        return [card for block in blocks for card in json.loads(self.bytes(f"b{block}"))]


def read_page(path):
    return Page(path.read_text(encoding="utf-8"))
