"""Matches of the tree panel against `tm.explain`."""

from reporting.page_samples import HYPS, REFS, TREES, read_page

import tensormt as tm


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


def test_dependencies_come_with_constituents(tmp_path):
    """No metric compares them, so they have no matches; references come first, then systems."""
    hyps = {"A": TREES[::-1], "B": TREES}
    path = tm.report(hyps, [TREES], ["stm"], tmp_path / "r.html", trees=True)
    for card in read_page(path).cards():
        assert [view["kind"] for view in card["views"]] == ["constituency", "dependency"]
        for lines, stream in zip((TREES, *hyps.values()), card["views"][1]["s"], strict=True):
            words, heads = tm.TreeBatch.from_brackets([lines[card["i"]]]).dependencies().to_heads()
            assert stream["l"] == words[0]
            assert [parent + 1 for parent in stream["p"]] == heads[0]
    path = tm.report(hyps, [TREES], ["stm", "hwcm"], tmp_path / "both.html", trees=True)
    kinds = [view["kind"] for view in read_page(path).cards()[0]["views"]]
    assert kinds == ["constituency", "dependency"]


def test_arcs_have_the_names_of_their_relations(tmp_path):
    batch = tm.TreeBatch.from_heads([["dogs", "bark"]], [[2, 0]], [["nsubj", "root"]])
    path = tm.report(
        {"A": ["dogs bark"]}, [["dogs bark"]], ["hwcm"], tmp_path / "r.html",
        trees=({"A": batch}, [batch]),
    )  # fmt: skip
    [card] = read_page(path).cards()
    assert [stream["r"] for stream in card["views"][0]["s"]] == [["nsubj", "root"]] * 2
