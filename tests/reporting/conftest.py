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
