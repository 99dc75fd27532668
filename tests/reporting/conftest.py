"""A page that several tests read."""

import pytest
from reporting.page_samples import DOCS, HYPS, REFS, read_page

import tensormt as tm


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    metrics = ["bleu:max_order=2", "bm"]
    assert tm.report(HYPS, REFS, metrics, path, docs=DOCS, title="A & B") == path
    return read_page(path)
