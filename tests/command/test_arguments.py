"""Arguments that several commands have."""

import warnings

import pytest

from tensormt.command import arguments
from tensormt.command.main import build_parser
from tensormt.errors import TensorMTError


def parsed(*words):
    return build_parser(["score"]).parse_args(["score", *words])


def test_displayed_names(tmp_path):
    paths = [tmp_path / "one" / "a.txt", tmp_path / "two" / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    names = [str(path) for path in paths]
    found = arguments.display_names([*names, "site/system\x1b"])
    assert list(found.values()) == [names[0], names[1], "b.txt", r"site/system\x1b"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["a.txt.gz", "b.de.xz"], ["a", "b.de"]),
        (["a.txt", "a.gz"], ["a.txt", "a.gz"]),  # they would be equal
        ([".txt", "x.conllu"], [".txt", "x.conllu"]),
    ],
)
def test_names_without_extensions(files, names):
    assert list(arguments.table_names(files).values()) == names


def test_given_names():
    assert arguments.display_names(["a", "b"], ["x", "y\n"]) == {"a": "x", "b": "y\\n"}
    for names in (["x"], ["x", "x"], ["x", "y", "z"]):
        with pytest.raises(TensorMTError, match="--names: 2 different names are needed"):
            arguments.display_names(["a", "b"], names)


def test_metrics_may_have_commas_between_them():
    args = parsed("ref", "-i", "hyp", "-m", "bleu,chrf", "stm:max_depth=3,balance=f1")
    assert args.metrics == ["bleu", "chrf", "stm:max_depth=3,balance=f1"]
    assert parsed("ref", "-i", "hyp").metrics == ["bleu", "chrf", "blend"]


def test_chunks_and_files_of_trees(tmp_path):
    (tmp_path / "a.conllu").write_text("")
    (tmp_path / "a.ptb").write_text("(S (A a))\n")
    with pytest.raises(TensorMTError, match="--chunk 0: expected an integer from 1 to 1,000,000"):
        arguments.load(parsed("ref", "-i", "hyp", "--chunk", "0"))
    mixed = parsed(str(tmp_path / "a.conllu"), "-i", str(tmp_path / "a.ptb"), "--trees")
    with pytest.raises(TensorMTError, match="some files are CoNLL-U and some are not"):
        arguments.load(mixed)


def test_the_cache(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    default = arguments.tree_options(parsed("ref", "-i", "hyp"))
    assert (default.cache, default.strict_cache) == ("/cache/tensormt/parses", False)
    named = arguments.tree_options(parsed("ref", "-i", "hyp", "--cache", "mine"))
    assert (named.cache, named.strict_cache) == ("mine", True)
    assert arguments.tree_options(parsed("ref", "-i", "hyp", "--no-cache")).cache is None


def test_input_files():
    args = parsed("ref", "-", "-i", "hyp", "--docs", "docs")
    assert {"ref", "hyp", "docs"} <= set(arguments.input_files(args))
    assert "-" not in arguments.input_files(args)


def test_warnings_are_one_line(capsys):
    with arguments.printed_warnings():
        warnings.warn("two\nlines \x1b", stacklevel=1)
    assert capsys.readouterr().err == "tensormt: two lines \\x1b\n"
