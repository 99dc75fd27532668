"""Parsers of other libraries: names, missing libraries and models; spaCy and Stanza for real."""

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.cache import CachedParser
from tensormt.parser.external import ExternalParser
from tensormt.parser.tree_source import tree_source
from tensormt.trees.conllu import Sentences


class Flat(ExternalParser):
    """Every word hangs on the first one; two sentences where there is a bar."""

    fingerprint = "flat:1"

    def analyze(self, segments):
        self.seen = getattr(self, "seen", []) + segments
        found = []
        for segment in segments:
            own = Sentences.none()
            for part in segment.split("|"):
                words = part.split()
                own.add(
                    words, [0, *[1] * (len(words) - 1)], ["root", *["dep"] * (len(words) - 1)], []
                )
            found.append(own)
        return found


def test_segments_become_trees_of_their_sentences():
    parser, told = Flat(), []
    trees = parser.parse(["a b", "", None, "c d | e f", "  "], told.append)
    assert parser.seen == ["a b", "c d | e f"]
    assert trees.to_heads() == (
        [["a", "b"], [], [], ["c", "d", "e", "f"], []],
        [[0, 1], [], [], [0, 1, 1, 3], []],
    )
    assert trees.to_relations()[3] == ["root", "dep", "parataxis", "dep"]
    assert sum(told) == 5
    assert parser.parse([]).to_heads() == ([], [])


def test_foreign_parsers_have_a_memory():
    parser = Flat()
    source = tree_source(parser)
    assert isinstance(source, CachedParser)
    result = tm.score(["a b", "a b"], [["a b", "a c"]], ["hwcm"], source)
    assert parser.seen == ["a b", "a c"]
    assert "|parser:flat:1|" in result.signatures["hwcm"]
    assert "rules" not in result.signatures["hwcm"]
    with pytest.raises(TensorMTError, match="parser is int: expected 'default', 'ud:de'"):
        tree_source(3)
