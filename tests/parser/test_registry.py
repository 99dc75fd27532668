"""Parsers by name, and libraries that are missing."""

import builtins

import pytest

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
