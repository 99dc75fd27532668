"""Parsers by name, and libraries that are missing."""

import builtins
import sys

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.registry import open_parser


@pytest.mark.parametrize("name", ["spacy:xx_none", "stanza:xx", "stanza-constituency:xx"])
def test_a_missing_library_says_what_to_install(name, monkeypatch):
    library = name.partition(":")[0].partition("-")[0]
    real = builtins.__import__

    def absent(wanted, *rest, **more):
        if wanted.partition(".")[0] == library:
            raise ImportError(wanted)
        return real(wanted, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(TensorMTError, match=rf"pip install 'tensormt\[{library}\]'"):
        open_parser(name)
    with pytest.raises(TensorMTError, match="has its own language"):
        open_parser(name, lang="de")


def test_languages_in_names():
    with pytest.raises(TensorMTError, match="disagree"):
        open_parser("ud:de", lang="fr")


class Flat:
    """A parser of another package: S over a tag for each word."""

    kind, fingerprint = "constituency", "flat-1"

    def parse(self, segments, progress=None):
        trees = (" ".join(f"(X {word})" for word in (line or "").split()) for line in segments)
        return tm.TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in trees])


def open_flat(rest, device):
    if rest == "broken":
        raise OSError("no model here")
    return rest if rest == "wrong" else Flat()


def test_parsers_of_other_packages(tmp_path, monkeypatch):
    """A distribution whose entry point names the function, on the path as pip would put it."""
    folder = tmp_path / "others-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[tensormt.parsers]\nflat = {__name__}:open_flat\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    found = tm.score(["a b"], [["a b"]], ["stm"], parser="flat:model")
    assert found.corpus["stm"] == 1
    assert "|parser:flat-1|" in found.signatures["stm"]
    with pytest.raises(TensorMTError, match=r"open_flat cannot be opened: no model"):
        open_parser("flat:broken")
    with pytest.raises(TensorMTError, match="gave 'wrong', expected an object with kind"):
        open_parser("flat:wrong")


def test_the_name_of_a_language_in_place_of_its_code():
    for name in ("english", "en-US", "eng"):
        with pytest.raises(tm.TensorMTError, match=rf"{name}' \(did you mean en\?\)"):
            open_parser("ud", lang=name)
