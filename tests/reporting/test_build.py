"""`tm.report`: what is on the page is what the library computes, and errors."""

import math

import numpy as np
import pytest
import torch
from reporting.page_samples import DOCS, HYPS, REFS, TREES, read_page

import tensormt as tm
from tensormt.data.error_spans import Ratings
from tensormt.errors import TensorMTError
from tensormt.reporting.build import most_different_segments
from tensormt.reporting.overview import json_number


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
            assert metric["scores"][k] == json_number(expected.corpus[metric["name"]])
            assert metric["signature"] == expected.signatures[metric["name"]]


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
    with pytest.raises(
        tm.TensorMTError, match="the list of sources has 1 segments, hypothesis 'A' has 4"
    ):
        tm.report(HYPS, REFS, ["bleu"], tmp_path / "r.html", sources=["x"])


def test_sources_human_scores_and_stored_scores_are_on_the_page(page, tmp_path):
    assert page.meta["sources"] is None
    assert page.meta["human"] == []
    human = torch.tensor([[1, 2, 3, math.nan], [0, 1, 2, 3], [5, 5, 5, 5.5]]).double()
    stored = tm.Scores("X", {name: [0.5, None, 2, 3] for name in HYPS})
    path = tm.report(
        HYPS,
        REFS,
        ["bleu", stored],
        tmp_path / "r.html",
        sources=["<b>eins</b>", None, "‏שלום", "vier"],
        human={"adequacy": human},
    )
    shown = read_page(path)
    assert shown.texts(shown.meta["sources"]) == ["<b>eins</b>", "", "‏שלום", "vier"]
    [column] = shown.meta["human"]
    assert (column["name"], column["digits"], column["higher"]) == ("adequacy", 1, True)
    for k, own in enumerate(human.numpy().astype("f4")):
        assert np.array_equal(shown.array(column["columns"][k]), own, equal_nan=True)
    assert [metric["stored"] for metric in shown.meta["metrics"]] == [False, True]
    assert shown.meta["metrics"][0]["summary"] == tm.BLEU.summary
    assert shown.meta["correlations"]["n"] == 9  # outputs that both have scored
    assert list(shown.meta["qarla"]["kings"]) == ["bleu"]


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
    one, two = (read_page(path) for path in (written, beside))
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


def test_trees_are_drawn_where_systems_differ_most():
    scores = {"m": np.array([[0.0, 0.5, 1.0, 0.2], [0.1, 0.5, 0.0, 0.9]])}
    assert most_different_segments(scores, 2) == [2, 3]
    assert most_different_segments(scores, None) == [0, 1, 2, 3]
    assert most_different_segments({"m": scores["m"][:1]}, 2) == [0, 3]  # one system: the lowest
    assert most_different_segments({"m": scores["m"][:1]}, 2, {"m"}) == [
        1,
        2,
    ]  # errors


def test_names_that_cannot_be_written_are_shown_with_a_mark(tmp_path):
    odd = "a\ud800"
    texts = ["a dog ran", "a cat"]
    options = {"docs": [odd, "b"], "title": odd}
    path = tm.report({odd: texts, "B": texts}, [texts], ["bleu"], tmp_path / "r.html", **options)
    assert "<title>a?</title>" in path.read_text(encoding="utf-8")


def test_references_are_left_out_for_stored_scores_alone(tmp_path):
    hyps, path = {"A": ["a b", "c"]}, tmp_path / "page.html"
    stored = tm.Scores("COMET", {"A": [0.5, 0.7]})
    assert read_page(tm.report(hyps, None, [stored], path)).meta["refs"] == []
    with pytest.raises(TensorMTError, match="only scores of other tools"):
        tm.report(hyps, None, ["bleu", stored], path)
    with pytest.raises(TensorMTError, match="ratings of B, the outputs are those of A"):
        tm.report(hyps, [["a", "c"]], ["bleu"], path, ratings=Ratings({"B": [[], []]}, {}))
