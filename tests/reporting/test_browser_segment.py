"""The panel of one segment in a browser: one metric throughout, and alignments as lines."""

import math

import pytest
from vector_samples import make_encoder

import tensormt as tm
from tensormt.reporting.contributions import contributions

pytestmark = pytest.mark.heavy(needs="browser")

HOSTILE = "<img/src=x/onerror=window.hit=3>"
REFS = [
    ["the cats sat on a mat .", "a dog ran on the new house .", f"the house {HOSTILE} ."],
    ["a cat sat .", "the dog ran .", ""],
]
HYPS = {
    "one": ["the cat sat on the mat .", "cats ran , the dog", f"a new house {HOSTILE}"],
    "two": ["a mat sat on the cats .", "a dog ran on a house .", "the house"],
}
MEAN = "chrf+hwcm:max_length=2,balance=f1+ter"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    pytest.importorskip("transformers", reason="the extra encoder is not installed")
    folder = make_encoder(tmp_path_factory.mktemp("tiny"))
    out = tmp_path_factory.mktemp("segment") / "report.html"
    metrics = [MEAN, "bleu:max_order=2", f"bertscore:encoder={folder},units=words"]
    return tm.report(HYPS, REFS, metrics, out)


def number(text):
    return float(text.replace("−", "-"))


def bars(page):
    """Item, kind and value of every bar of the waterfall."""
    page.wait_for_selector("#waterfall .fall")
    rows = page.eval_on_selector_all(
        "#waterfall .fall",
        "all => all.map(g => [g.querySelector('title').textContent, g.dataset.kind,"
        " g.querySelector('.value').textContent])",
    )
    return [(title.rsplit(" (", 1)[0], kind, number(value)) for title, kind, value in rows]


def test_heading_colouring_and_waterfall_speak_of_the_chosen_metric(open_report, path):
    for m, name in ((0, MEAN), (1, "bleu:max_order=2")):
        page = open_report(path, f"#m={m}&seg=0")
        assert f"{name} A" in page.inner_text("#which")
        assert f"matched in {name}" in page.inner_text("#texts")
        assert page.inner_text("#waterfall h3") == f"What each match adds to {name}, A − B"
        assert page.locator("#view option:checked").inner_text().startswith(name)
    # the trees stay in sight, without the matches of another metric
    assert page.locator("#trees svg").count() == 3
    assert page.locator("#trees .node.root").count() == 0
    assert "compares tokens: these trees show no matches" in page.inner_text("#trees")
    # matches of another metric are a choice of that metric
    page.select_option("#view", label=f"{MEAN}: HWCM-2 F1")
    page.wait_for_function("() => document.getElementById('metric').value === '0'")
    assert f"{MEAN} A" in page.inner_text("#which")
    assert page.inner_text("#waterfall h3").startswith(f"What each match adds to {MEAN}")
    assert page.locator("#trees .node.root").count() > 0


def test_bars_of_a_mean_name_member_and_kind_and_sum_to_the_difference(open_report, path):
    page = open_report(path, "#m=0&seg=1")
    found, (_, last, total) = bars(page)[:-1], bars(page)[-1]
    assert last == MEAN
    scores = [tm.score(lines, REFS, [MEAN]).segments[MEAN][1].item() for lines in HYPS.values()]
    assert total == pytest.approx(scores[0] - scores[1], abs=6e-5)
    assert sum(value for _, _, value in found) == pytest.approx(total, abs=0.001)
    kinds = {kind for _, kind, _ in found}
    assert any(kind.startswith("HWCM-2 F1 · headword chains of") for kind in kinds)
    assert "TER · what a match adds is not known" in kinds
    # each bar of the chains is what `contributions` says of the two outputs
    expected = {}
    for sign, lines in zip((1, -1), HYPS.values(), strict=True):
        [own] = tm.explain(MEAN, lines[1:2], [stream[1:2] for stream in REFS])
        for item in contributions(own):
            if item.member == "HWCM-2 F1" and item.adds:
                key = item.text, f"HWCM-2 F1 · {item.kind}"
                expected[key] = expected.get(key, 0.0) + sign * item.adds
    chains = {(text, kind): value for text, kind, value in found if kind.startswith("HWCM")}
    assert chains
    for key, value in chains.items():
        assert value == pytest.approx(expected[key], abs=1e-4)


def test_alignment_is_drawn_as_lines_between_words(open_report, path):
    page = open_report(path, "#m=2&seg=0")
    metric = page.locator("#metric option:checked").inner_text()
    for name, lines in HYPS.items():
        [own] = tm.explain(metric, lines[:1], [stream[:1] for stream in REFS])
        best = next(match.reference for match in own.matches if match.counted)
        expected = {f"{m.place},{m.places[best][0]}": m for m in own.matches if m.counted}
        figure = page.locator("#trees figure").filter(has_text=f": {name}")
        links = figure.locator(".link")
        shown = links.evaluate_all("all => all.map(l => l.dataset.link)")
        assert sorted(shown) == sorted(expected)
        titles = links.evaluate_all("all => all.map(l => l.textContent)")
        assert titles == [expected[key].text for key in shown]  # with the cosine
        words = figure.locator(".node text").all_text_contents()
        assert words == [w or "·" for w in [*REFS[best][0].split(), *lines[0].split()]]
        assert f"{len(expected)} of {len(lines[0].split())} matched in" in figure.inner_text()
    # a line ends at its words, and pointing at a word lights it up
    place = page.evaluate("""() => {
        const link = document.querySelector('#trees .link'), box = link.getBoundingClientRect();
        const words = [...document.querySelectorAll('#trees figure')][0].querySelectorAll('.node');
        const name = link.dataset.class;
        const own = [...words].filter(w => (w.dataset.class || '').split(' ').includes(name));
        const middles = own.map(w => w.getBoundingClientRect()).map(b => b.left + b.width / 2);
        return [box.left, box.right, Math.min(...middles), Math.max(...middles)];
    }""")
    assert math.isclose(place[0], place[2], abs_tol=3)
    assert math.isclose(place[1], place[3], abs_tol=3)
    page.locator("#trees figure .node[data-class]").last.hover()
    assert page.locator("#trees .link.lit").count() >= 1
    # the words of the text above are underlined where they have a line
    matched = page.locator('#texts [data-stream="2"] .token.level1').count()
    assert matched == page.locator("#trees figure").first.locator(".link").count()
    assert sum(value for _, _, value in bars(page)[:-1]) == pytest.approx(
        bars(page)[-1][2], abs=0.001
    )
    # hostile words, and the same in a narrow window
    page = open_report(path, "#m=2&seg=2", viewport={"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.locator("#trees .link").count() > 0


def test_what_bertscore_matched_is_not_counted_by_item(open_report, path):
    page = open_report(path)
    groups = page.locator("#group option").all_inner_texts()
    assert groups
    assert not [name for name in groups if name.startswith("bertscore")]


def test_drawings_of_right_to_left_text_begin_at_the_right(open_report, tmp_path):
    ref = "(S (NP (DT הכלב) (NN הגדול)) (VP (VBD רץ)))"
    hyps = {"A": [ref], "B": ["(S (NP (DT הכלב) (NN הקטן)) (VP (VBD ישן)))"]}
    path = tm.report(hyps, [[ref]], ["hwcm:max_length=2", "stm"], tmp_path / "r.html", trees=True)
    places = """all => all.map(t => [t.textContent, t.getBoundingClientRect().left])"""
    page = open_report(path, "#m=0&seg=0")
    tree = page.locator("#trees figure").first
    words = [
        word for word, _ in sorted(tree.locator(".node text").evaluate_all(places), key=second)
    ]
    assert words == ["רץ", "הגדול", "הכלב"]
    page = open_report(path, "#m=1&seg=0")
    tree = page.locator("#trees figure").first
    words = sorted(tree.locator("text.word").evaluate_all(
        "all => all.map(t => [t.firstChild.textContent, t.getBoundingClientRect().left])"
    ), key=second)  # fmt: skip
    assert [word for word, _ in words] == ["רץ", "הגדול", "הכלב"]
    assert page.locator('#texts [data-stream="0"] bdi').get_attribute("dir") == "auto"


def second(pair):
    return pair[1]


def test_tables_fit_on_paper(open_report, tmp_path):
    hyps = {f"system-{k}-transformer-big": [f"a dog ran {k}", "x y"] for k in range(10)}
    path = tm.report(hyps, [["a dog ran 3", "x z"]], ["bleu", "chrf"], tmp_path / "r.html")
    page = open_report(path, viewport={"width": 718, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
