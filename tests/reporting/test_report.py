"""The page's data: what is packed is what the library computes, and nothing of it is markup."""

import base64
import json
import math
import re
import zlib
from collections import Counter
from html.parser import HTMLParser

import ngram_oracle
import numpy as np
import oracles
import pytest
import torch

import tensormt as tm
from tensormt.command.main import main
from tensormt.evaluator import Evaluator
from tensormt.reporting.build import largest
from tensormt.reporting.overview import number
from tensormt.reporting.page import Packed
from tensormt.reporting.tree_panel import gains
from tensormt.segments import Segments
from tensormt.significance import compare

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


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    metrics = ["bleu:max_order=2", "bm"]
    assert tm.report(HYPS, REFS, metrics, path, docs=DOCS, title="A & B") == path
    return Page(path.read_text(encoding="utf-8"))


def test_scores_texts_and_signatures_are_on_the_page(page):
    meta = page.meta
    assert (meta["n"], meta["systems"], meta["title"]) == (4, list(HYPS), "A & B")
    assert [page.texts(column) for column in meta["hyps"]] == list(HYPS.values())
    assert [page.texts(column) for column in meta["refs"]] == REFS
    assert page.texts(meta["docs"]) == DOCS
    for metric in meta["metrics"]:
        for k, lines in enumerate(HYPS.values()):
            expected = tm.score(lines, REFS, [metric["name"]])
            found = page.array(metric["columns"][k])
            assert np.array_equal(found, expected.segments[metric["name"]].numpy().astype("f4"))
            assert metric["scores"][k] == number(expected.corpus[metric["name"]])
            assert metric["signature"] == expected.signatures[metric["name"]]


def test_p_values_are_those_of_compare(page):
    found = Evaluator(["bleu:max_order=2", "bm"]).evaluate(Segments(HYPS, REFS))
    names = list(HYPS)
    rows = {
        (row.metric, names.index(row.baseline), names.index(row.system)): row
        for row in compare(found, all_pairs=True, samples=page.meta["samples"])
    }
    assert len(rows) == 6
    for metric in page.meta["metrics"]:
        assert len(metric["pairs"]) == 3
        for a, b, p, holm, gap, n in metric["pairs"]:
            row = rows[metric["name"], a, b]
            assert (gap, n) == (number(row.baseline_score - row.score), 4)
            assert (p, holm) == (number(row.p), number(row.p_holm))
            assert metric["intervals"][b] == [number(row.low), number(row.high)]


def test_buckets_hold_what_their_segments_score(page):
    ways = {way["title"]: way for way in page.meta["buckets"]}
    assert set(ways) == {"agreement among references", "document"}  # all have below 10 words
    way = ways["document"]
    assert (way["labels"], way["n"]) == (["d1", "d2"], [[2, 2, 2], [2, 2, 2]])
    assert page.array(way["index"]).tolist() == [1, 1, 2, 2]
    for k, rows in enumerate((slice(0, 2), slice(2, 4))):
        for s, lines in enumerate(HYPS.values()):
            expected = tm.score(lines[rows], [ref[rows] for ref in REFS], ["bm"]).corpus["bm"]
            assert way["scores"]["bm"][k][s][0] == number(expected)


def test_items_count_what_an_oracle_counts(page):
    groups = {(g["metric"], g["order"]): g for g in page.meta["items"]}
    refs = [[stream[i].split() for stream in REFS if stream[i]] for i in range(4)]
    for order in (1, 2):
        counts, holders = {}, {}
        for s, lines in enumerate(HYPS.values()):
            for i, line in enumerate(lines):
                for gram, count in ngram_oracle.clip(line.split(), refs[i], order).items():
                    if count:
                        counts.setdefault(" ".join(gram), [0] * 3)[s] += count
                        holders.setdefault(" ".join(gram), set()).add(i)
        group = groups["bleu:max_order=2", order]
        steps, at = page.array(group["steps"]).tolist(), 0
        assert set(group["texts"]) == set(counts)
        for text, found, size in zip(group["texts"], group["counts"], group["sizes"], strict=True):
            assert found == counts[text]
            assert np.cumsum(steps[at : at + size]).tolist() == sorted(holders[text])
            at += size


def test_drawn_matches_are_those_of_explain(page):
    hyps = [tm.TokenBatch.from_text(lines) for lines in HYPS.values()]
    refs = [tm.TokenBatch.from_text(lines) for lines in REFS]
    explained = [tm.explain("bm", hyp, refs) for hyp in hyps]
    for card in page.cards():
        part = card["m"]["bm"]
        for s in range(3):
            counted = [[*zip(flat[::2], flat[1::2], strict=True)] for flat in part["k"][s]]
            expected = [[], [], [], []]
            for match in explained[s][card["i"]].matches:
                if match.counted:
                    expected[match.order - 1].append((match.place, match.reference))
                numbers = [dict(zip(f[::2], f[1::2], strict=True)) for f in part["c"][3 + s]]
                mine = numbers[match.order - 1].get(match.place)
                for r, places in enumerate(match.places):
                    flat = part["c"][r][match.order - 1]
                    theirs = [p for p, n in zip(flat[::2], flat[1::2], strict=True) if n == mine]
                    assert (theirs if mine else []) == places
            assert counted == expected


def test_additions_sum_to_the_score():
    """Shapley values by their definition: over all sequences of orders."""
    from itertools import permutations

    hyps, refs = oracles.random_case(7, most=12)
    hyp = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in hyps])
    others = [
        tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in stream])
        for stream in zip(*refs, strict=True)
    ]
    for metric in (tm.STM(3), tm.STM(3, balance="f1"), tm.HWCM(3)):
        rows = metric.statistics(hyp, others)
        found = gains(metric, rows, [[1], [2], [3]])
        assert torch.allclose(found.sum(1), metric(hyp, others))
        for row, values in zip(rows, found.tolist(), strict=True):
            expected = [0.0] * 3
            for sequence in permutations(range(3)):
                now = row.clone()
                now[1:4] = 0
                for order in sequence:
                    before = float(metric.score(now, segment=True))
                    now[1 + order] = row[1 + order]
                    expected[order] += (float(metric.score(now, segment=True)) - before) / 6
            assert values[1:] == pytest.approx(expected, abs=1e-12)
    assert gains(tm.STM(9), torch.zeros(1, 19), [[k] for k in range(9)]) is None


def test_data_is_never_markup(tmp_path):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    hyps = {hostile: [hostile, "x" * 10_000], "b": ["‏שלום עולם", "😀 👩‍👩‍👧"]}
    path = tm.report(hyps, [[hostile, "😀"]], ["bleu"], tmp_path / "r.html", title=hostile)
    page = Page(path.read_text(encoding="utf-8"))
    assert page.tags["img"] == 0
    assert page.tags["script"] == len(page.blocks)
    assert page.texts(page.meta["hyps"][0]) == hyps[hostile]
    policy = page.metas["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_script_makes_markup_of_text():
    from tensormt.reporting.page import _FOLDER, _SCRIPTS

    for name in _SCRIPTS:
        text = (_FOLDER / name).read_text(encoding="utf-8")
        for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert risky not in text, f"{name} uses {risky}"
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name


def test_arrays_come_back():
    packed = Packed()
    for kind, values in (("f4", [0.5, -1.25, 3e-9]), ("u4", [0, 1, 70_000]), ("u2", [0, 65_535])):
        column = packed.array(np.array(values), kind)
        data = zlib.decompress(base64.b64decode(packed.blocks[column["b"]]), -15)
        width = np.dtype(kind).itemsize
        back = bytes(data[k * len(values) + i] for i in range(len(values)) for k in range(width))
        assert np.frombuffer(back, f"<{kind}").tolist() == np.array(values, kind).tolist()


def test_trees_are_drawn_where_systems_differ_most():
    scores = {"m": np.array([[0.0, 0.5, 1.0, 0.2], [0.1, 0.5, 0.0, 0.9]])}
    assert largest(scores, 2) == [2, 3]
    assert largest(scores, None) == [0, 1, 2, 3]
    assert largest({"m": scores["m"][:1]}, 2) == [0, 3]  # one system: the lowest


def test_numbers_that_json_lacks():
    assert number(math.nan) is None
    assert number(math.inf) is None
    assert number(0.123456789) == 0.1234568


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(tm.TensorMTError, match="at least one system"):
        tm.report({}, REFS)
    with pytest.raises(tm.TensorMTError, match="no reference given"):
        tm.report(HYPS, [])
    with pytest.raises(tm.TensorMTError, match="trees_for"):
        tm.report(HYPS, REFS, ["bleu"], trees_for=-1)
    with pytest.raises(tm.TensorMTError, match="does not exist"):
        tm.report(HYPS, REFS, ["bleu"], tmp_path / "nowhere" / "r.html")
    with pytest.raises(tm.TensorMTError, match="with the systems of hyps"):
        tm.report(HYPS, REFS, ["stm"], tmp_path / "r.html", trees=({"A": []}, []))
    with pytest.raises(tm.TensorMTError, match="no segments"):
        tm.report({"A": []}, [[]], ["bleu"], tmp_path / "r.html")
    with pytest.raises(tm.TensorMTError, match="expected \\[3, 4\\]"):
        tm.report(HYPS, REFS, ["bleu"], tmp_path / "r.html", human={"f": torch.zeros(2, 2)})


TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    "(S (NP (PRP I)) (VP (VBP have) (NP (DT the) (NN dog))))",
]


def test_trees_come_written_or_beside_the_text(tmp_path):
    metrics = ["stm", "hwcm", "tkm"]
    written = tm.report(
        {"A": TREES, "B": TREES[::-1]}, [TREES], metrics, tmp_path / "w.html", trees=True
    )
    lines = ["the dog ran", "I have the dog"]
    beside = tm.report(
        {"A": lines, "B": lines[::-1]},
        [lines],
        metrics,
        tmp_path / "b.html",
        trees=({"A": TREES, "B": TREES[::-1]}, [TREES]),
    )
    one, two = (Page(path.read_text(encoding="utf-8")) for path in (written, beside))
    assert one.cards() == two.cards()
    assert one.texts(one.meta["hyps"][0]) == lines
    assert [m["scores"] for m in one.meta["metrics"]] == [m["scores"] for m in two.meta["metrics"]]
    card = one.cards()[0]
    assert card["views"][0]["s"][0] == {
        "l": ["S", "NP", "DT", "NN", "VP", "VBD"],
        "p": [-1, 0, 1, 1, 0, 4],
        "w": ["", "", "the", "dog", "", "ran"],
    }
    assert card["views"][1]["s"][0] == {"l": ["the", "dog", "ran"], "p": [1, 2, -1]}
    # the parts of a kernel's pairs sum to the score
    kernel = [part for r, _, _, part in card["m"]["tkm"]["p"][0] if r == 0]
    assert math.isclose(sum(kernel), 1.0, rel_tol=1e-3)


def test_the_command_writes_the_page(tmp_path, capsys):
    for name, lines in (("r.txt", REFS[0]), ("a.txt", HYPS["A"]), ("b.txt", HYPS["B"])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("r.txt", "a.txt", "b.txt")]
    out = tmp_path / "out.html"
    command = ["report", files[0], "-i", *files[1:], "-m", "bleu", "-o", str(out), "-q"]
    assert main([*command, "--trees-for", "1"]) == 0
    assert "4 segments" in capsys.readouterr().err
    page = Page(out.read_text(encoding="utf-8"))
    assert page.meta["systems"] == ["a.txt", "b.txt"]
    assert len(page.cards()) == 1
    assert main([*command, "--trees-for", "some"]) == 2
    assert "--trees-for 'some'" in capsys.readouterr().err


def test_a_judged_set_brings_human_scores(tmp_path):
    rows = []
    for i in range(4):
        systems = {
            name: {"hyp": lines[i], "scores": {"fluency": float(len(lines[i]))}}
            for name, lines in HYPS.items()
        }
        refs = [stream[i] for stream in REFS if stream[i]]
        rows.append(json.dumps({"doc": DOCS[i], "refs": refs, "sys": systems}))
    path, out = tmp_path / "set.jsonl", tmp_path / "out.html"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert main(["report", "-i", str(path), "-m", "bleu", "bm", "-o", str(out), "-q"]) == 0
    page = Page(out.read_text(encoding="utf-8"))
    [bleu, _] = page.meta["people"]
    scores = [tm.score(lines, REFS, ["bleu"]).segments["bleu"].tolist() for lines in HYPS.values()]
    right = pairs = 0
    for i in range(4):
        for a in range(3):
            for b in range(a):
                people = len(list(HYPS.values())[a][i]) - len(list(HYPS.values())[b][i])
                if people:
                    gap = (scores[a][i] - scores[b][i]) * people
                    right += 1 if gap > 0 else 0.5 if gap == 0 else 0
                    pairs += 1
    assert (bleu["pairs"], bleu["share"]) == (pairs, number(right / pairs))
    assert page.meta["qarla"]["cases"] == 3  # with three references


def test_missing_outputs_are_left_out(tmp_path):
    """A judged set without some outputs: scores, pairs and people are over what is there."""
    hyps = {name: list(lines) for name, lines in HYPS.items()}
    hyps["B"][1] = None
    rows = [
        json.dumps(
            {
                "refs": [stream[i] for stream in REFS if stream[i]],
                "sys": {
                    name: {"hyp": lines[i], "scores": {"f": i + len(name)}}
                    for name, lines in hyps.items()
                },
            }
        )
        for i in range(4)
    ]
    path, out = tmp_path / "set.jsonl", tmp_path / "out.html"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert main(["report", "-i", str(path), "-m", "bleu", "chrf", "-o", str(out), "-q"]) == 0
    page = Page(out.read_text(encoding="utf-8"))
    assert page.meta["outputs"] == [4, 3, 4]
    kept = [0, 2, 3]
    for metric in page.meta["metrics"]:
        name = metric["name"]
        refs = [[stream[i] for i in kept] for stream in REFS]
        score = {
            system: tm.score([lines[i] for i in kept], refs, [name])
            for system, lines in hyps.items()
        }
        assert metric["scores"][1] == number(score["B"].corpus[name])
        assert metric["scores"][0] != number(score["A"].corpus[name])  # over all four
        column = page.array(metric["columns"][1])
        assert np.isnan(column).tolist() == [False, True, False, False]
        pairs = {(a, b): (gap, n) for a, b, _, _, gap, n in metric["pairs"]}
        gap = score["A"].corpus[name] - score["B"].corpus[name]
        assert pairs[0, 1] == (number(gap), 3)
        assert pairs[0, 2][1] == 4
    assert page.meta["correlations"]["n"] == 11
    assert {row["n"] for row in page.meta["people"]} == {11}


def test_explain_prints_what_was_matched(tmp_path, capsys):
    for name, lines in (("r.ptb", TREES[:1]), ("h.ptb", TREES[1:])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["explain", str(tmp_path / "r.ptb"), "-i", str(tmp_path / "h.ptb"), "--trees", "-q"]
    assert main([*command, "-m", "stm:max_depth=2", "tkm", "--all"]) == 0
    out = capsys.readouterr().out
    assert "reference 1: the dog ran" in out
    assert "h.ptb: I have the dog" in out
    assert "    + NP  [1]" in out  # one of two
    assert "    - (VP VBP NP)" in out
    assert main([*command, "-m", "stm", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["systems"]["h.ptb"]["stm"]
    assert found["kind"] == "subtree"
    assert found["items"][0]["text"] == "S"
    assert main([*command, "--segment", "2"]) == 2
    assert "from 1 to 1" in capsys.readouterr().err


def test_names_that_cannot_be_written_are_shown_with_a_mark(tmp_path):
    odd = "a\ud800"
    texts = ["a dog ran", "a cat"]
    options = {"docs": [odd, "b"], "title": odd}
    path = tm.report({odd: texts, "B": texts}, [texts], ["bleu"], tmp_path / "r.html", **options)
    assert "<title>a?</title>" in path.read_text(encoding="utf-8")
