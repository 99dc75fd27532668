"""Panels in a browser: trees that fit, sources, human scores, ranked items, print, notebooks."""

import html
import random
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="browser")

HOSTILE = '</script><script>window.hit=1</script><img src=x onerror="window.hit=2">'
WORDS = "the old red dog cat house garden tree river saw found took gave likes ran".split()
LONG_DOCUMENT = "newstest/{}/an-outlet-with-a-very-long-name.example.org:zh-en"


def tree(rng, size):
    """Nested clauses, each with a subject, a verb and an object: deep and wide."""
    noun = f"(NP (DT the) (JJ {rng.choice(WORDS)}) (NN {rng.choice(WORDS)}))"
    rest = tree(rng, size - 4) if size > 8 else noun
    return f"(S {noun} (VP (VBD {rng.choice(WORDS)}) (SBAR (IN that) {rest})))"


def changed(rng, part, share):
    """Keep a part of a bracketing, or take another word, or another tag of an adjective."""
    if rng.random() < share:
        return part
    if "(" in part:
        return part.replace("(JJ", "(CD")
    return f"{rng.choice(WORDS)}{')' * part.count(')')}"


@pytest.fixture(scope="module")
def data():
    rng = random.Random(8)
    refs = [tree(rng, 24) for _ in range(40)]
    hyps = {}
    for name, share in (("first <i>", 0.9), ("second", 0.6), ("third", 0.3)):
        hyps[name] = [" ".join(changed(rng, part, share) for part in line.split()) for line in refs]
    sources = [f"Quelle {k} über {HOSTILE if k == 3 else 'nichts'}" for k in range(40)]
    sources[5] = None
    human = torch.rand(3, 40, generator=torch.Generator().manual_seed(4)).double()
    human[1, 7] = torch.nan
    other = torch.rand(3, 40, generator=torch.Generator().manual_seed(5)).tolist()
    stored = tm.Scores("COMET <b>", dict(zip(hyps, other, strict=True)))
    docs = [LONG_DOCUMENT.format(1000 + k // 10) for k in range(40)]
    return hyps, [refs], sources, human, stored, np.array(other, np.float32), docs


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    hyps, refs, sources, human, stored, _, docs = data
    out = tmp_path_factory.mktemp("panels") / "report.html"
    return tm.report(
        hyps, refs, ["stm", stored, "bleu"], out, trees=True, docs=docs, sources=sources,
        human={"adequacy <b>": human},
    )  # fmt: skip


@pytest.fixture
def opened(open_report, path):
    return partial(open_report, path)


def settled(page, action):
    before = page.evaluate("document.body.dataset.ready")
    action()
    page.wait_for_function("b => document.body.dataset.ready !== b", arg=before)


def shown_rows(page):
    found = page.eval_on_selector_all(
        "#space .row", "rows => rows.map(r => [parseFloat(r.style.top), +r.dataset.segment])"
    )
    return [segment for _, segment in sorted(found)]


def frames(page, expression):
    return page.eval_on_selector_all("#trees .tree", f"all => all.map(t => {expression})")


def test_trees_are_stacked_over_the_full_width_and_fit(opened):
    page = opened("#seg=2&zoom=-1")
    boxes = [page.locator("#trees figure").nth(k).bounding_box() for k in range(3)]
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    assert len({box["x"] for box in boxes}) == 1
    assert boxes[0]["width"] > 1200
    assert all(frames(page, "t.scrollWidth <= t.clientWidth"))
    # words stand close under their tags, wherever the tags are
    gaps = page.evaluate("""() => [...document.querySelectorAll('#trees svg')].flatMap(svg => {
        const scale = svg.viewBox.baseVal.height / svg.getBoundingClientRect().height;
        const tags = [...svg.querySelectorAll('.node')].map(n => n.getBoundingClientRect());
        return [...svg.querySelectorAll('text.word')].map(word => {
            const box = word.getBoundingClientRect(), middle = box.left + box.width / 2;
            const near = tags.filter(t => Math.abs(t.left + t.width / 2 - middle) < 1);
            const above = near.filter(t => t.top < box.top);
            return (box.top - Math.max(...above.map(t => t.bottom))) * scale;
        });
    })""")
    assert len(gaps) > 30
    assert max(gaps) < 12


def test_zoom_pan_and_scrolling_together(opened):
    page = opened("#seg=2", viewport={"width": 700, "height": 900})
    widths = frames(page, "t.querySelector('svg').getBoundingClientRect().width")
    sizes = frames(page, "t.querySelector('svg').viewBox.baseVal.width")
    assert np.allclose(np.divide(widths, sizes), 0.62, atol=0.01)  # legible: it scrolls instead
    page.click("#zoom-in")
    page.wait_for_function("() => document.getElementById('zoom').textContent === '78 %'")
    wider = frames(page, "t.querySelector('svg').getBoundingClientRect().width")
    assert np.allclose(np.divide(wider, widths), 1.25, atol=0.02)
    page.eval_on_selector("#trees .tree", "t => { t.scrollLeft = 1e6; }")
    page.wait_for_timeout(100)
    left = frames(page, "t.scrollWidth - t.clientWidth - t.scrollLeft")
    assert max(map(abs, left)) <= 2
    box = page.locator("#trees .tree").nth(1)
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    page.mouse.move(place["x"] + 300, place["y"] + place["height"] - 8)
    page.mouse.down()
    page.mouse.move(place["x"] + 400, place["y"] + place["height"] - 8, steps=4)
    page.mouse.up()
    page.wait_for_timeout(100)
    moved = frames(page, "[t.scrollLeft, t.scrollWidth - t.clientWidth]")
    assert abs(moved[1][0] - (moved[1][1] - 100)) <= 2
    shares = [at / reach for at, reach in moved]
    assert max(shares) - min(shares) < 0.01
    page.keyboard.down("Control")
    page.mouse.wheel(0, 240)
    page.keyboard.up("Control")
    page.wait_for_function("() => document.getElementById('zoom').textContent === '39 %'")
    page.click("#zoom-fit")
    page.wait_for_function("location.hash.includes('zoom=-1')")
    assert all(frames(page, "t.scrollWidth <= t.clientWidth"))
    opened(f"#{page.url.partition('#')[2]}")


def test_dependencies_are_drawn_beside_the_trees(opened, data):
    """STM compares constituents only; the dependencies come from head rules."""
    hyps, refs, *_ = data
    page = opened("#seg=2")
    assert page.locator("#trees svg[aria-label='Constituency tree']").count() == 3
    page.click("#draw-dependency")
    page.wait_for_selector("#trees svg[aria-label='Dependency tree']")
    for stream, line in ((0, refs[0][2]), (1, hyps["first <i>"][2])):
        words, [heads] = tm.TreeBatch.from_brackets([line]).dependencies().to_heads()
        figure = page.locator(f"figure[data-stream='{stream}']")
        assert figure.locator(".node text").all_text_contents() == words[0]
        assert figure.locator("path.edge").count() == sum(head > 0 for head in heads)
    assert "show no matches" in page.inner_text("#trees")
    page.click("#draw-constituency")
    page.wait_for_selector("#trees svg[aria-label='Constituency tree']")
    assert page.locator("#trees .node.root").count() > 0


def test_sources_stand_above_the_reference_and_are_searched(opened, data):
    sources = data[2]
    page = opened("#seg=3&sort=0")
    assert page.inner_text("#source") == f"Source {sources[3]}"
    assert page.inner_text("#row-3 .lines p >> nth=0") == sources[3]
    settled(page, lambda: page.fill("#search", "quelle 1"))
    assert page.inner_text("#count") == "11 of 40 segments"
    assert page.locator("img").count() == 0
    page.context.pages[0].goto(page.url)
    without = opened("#seg=5&sort=0")
    assert without.locator("#source").count() == 0


def test_human_scores_and_scores_of_other_tools_are_columns(opened, data):
    human, other = data[3].numpy().astype(np.float32), data[5]
    page = opened()
    heads = page.locator("#heads .head").all_text_contents()
    assert heads == ["stm ↓", "adequacy <b>", "COMET <b>", "bleu"]
    for name, table in (("adequacy <b>", human), ("COMET <b>", other)):
        gaps = table[0] - table[1]
        missing = [i for i in range(40) if np.isnan(gaps[i])]
        order = sorted((i for i in range(40) if i not in missing), key=lambda i: (-gaps[i], i))
        settled(page, lambda name=name: page.click(f"#heads .head >> text={name}"))
        top = shown_rows(page)
        assert top == order[: len(top)]
        settled(page, lambda name=name: page.click(f"#heads .head >> text={name}"))
        assert shown_rows(page) == order[::-1][: len(top)]
        settled(page, lambda: page.click("#direction"))
        settled(page, lambda name=name: page.select_option("#sort", label=f"{name}: A"))
        assert shown_rows(page) == sorted(range(40), key=lambda i, t=table: -t[0][i])[: len(top)]
    first = shown_rows(page)[0]
    cells = page.locator(f"#row-{first} .extra").nth(0).locator("span").all_text_contents()
    assert cells[1] == f"{human[0][first]:.2f}"
    page.click(f"#row-{first}")
    page.wait_for_function("() => document.getElementById('judged')")
    assert f"adequacy <b> A {human[0][first]:.2f}" in page.inner_text("#judged")


def test_whole_words_are_marked(browser, tmp_path):
    hyps = {
        "A": ["the unlike dogs ran, 他们去北京", HOSTILE],
        "B": ["the alike dog ran, 他们去上海", "x"],
    }
    path = tm.report(hyps, [["the dogs ran", "x"]], ["bleu"], tmp_path / "r.html")
    page = browser.new_page()
    page.goto(path.as_uri() + "#sort=0")
    page.wait_for_selector("body[data-done]", state="attached")
    marks = [
        page.locator(f"#row-0 .lines p:nth-child({k}) mark").all_text_contents() for k in (2, 3)
    ]
    assert marks == [["unlike", "dogs", "北京"], ["alike", "dog", "上海"]]
    assert page.inner_text("#row-1 .lines p:nth-child(2)") == HOSTILE
    assert page.evaluate("window.hit") is None
    page.close()


def test_an_empty_search_says_so(opened):
    page = opened()
    settled(page, lambda: page.fill("#search", "<b>nowhere</b>"))
    assert "No segment contains “<b>nowhere</b>”" in page.inner_text("#none")
    assert not page.locator("#table").is_visible()
    settled(page, lambda: page.click("#clear"))
    assert page.inner_text("#count") == "40 segments"
    assert page.input_value("#search") == ""
    assert page.locator("#table").is_visible()


def test_items_are_ranked_by_ratio_and_rows_can_be_clicked(opened):
    page = opened()

    def counts(table):
        rows = page.locator(f"{table} tbody tr")
        cells = [rows.nth(k).locator("td").all_text_contents() for k in range(rows.count())]
        return [(int(row[1]), int(row[2])) for row in cells]

    page.select_option("#group", label="bleu: 1-grams")
    more, fewer = counts("#items-more"), counts("#items-fewer")
    ratios = [(a + 1) / (b + 1) for a, b in more]
    assert ratios == sorted(ratios, reverse=True)
    assert len(set(ratios)) > 3
    lowest = [(a + 1) / (b + 1) for a, b in fewer]
    assert lowest == sorted(lowest)
    assert (
        page.locator("#items-more tbody tr >> nth=0 >> td >> nth=3").inner_text()
        == f"× {ratios[0]:.1f}"
    )
    page.select_option("#rank", "count")
    gaps = [a - b for a, b in counts("#items-more")]
    assert gaps == sorted(gaps, reverse=True)
    row = page.locator("#items-more tbody tr").nth(1)
    size = int(row.locator("td").last.inner_text())
    settled(page, row.locator("td").last.click)
    assert page.inner_text("#count").startswith(f"{size} of 40") or size == 40
    top = page.locator("#segments-panel").bounding_box()["y"]
    assert 0 <= top < 300
    chip = page.locator("#filters .chip")
    assert chip.count() == 1
    settled(page, chip.click)
    assert page.inner_text("#count") == "40 segments"
    assert page.locator("#items [aria-pressed='true']").count() == 0


def test_documents_can_be_told_apart(opened):
    for width in (1400, 420):
        page = opened(viewport={"width": width, "height": 800})
        page.select_option("#way", label="document")
        page.wait_for_function("() => document.querySelectorAll('.bucket').length === 4")
        names = page.locator(".bucket > text:first-of-type").evaluate_all(
            "all => all.map(t => t.firstChild.data)"
        )
        assert sorted(names) == ["…1000…", "…1001…", "…1002…", "…1003…"]


def test_the_forest_plot_has_the_intervals_of_compare(opened, data):
    hyps, refs, *_ = data
    page = opened()
    compared = tm.compare(hyps, refs, metrics=["stm"], all_pairs=True, trees=True)
    names = list(hyps)
    assert page.locator("[data-forest]").count() == 3
    for found in compared.comparisons:
        a, b = names.index(found.baseline), names.index(found.system)
        title = page.locator(f"[data-forest='{a},{b}'] > title").text_content().replace("−", "-")
        gap = found.baseline_score - found.score
        assert (
            f"{gap:+.4f}, 95% interval {-found.difference_high:.4f} to {-found.difference_low:.4f}"
            in title
        )
        cell = page.inner_text(f"[data-pair='{a},{b}']")
        shown = "< 0.0001" if found.p_holm < 0.00005 else f"= {found.p_holm:.4f}"
        assert f"p {shown}" in cell
        assert cell.endswith("*") == (found.p_holm < 0.05)
    page.click("#about summary")
    assert "stm: shared subtrees of the constituency trees; higher is better." in page.inner_text(
        "#about"
    )


def test_narrow_windows_and_print_cut_nothing(opened):
    page = opened("#seg=2", viewport={"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for panel in ("#histogram", "#forest", "#buckets"):
        outside = page.eval_on_selector_all(
            f"{panel} svg text",
            """all => all.filter(t => {
            const [a, b] = [t, t.closest('svg')].map(e => e.getBoundingClientRect());
            return a.left < b.left - 1 || a.right > b.right + 1; }).map(t => t.textContent)""",
        )
        assert outside == []
    page.set_viewport_size({"width": 720, "height": 1000})
    page.wait_for_timeout(300)
    page.emulate_media(media="print", color_scheme="dark")
    assert all(
        frames(page, "t.querySelector('svg').getBoundingClientRect().width <= t.clientWidth")
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    cut = page.eval_on_selector_all(
        ".row .lines p", "all => all.filter(p => p.scrollWidth > p.clientWidth + 1).length"
    )
    assert cut == 0


def test_a_notebook_shows_the_page(browser, path):
    page = browser.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.set_content(f"<h1>{html.escape('A notebook')}</h1>{path._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.locator("body[data-done]").wait_for(state="attached")
    assert frame.locator("#count").inner_text() == "40 segments"
    frame.locator("#space .row >> nth=2").click()
    frame.locator("#swap").click()
    assert page.evaluate("window.hit") is None
    assert not troubles
    page.close()


def test_long_names_of_many_systems_can_be_told_apart(browser, tmp_path):
    lines = ["a dog ran home", "the cat sat there", "it rained all day"]
    names = [f"a-rather-long-name-{k} (2024, constrained) <b>" for k in range(10)]
    hyps = {name: [*lines[:2], " ".join(["it"] * (k + 1))] for k, name in enumerate(names)}
    path = tm.report(hyps, [lines], ["bleu"], tmp_path / "r.html")
    for width in (1400, 420):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-done]", state="attached")
        labels = page.locator("[data-forest] > text:first-of-type").all_text_contents()
        assert len(labels) == len(set(labels)) == 20
        heads = page.locator("#matrix-table thead th")
        shown = heads.all_text_contents()[1:]
        assert len(set(shown)) == 10
        assert [heads.nth(k + 1).get_attribute("title") for k in range(10)] == names
        right = [heads.nth(k).bounding_box() for k in range(1, 11)]
        ends = heads.evaluate_all("all => all.map(t => t.scrollWidth <= t.clientWidth + 1)")
        assert all(ends)
        assert all(a["x"] + a["width"] <= b["x"] + 1 for a, b in pairwise(right))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.close()
