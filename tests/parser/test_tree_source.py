"""The source of trees that a value selects."""

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.cache import CachedParser
from tensormt.parser.tree_source import tree_source
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
