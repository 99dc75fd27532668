"""The page in a real browser: no error, no request, and its panels do what they say.

Needs Chromium (CHROMIUM names another one than /usr/bin/chromium) and playwright; .ci/run installs
both. What the page shows is compared with what Python computes from the same data.
"""

import random
import re
from functools import partial

import numpy as np
import oracles
import pytest
import torch
from error_rate import LengthError

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="browser")

HOSTILE = [
    "(S (NP (NN </script><script>window.hit=1</script>)) (VP (VB x)))",
    "(S (NP (NN <img/src=x/onerror=window.hit=2>)) (VP (VB \"'&amp;)))",
    f"(S (NP (NN {'y' * 10_000})) (VP (VB x)))",
    "(S (NP (NN שלום)) (VP (VB עולם)))",
    "(S (NP (NN 😀)) (VP (VB 👩‍👩‍👧)))",
]
METRICS = ["bleu", "stm", "hwcm", "tkm", "dstm"]
SYSTEMS = ["<b>one</b>", "two & three", "four"]


def words(tree):
    return " ".join(re.findall(r"([^\s()]+)\)", tree))


@pytest.fixture(scope="module")
def data():
    rng = random.Random(5)
    trees = [oracles.brackets(oracles.random_tree(rng, rng.randint(2, 30))) for _ in range(120)]
    refs = [[*trees, *HOSTILE], [*(t if rng.random() < 0.7 else "" for t in trees), *HOSTILE]]
    hyps = {}
    for k, name in enumerate(SYSTEMS):
        lines = [
            t if rng.random() < 0.5 - 0.1 * k else rng.choice(trees) for t in refs[0][: len(trees)]
        ]
        hyps[name] = [*lines, *HOSTILE]
    hyps["four"][-5:] = HOSTILE[1:] + HOSTILE[:1]
    docs = [f"d{i // 40} <i>" for i in range(len(refs[0]))]
    return hyps, refs, docs


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    hyps, refs, docs = data
    out = tmp_path_factory.mktemp("page") / "report.html"
    human = {
        "fluency": torch.rand(3, len(docs), generator=torch.Generator().manual_seed(1)).double()
    }
    return tm.report(hyps, refs, METRICS, out, trees=True, docs=docs, human=human, title="<b>T</b>")


@pytest.fixture(scope="module")
def scores(data):
    hyps, refs, _ = data
    return {
        name: {m: s.numpy() for m, s in tm.score(h, refs, METRICS, trees=True).segments.items()}
        for name, h in hyps.items()
    }


@pytest.fixture
def opened(open_report, path):
    return partial(open_report, path)


def shown_rows(page):
    found = page.eval_on_selector_all(
        "#space .row", "rows => rows.map(r => [parseFloat(r.style.top), +r.dataset.segment])"
    )
    return [segment for _, segment in sorted(found)]


def settled(page, action):
    """Do something that rearranges the segments, and wait until it is done."""
    before = page.evaluate("document.body.dataset.ready")
    action()
    page.wait_for_function("b => document.body.dataset.ready !== b", arg=before)


def gap(scores, metric, a=SYSTEMS[0], b=SYSTEMS[1]):
    one, two = (scores[name][metric].astype(np.float32) for name in (a, b))
    return one - two


def order_of(values, rising=False):
    return sorted(range(len(values)), key=lambda i: (values[i] if rising else -values[i], i))


def count(page):
    text = page.inner_text("#count")
    return int(text.split()[0].replace(",", ""))


def test_it_loads_without_an_error_and_asks_for_nothing(opened, data):
    page = opened()
    assert page.inner_text("#title") == "<b>T</b>"
    assert count(page) == len(data[2])
    assert page.evaluate("window.hit") is None
    for panel in ("systems", "differences", "buckets", "items", "segments", "trees", "metrics"):
        assert page.locator(f"#{panel}-panel").is_visible(), panel
    assert SYSTEMS[0] in page.inner_text("#system-table")
    assert "fluency" in page.inner_text("#people-table")


def test_scripts_of_others_do_not_run(browser, path):
    """The content policy lets no other script in, even if one got into the page."""
    page = browser.new_page()
    page.goto(path.as_uri())
    refused = page.evaluate("""() => new Promise(done => {
        document.addEventListener('securitypolicyviolation', e => done(e.violatedDirective));
        const script = document.createElement('script');
        script.textContent = 'window.hit = 3';
        document.body.append(script);
        setTimeout(() => done(window.hit), 500);
    })""")
    assert refused.startswith("script-src")
    page.close()


@pytest.mark.parametrize("metric", METRICS)
def test_sorting_gives_the_rows_that_python_gives(opened, scores, metric):
    page = opened()
    k = METRICS.index(metric)
    one, two = (scores[name][metric].astype(np.float32) for name in SYSTEMS[:2])
    for key, values in ((f"d{k}", one - two), (f"a{k}", one), (f"b{k}", two)):
        if page.eval_on_selector("#sort", "s => s.value") != key:
            settled(page, lambda key=key: page.select_option("#sort", key))
        top = shown_rows(page)
        assert top == order_of(values)[: len(top)]
        settled(page, lambda: page.click("#direction"))
        assert shown_rows(page) == order_of(values, rising=True)[: len(top)]
        page.evaluate("document.getElementById('table').scrollTop = 1e9")
        page.wait_for_function(
            "i => document.getElementById('row-' + i)", arg=order_of(values, rising=True)[-1]
        )
        last = shown_rows(page)
        assert last == order_of(values, rising=True)[-len(last) :]
        settled(page, lambda: page.click("#direction"))


def test_the_histogram_filters(opened, scores):
    page = opened()
    values = gap(scores, "bleu")
    page.fill("#edge-lo", "5")
    settled(page, lambda: page.press("#edge-lo", "Enter"))
    assert count(page) == int((values >= 5).sum())
    page.fill("#edge-hi", "40")
    settled(page, lambda: page.press("#edge-hi", "Enter"))
    assert count(page) == int(((values >= 5) & (values <= 40)).sum())
    settled(page, lambda: page.click("#histogram button"))
    assert count(page) == len(values)
    page.locator("#histogram svg").scroll_into_view_if_needed()
    box = page.locator("#histogram svg").bounding_box()
    middle = box["x"] + box["width"] * (40 + (520 - 10 - 40) / 2) / 520
    page.mouse.move(middle + box["width"] / 520, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 60, steps=3)
    settled(page, page.mouse.up)
    edge = float(page.input_value("#edge-lo"))
    assert 0 < edge < 2
    assert count(page) == int((values >= edge).sum())


def test_the_matrix_picks_a_pair(opened, scores):
    page = opened()
    settled(page, lambda: page.click("[data-pair='2,0']"))
    values = gap(scores, "bleu", SYSTEMS[2], SYSTEMS[0])
    top = shown_rows(page)
    assert top == order_of(values)[: len(top)]
    assert page.inner_text("#items-more, #items h3").startswith("More matches in A, four")
    assert "a=2" in page.url
    assert "b=0" in page.url


def test_buckets_and_items_filter(opened, data):
    hyps, refs, docs = data
    page = opened()
    labels = page.eval_on_selector_all("#way option", "all => all.map(o => o.textContent)")
    page.select_option("#way", label=next(x for x in labels if x == "document"))
    settled(page, lambda: page.click("[data-bucket='1']"))
    names, sizes = np.unique(docs, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    assert count(page) == sizes[order[1]]
    assert {docs[i] for i in shown_rows(page)} == {names[order[1]]}
    settled(page, lambda: page.press("[data-bucket='1']", "Enter"))
    assert count(page) == len(docs)
    metric = tm.STM(4)
    batches = [tm.TreeBatch.from_brackets(lines) for lines in (*hyps.values(), *refs)]
    explained = [tm.explain(metric, batch, batches[3:]) for batch in batches[:3]]
    options = page.eval_on_selector_all("#group option", "all => all.map(o => o.textContent)")
    page.select_option("#group", label=next(x for x in options if x == "stm: subtrees of depth 2"))
    button = page.locator("#items-more .item").first
    text = button.locator("svg").get_attribute("aria-label")
    settled(page, button.click)
    held = {
        i
        for system in explained
        for i, segment in enumerate(system)
        if any(m.counted and m.order == 2 and m.text == text for m in segment.matches)
    }
    assert count(page) == len(held)
    assert set(shown_rows(page)) <= held


def test_search_and_address_keep_the_state(opened, data):
    hyps, refs, _ = data
    page = opened()
    wanted = "red home"
    settled(page, lambda: page.fill("#search", wanted.upper()))
    streams = [[words(tree) for tree in lines] for lines in (*hyps.values(), *refs)]
    hits = [i for i in range(len(refs[0])) if any(wanted in lines[i] for lines in streams)]
    assert count(page) == len(hits)
    page.click("#space .row >> nth=1")
    chosen = page.inner_text("#which")
    address = page.url.partition("#")[2]
    again = opened("#" + address)
    assert count(again) == len(hits)
    assert again.inner_text("#which") == chosen
    odd = opened("#m=99&a=-1&b=x&seg=1e9&sort=zz&item=5&group=77&lo=a")
    assert count(odd) == len(refs[0])


def test_trees_show_what_explain_says(opened, data):
    hyps, refs, _ = data
    segment = 3
    page = opened(f"#seg={segment}&m=1")
    batches = [tm.TreeBatch.from_brackets(lines) for lines in (*hyps.values(), *refs)]
    for order in (1, 2, 3, 4):
        page.eval_on_selector(
            "#depth",
            "(s, v) => { s.value = v; s.dispatchEvent(new Event('input', {bubbles: true})); }",
            order,
        )
        page.wait_for_function(
            "d => document.querySelector('#segment-bar output').textContent.trim() === d",
            arg=str(order),
        )
        page.wait_for_timeout(100)
        for k in (0, 1):
            [found] = tm.explain("stm", batches[k][segment], [b[segment] for b in batches[3:]])
            counted = {m.place for m in found.matches if m.counted and m.order == order}
            nodes = page.eval_on_selector_all(
                f"figure[data-stream='{2 + k}'] .node.root", "all => all.map(n => +n.dataset.node)"
            )
            assert set(nodes) == counted
            caption = page.inner_text(f"figure[data-stream='{2 + k}'] figcaption")
            total = sum(m.order == order for m in found.matches)
            assert f"{len(counted)} of {total} " in caption


def test_hovering_lights_up_the_counterparts(opened, data):
    hyps, refs, _ = data
    explained = tm.explain(
        "stm",
        tm.TreeBatch.from_brackets(hyps[SYSTEMS[0]]),
        [tm.TreeBatch.from_brackets(lines) for lines in refs],
    )
    segment, match = next(
        (i, m)
        for i, found in enumerate(explained)
        for m in found.matches
        if m.order == 2 and m.counted and len(m.places[0]) >= 2 and len(found.matches) < 120
    )
    page = opened(f"#seg={segment}&m=1&d=2&ref=0")
    node = f"figure[data-stream='2'] [data-node='{match.place}']"
    page.eval_on_selector(node, "n => n.scrollIntoView({block: 'center', inline: 'center'})")
    box = page.locator(node).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lit = page.eval_on_selector_all(
        "figure[data-stream='0'] .node.lit", "all => all.map(n => +n.dataset.node)"
    )
    assert lit == match.places[0]
    page.mouse.move(1, 1)
    page.focus(node)
    assert page.locator("figure[data-stream='0'] .node.lit").count() == len(lit)


def test_dependency_trees_kernels_and_the_waterfall(opened, scores):
    segment = 5
    for metric, figure in (("hwcm", "Dependency tree"), ("tkm", "Constituency tree")):
        page = opened(f"#seg={segment}&m={METRICS.index(metric)}")
        assert page.locator(f"#trees svg[aria-label='{figure}']").count() == 3
        assert page.locator("#trees .node.root").count() > 0
        page.wait_for_selector("#waterfall svg")
        total = page.text_content("#waterfall svg g:last-of-type text:last-of-type")
        expected = float(gap(scores, metric)[segment])
        assert abs(float(total.replace("−", "-")) - expected) < 6e-5
    page = opened(f"#seg={segment}&m=0&view=0")
    assert "compares tokens" in page.inner_text("#trees")
    assert page.locator("#texts .token").count() > 0


def test_hostile_text_is_shown_as_text(opened, data):
    size = len(data[2])
    for segment, tree in zip(range(size - 5, size), HOSTILE, strict=True):
        page = opened(f"#seg={segment}&m=1&sort=0&up=1")
        text = words(tree)
        first = text.split()[0][:100]
        assert first in re.sub(r"\s", "", page.inner_text("#texts"))  # 13a puts spaces in
        assert first in page.inner_text(f"#row-{segment} .lines")
        assert page.locator("#trees svg").count() == 3
        assert page.evaluate("window.hit") is None
        assert page.locator("img").count() == 0
        page.context.close()


def test_keyboard_theme_and_narrow_windows(opened):
    page = opened(viewport={"width": 360, "height": 700}, color_scheme="dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    before = page.inner_text("#which")
    page.focus("#table")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("b => document.getElementById('which').textContent !== b", arg=before)
    second = shown_rows(page)[1]
    assert page.locator(f"#row-{second}.on").count() == 1
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert "theme=light" in page.url


def test_copying_a_drawing(opened):
    page = opened("#seg=2&m=1")
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    page.click("figure .copy >> nth=1")
    page.wait_for_function("window.copied")
    page.evaluate("""() => {
        const read = new DOMParser().parseFromString(window.copied, 'image/svg+xml');
        window.bad = read.querySelector('parsererror');
        window.nodes = read.querySelectorAll('g.node').length;
    }""")
    assert page.evaluate("window.bad") is None
    assert page.evaluate("window.nodes") > 3
    assert 'stroke="rgb' in page.evaluate("window.copied")


def test_one_system_alone(browser, tmp_path):
    lines = ["a dog ran home", "the cat sat", "it rained"]
    path = tm.report({"only": lines[::-1]}, [lines], ["bleu"], tmp_path / "one.html")
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-done]", state="attached")
    assert page.locator("#matrix table").count() == 0
    assert not page.locator("#b").is_visible()
    assert page.locator("#space .row").count() == 3
    page.click("#space .row >> nth=2")
    assert not errors
    page.close()


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A page of text and a mean, on which a system lacks some outputs."""
    rng = random.Random(3)
    pool = "the a red old dog cat home house ran runs saw very".split()
    refs = [[" ".join(rng.choices(pool, k=8)) for _ in range(30)] for _ in range(2)]
    hyps = {
        name: [" ".join(rng.choice([w, rng.choice(pool)]) for w in line.split()) for line in ref]
        for name, ref in zip("AB", refs, strict=True)
    }
    hyps["B"][4] = hyps["B"][7] = None
    out = tmp_path_factory.mktemp("lacking") / "report.html"
    return hyps, refs, tm.report(hyps, refs, ["chrf+bleu", "bleu"], out)


def test_missing_outputs_are_said_and_left_out(browser, lacking):
    hyps, refs, path = lacking
    page = browser.new_page()
    page.goto(path.as_uri() + "#seg=4")
    page.wait_for_selector("body[data-done]", state="attached")
    assert "2 outputs missing and left out" in page.inner_text("#facts")
    assert "n = 28" in page.inner_text("#system-table")
    assert "n = 28" in page.text_content("#histogram svg")
    assert "no output" in page.inner_text("#texts [data-stream='3']")
    kept = [i for i in range(30) if i not in (4, 7)]
    both = [
        tm.score([lines[i] for i in kept], [[ref[i] for i in kept] for ref in refs], ["chrf+bleu"])
        for lines in hyps.values()
    ]
    gap = both[0].corpus["chrf+bleu"] - both[1].corpus["chrf+bleu"]
    shown = page.inner_text("[data-pair='0,1']").split()[0].replace("−", "-")
    assert abs(float(shown) - gap) < 6e-5
    gaps = (both[0].segments["chrf+bleu"] - both[1].segments["chrf+bleu"]).float().tolist()
    expected = [kept[k] for k in order_of(gaps)]
    for rising in (False, True):
        if rising:
            expected = [kept[k] for k in order_of(gaps, rising=True)]
            settled(page, lambda: page.click("#direction"))
        top = shown_rows(page)
        assert top == [*expected, 4, 7][: len(top)]
        page.evaluate("document.getElementById('table').scrollTop = 1e9")
        page.wait_for_selector("#row-7")
        assert shown_rows(page)[-2:] == [4, 7]
    page.close()


def test_scores_over_different_segments_are_not_compared(browser, tmp_path):
    """The worse system has scores of its best segments alone: its mean is higher, but not bold."""
    rng = random.Random(5)
    base = [rng.random() for _ in range(60)]
    other = [score - 0.05 if score > 0.6 else None for score in base]
    hyps = {name: ["a b c", "a b"] * 30 for name in "AB"}
    hyps["C"] = ["a b c"] * 60
    scores = {"A": base, "B": other, "C": [None] * 60}
    even = {"A": [None, *base[1:]], "B": [*base[:-1], None], "C": [*base[:5], None, *base[6:]]}
    metrics = ["ter", tm.Scores("Q", scores), tm.Scores("E", even)]
    with pytest.warns(UserWarning, match="have no score of Q"):
        path = tm.report(hyps, [["a b c"] * 60], metrics, tmp_path / "q.html")
    page = browser.new_page()
    page.goto(path.as_uri() + "#m=1")
    page.wait_for_selector("body[data-done]", state="attached")
    bold = page.eval_on_selector_all("#system-table td.best", "own => own.map(e => e.innerText)")
    assert [text.split()[0] for text in bold] == ["0.00"]  # TER of C
    rows = page.inner_text("#system-table")
    known = sum(score is not None for score in other)
    assert f"n = {known}" in rows
    assert "n = 0" in rows
    assert "each over the n outputs that have a score" in page.inner_text("#systems")
    assert "p –" in page.inner_text("[data-pair='0,2']")
    assert "*" not in page.inner_text("[data-pair='0,2']")
    assert "*" in page.inner_text("[data-pair='0,1']")
    assert f"n = {known} segments" in page.get_attribute("[data-pair='0,1']", "title")
    page.close()


def test_a_mean_shows_what_its_members_match(browser, lacking):
    hyps, refs, path = lacking
    page = browser.new_page()
    page.goto(path.as_uri() + "#seg=2")
    page.wait_for_selector("body[data-done]", state="attached")
    views = page.eval_on_selector_all("#view option", "all => all.map(o => o.textContent)")
    assert views == ["chrf+bleu: chrF", "chrf+bleu: BLEU", "bleu"]
    [found] = tm.explain("chrf", hyps["A"][2:3], [ref[2:3] for ref in refs])
    letters = "".join(hyps["A"][2].split())
    level = [0] * len(letters)
    for match in found.matches:
        if match.counted:
            for k in range(match.place, match.place + match.order):
                level[k] = max(level[k], match.order)
    spans = page.eval_on_selector_all(
        "#texts [data-stream='2'] .token", "all => all.map(s => [s.textContent, s.className])"
    )
    marked = [int(name[-1]) if "level" in name else 0 for text, name in spans for _ in text]
    assert "".join(text for text, _ in spans) == letters
    assert marked == [min(4, value) for value in level]
    bars = page.eval_on_selector_all(
        "#waterfall svg g", "all => all.map(g => [...g.querySelectorAll('text')].pop().textContent)"
    )
    *parts, total = (float(bar.replace("−", "-")) for bar in bars)
    both = [tm.score(h[2:3], [r[2:3] for r in refs], ["chrf+bleu"]) for h in hyps.values()]
    one, two = (float(result.segments["chrf+bleu"][0]) for result in both)
    assert abs(total - (one - two)) < 6e-5
    assert len(parts) > 4
    assert abs(sum(parts) - total) < 6e-5 * len(bars)
    page.close()


def test_of_error_rates_less_is_better(browser, tmp_path):
    """Bold, colours of the matrix, the histogram and the rows; the p-values of tm.compare."""
    rng = random.Random(2)
    ref = [" ".join(rng.choices("abcdef", k=10)) for _ in range(40)]
    hyps = {
        name: [" ".join(w for w in line.split() if rng.random() > share) for line in ref]
        for name, share in (("worst", 0.6), ("best", 0.05), ("middle", 0.3))
    }
    metrics = [LengthError(), "bleu:max_order=1"]
    path = tm.report(hyps, [ref], metrics, tmp_path / "report.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-done]", state="attached")
    rows = page.eval_on_selector_all(
        "#system-table tbody tr", "all => all.map(r => [...r.children].map(c => c.className))"
    )
    assert [[k for k, row in enumerate(rows) if "best" in row[c]] for c in (1, 2)] == [[1], [1]]
    assert "↓ lower is better" in page.inner_text("#systems")
    compared = tm.compare(hyps, [ref], metrics=metrics, all_pairs=True)
    names = list(hyps)
    for number, metric in enumerate(("lengtherror", "bleu:max_order=1")):
        page.click(f"[data-metric='{number}']")
        for found in compared.comparisons:
            if found.metric != metric:
                continue
            a, b = names.index(found.system), names.index(found.baseline)
            cell = page.locator(f"td:has(> [data-pair='{a},{b}'])")
            expected = {"better": "plus", "worse": "minus"}[found.verdict]
            assert expected in cell.get_attribute("class").split()
            title = cell.locator("button").get_attribute("title")
            assert f"{found.wins} won, {found.ties} tied, {found.losses} lost" in title
    note = page.inner_text("#matrix")
    assert "10,000 resamples, seed 12345" in note
    assert "p corrected by Holm for 3 comparisons" in note
    page.click("[data-metric='0']")
    sides = page.eval_on_selector_all(
        "#histogram rect.bin", "all => all.map(r => [+r.getAttribute('height'), r.classList[1]])"
    )
    assert {side for height, side in sides[21:] if height > 1} == {"minus"}  # A has more errors
    shown = page.eval_on_selector_all(
        "#space .figures > span:nth-child(2)", "all => all.map(s => [s.textContent, s.className])"
    )
    assert {side for text, side in shown if text.startswith("+")} == {"minus"}
    page.close()
