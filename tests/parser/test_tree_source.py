"""The source of trees that a value selects."""

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.cache import CachedParser
from tensormt.parser.tree_source import clear_parsers, tree_source
from tensormt.trees.sources import TreeOptions, TreesAsText


class Flat:
    """A stand-in for a parser."""

    kind, fingerprint = "constituency", "flat"

    def parse(self, segments, progress=None):
        return tm.TreeBatch.from_brackets([f"(S (T {text}))" for text in segments])


def test_given_trees_are_used_as_they_are():
    written = TreesAsText()
    assert tree_source(written) is written
    assert tree_source(written, needed=False) is written
    assert tree_source(None) is None


def test_parsers_get_a_cache():
    source = tree_source(Flat())
    assert isinstance(source, CachedParser)
    assert source(["a", "a"]).to_brackets() == ["(S (T a))"] * 2
    assert source.parsed == 1
    named = tree_source(TreeOptions("default", rules={"split": False}))
    assert named.fingerprint.startswith("english-")
    assert "whole" in named.fingerprint


def test_functions_and_what_is_not_needed():
    assert tree_source(len) is len
    assert tree_source("no such parser", needed=False) is None
    with pytest.raises(TensorMTError, match="no parser at"):
        tree_source("no such parser")
    with pytest.raises(TensorMTError, match="parser is int: expected"):
        tree_source(3)


def test_parsers_of_the_package_stay_loaded():
    """The weights are read once, and known texts are not parsed again; a language is checked."""
    clear_parsers()
    first, second = tree_source("default"), tree_source("default")
    assert first is not second
    assert first.parser is second.parser
    tree = first(["A dog ran."]).to_brackets()
    assert second(["A dog ran."]).to_brackets() == tree
    assert (first.parsed, second.parsed) == (1, 0)
    assert tree_source("ud", None, "de").parser is tree_source("ud", None, "de").parser
    assert tree_source("ud", None, "de").parser is not tree_source("ud", None, "fr").parser
    clear_parsers()
    assert tree_source("default").parser is not first.parser


def test_a_folder_gets_every_tree_although_it_is_in_memory(tmp_path):
    tree_source("default")(["A cat sat."])
    kept = tree_source(TreeOptions("default", cache=tmp_path))
    kept(["A cat sat."])
    assert kept.parsed == 1
    again = tree_source(TreeOptions("default", cache=tmp_path))
    again(["A cat sat."])
    assert again.parsed == 0


def test_rules_make_another_parser():
    whole = tree_source(TreeOptions("default", rules={"split": False}))
    assert whole.parser is not tree_source("default").parser
