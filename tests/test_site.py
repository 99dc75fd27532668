"""The documents as pages: links lead somewhere, and the search finds what users look for."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "recipes/**/*.md",
        "tensormt/**/*.md",
        ".github/**/*.md",
    )
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(text):
    """The anchors of the headings of a document, as GitHub and mkdocs make them."""
    for heading in HEADING.findall(re.sub(r"(?ms)^```.*?^```", "", text)):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        yield re.sub(r" ", "-", plain)
        yield re.sub(r"[\s-]+", "-", plain).strip("-")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_documents(path):
    text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        scheme, _, target, _, anchor = urlsplit(link)
        if scheme:
            continue
        other = (path.parent / target).resolve() if target else path
        assert other.exists(), f"{path.relative_to(ROOT)}: {link} leads nowhere"
        if anchor:
            found = anchors(other.read_text(encoding="utf-8"))
            assert anchor in found, f"{path.relative_to(ROOT)}: {link} has no such heading"


class Page(HTMLParser):
    """The ids and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    new = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=new)
    assert found.returncode == 0, found.stderr
    return folder


@pytest.mark.heavy(needs="docs")
def test_pages_have_no_dead_link(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 40
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            scheme, host, target, _, anchor = urlsplit(link)
            if scheme or host or link.startswith("#__"):
                continue
            other = (path.parent / unquote(target)).resolve() if target else path
            other = other / "index.html" if other.is_dir() else other
            assert other.exists(), f"{path.relative_to(site)}: {link}"
            if anchor and other in pages:
                assert unquote(anchor) in pages[other].ids, f"{path.relative_to(site)}: {link}"


@pytest.mark.heavy(needs="docs")
@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("significance", "compare.html"),
        ("compare", "compare.html"),
        ("TER", "errors.html"),
        ("STM", "metrics.html"),
        ("Weights only load failed", "parser.html"),
    ],
)
def test_the_search_finds(site, word, page):
    """The index of the search has the word on the page."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    wanted = re.compile(rf"\b{word}\b", re.IGNORECASE)
    rows = [row for row in index["docs"] if wanted.search(f"{row['title']} {row['text']}")]
    assert page in {row["location"].partition("#")[0] for row in rows}


@pytest.mark.heavy(needs="docs")
def test_no_page_of_the_reference_is_endless(site):
    """A page a topic: none has more than 60 names."""
    for path in (site / "api").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r'class="doc doc-object doc-(?:class|function)"', text)) <= 60, path
