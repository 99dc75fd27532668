"""The file: arrays come back, and data is never markup."""

import base64
import re
import zlib

import numpy as np
from reporting.page_samples import read_page

import tensormt as tm
from tensormt.reporting.page import LINES, PackedBlocks


def test_data_is_never_markup(tmp_path):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    hyps = {hostile: [hostile, "x" * 10_000], "b": ["‏שלום עולם", "😀 👩‍👩‍👧"]}
    path = tm.report(hyps, [[hostile, "😀"]], ["bleu"], tmp_path / "r.html", title=hostile)
    page = read_page(path)
    assert page.tags["img"] == 0
    assert page.tags["script"] == len(page.blocks)
    assert page.texts(page.meta["hyps"][0]) == hyps[hostile]
    policy = page.metas["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_script_makes_markup_of_text():
    from tensormt.reporting.page import _FOLDER, METAEVAL, REPORT

    for name in (*REPORT, *METAEVAL):
        text = (_FOLDER / name).read_text(encoding="utf-8")
        for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert risky not in text, f"{name} uses {risky}"
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name


def test_arrays_come_back():
    packed = PackedBlocks()
    for kind, values in (("f4", [0.5, -1.25, 3e-9]), ("u4", [0, 1, 70_000]), ("u2", [0, 65_535])):
        column = packed.array(np.array(values), kind)
        data = zlib.decompress(base64.b64decode(packed.blocks[column["b"]]), -15)
        width = np.dtype(kind).itemsize
        back = bytes(data[k * len(values) + i] for i in range(len(values)) for k in range(width))
        assert np.frombuffer(back, f"<{kind}").tolist() == np.array(values, kind).tolist()


def test_texts_are_stored_in_blocks_of_lines():
    lines = [f"line {k} 😀" for k in range(LINES + 1)]
    packed = PackedBlocks()
    column = packed.texts(lines)
    assert (len(column["blocks"]), column["each"]) == (2, LINES)
    data = zlib.decompress(base64.b64decode(packed.blocks[column["blocks"][1]]), -15)
    assert data == np.array([len(lines[-1]) + 1], "<u4").tobytes() + lines[-1].encode()
