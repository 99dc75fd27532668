"""Padded batches of training sentences."""

import random

import pytest
from parser.samples import SMALL_RECIPE, write_treebank

from tensormt.parser import fitting
from tensormt.parser.batching import SpanCorpus


@pytest.fixture
def files(tmp_path):
    return write_treebank(tmp_path)


def test_batches_hold_every_sentence_once(files):
    _, corpus = fitting.constituency_settings(files / "train.ptb", {}, SMALL_RECIPE, False)
    assert isinstance(corpus, SpanCorpus)
    plan = corpus.plan(40, random.Random(3))
    assert sorted(i for members in plan for i in members) == list(range(len(corpus.types)))
    assert all(sum(len(corpus.types[i]) for i in m) <= 40 for m in plan)
    assert plan == corpus.plan(40, random.Random(3)) != corpus.plan(40, random.Random(4))
