"""The page of a meta-evaluation in a browser, against what Python computes."""

import pytest
import torch
from reporting.metaeval_samples import HOSTILE, judged

from tensormt.metaeval.config import Config
from tensormt.metaeval.grouping import correlate, correlate_systems
from tensormt.metaeval.runner import meta_evaluate
from tensormt.metaeval.scores import system_means
from tensormt.metaeval.spa import p_value_matrices
from tensormt.metaeval.wmt_tables import make_table
from tensormt.reporting.metaeval_page import write_metaeval_page

pytestmark = pytest.mark.heavy(needs="browser")
CONFIG = Config(permutations=60, spa_permutations=50)
SETS = [judged(systems=12), judged("en-de", 4, 2)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("metaeval") / "page.html"
    return write_metaeval_page(out, SETS, CONFIG, meta_evaluate(SETS[:1], CONFIG))


@pytest.fixture(scope="module")
def table():
    return make_table(SETS[:1], "wmt24", CONFIG)


def boxes(page, selector):
    return page.eval_on_selector_all(
        selector,
        "all => all.map(t => t.getBoundingClientRect())"
        ".map(b => [b.left, b.top, b.right, b.bottom])",
    )


@pytest.mark.parametrize("width", [1400, 420])
def test_systems_are_points_with_names_that_do_not_collide(open_report, path, width):
    page = open_report(path, "#m=2", viewport={"width": width, "height": 900})
    metric = SETS[0].metrics[2]
    r = float(correlate_systems(system_means(SETS[0].human), metric.systems()))
    assert page.inner_text("#systems h3") == f"Systems: r = {r:.3f}, n = 12"
    points = page.eval_on_selector_all("#systems circle", "all => all.map(c => c.dataset.system)")
    assert points == SETS[0].systems
    names, frame = boxes(page, "#systems text.name"), boxes(page, "#systems svg")[0]
    assert len(names) == 12
    for k, (left, top, right, bottom) in enumerate(names):
        assert left >= frame[0] - 1
        assert right <= frame[2] + 1
        for other in names[:k]:
            wide = min(right, other[2]) - max(left, other[0])
            high = min(bottom, other[3]) - max(top, other[1])
            assert wide <= 1 or high <= 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_density_holds_every_output(open_report, path):
    page = open_report(path)
    metric = SETS[0].metrics[0]
    n = int((~(SETS[0].human.isnan() | metric.segments.isnan())).sum())
    counts = page.eval_on_selector_all(
        "#density .cellmark", "all => all.map(c => +c.dataset.count)"
    )
    assert sum(counts) == n
    r = float(correlate(SETS[0].human, metric.segments))
    assert page.inner_text("#density h3") == f"Segments: r = {r:.3f}, n = {n}"


def test_the_matrix_has_the_p_values_of_spa(open_report, path):
    page = open_report(path, "#set=1&m=0")
    human, metric = p_value_matrices(
        SETS[1].human, SETS[1].metrics[0].segments, permutations=CONFIG.spa_permutations
    )
    order = torch.argsort(-system_means(SETS[1].human)).tolist()
    cells = page.eval_on_selector_all(
        "#spa-table td.p",
        "all => Object.fromEntries(all.map(c => [c.dataset.pair, c.textContent]))",
    )
    assert len(cells) == 12

    def p(table, i, j):
        return float(table[i, j] if i < j else 1 - table[j, i])

    for row, i in enumerate(order):
        for column, j in enumerate(order):
            if i != j:
                value = p(human, i, j) if row < column else p(metric, j, i)
                assert float(cells[f"{i},{j}"]) == pytest.approx(value, abs=0.0051)
    spa = 1 - float((human - metric).abs().nanmean())
    assert page.inner_text("#spa h3") == f"good: SPA = {spa:.3f}"


def test_rows_and_columns_choose_what_is_shown(open_report, path):
    page = open_report(path)
    rows = meta_evaluate(SETS[:1], CONFIG)
    page.locator("#correlation-table tbody tr").filter(has_text="fair").locator("td").first.click()
    page.wait_for_function("() => document.getElementById('metric').value === '2'")
    page.click("#correlation-table [data-way='3']")
    page.wait_for_selector("#way")
    name = page.locator("#way option:checked").inner_text()
    own = [row for row in rows if f"{row.level}: {row.statistic}" == name]
    expected = [row.metric for row in sorted(own, key=lambda row: -row.value)]
    shown = page.locator("#correlation-table tbody th").all_inner_texts()
    assert [text.strip() for text in shown] == expected
    assert HOSTILE in expected
    ranked = page.locator("#ranking .ranked title").all_text_contents()
    assert ranked == expected
    assert page.locator("#heatmap-table tbody tr").count() == 4


def test_clusters_of_a_table(open_report, table, tmp_path):
    path = write_metaeval_page(tmp_path / "page.html", SETS[:1], CONFIG, table=table)
    page = open_report(path, "#way=1", color_scheme="dark")
    task = table.tasks[0]
    found = page.eval_on_selector_all(
        "#ranking .ranked", "all => all.map(g => [+g.dataset.metric, +g.dataset.cluster])"
    )
    assert dict(found) == dict(enumerate(task.clusters()))
    order = sorted(range(3), key=lambda k: -float(task.values[k]))
    assert [k for k, _ in found] == order
    assert page.locator("#ranking .band").count() == sum(c % 2 for c in task.clusters())


def test_print_has_all_panels(open_report, path):
    page = open_report(path)
    page.emulate_media(media="print")
    assert page.locator("section:visible").count() == 5
    assert len(page.pdf(format="A4")) > 10_000
