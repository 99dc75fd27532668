"""A page that several tests read, and a browser."""

import os

import pytest
from reporting.page_samples import DOCS, HYPS, REFS, read_page

import tensormt as tm

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    metrics = ["bleu:max_order=2", "bm"]
    assert tm.report(HYPS, REFS, metrics, path, docs=DOCS, title="A & B") == path
    return read_page(path)


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_report(browser):
    """A function that opens a page; at the end nothing may have gone wrong in any."""
    troubles, contexts = [], []

    def open_page(path, address="", **options):
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append("a dialog"))
        own = path.as_uri()
        page.on("request", lambda r: None if r.url.startswith(own) else troubles.append(r.url))
        page.goto(path.as_uri() + address)
        page.wait_for_selector("body[data-done]", state="attached")
        return page

    yield open_page
    for context in contexts:
        assert not [page for page in context.pages if page.evaluate("window.hit") is not None]
        context.close()
    assert not troubles
