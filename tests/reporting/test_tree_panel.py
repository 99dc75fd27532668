"""Matches of the tree panel against `tm.explain`."""

from reporting.page_samples import HYPS, REFS

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
