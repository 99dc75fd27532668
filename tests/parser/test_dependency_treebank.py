"""Dependency treebanks: languages that are balanced, batches, settings."""

import random
from collections import Counter

import pytest
from parser.samples import (
    SMALL_DEPENDENCY,
    dependency_trees,
    language_files,
    write_treebanks,
)

from tensormt.parser.dependency_treebank import DependencyCorpus, dependency_settings, read_language
from tensormt.trees import conllu


@pytest.fixture
def files(tmp_path):
    return write_treebanks(tmp_path)


def test_multiword_tokens_become_words_of_the_text():
    text = (
        "1\tIch\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n"
        "2\tgehe\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
        "3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "3\tzu\t_\tADP\t_\t_\t5\tcase\t_\t_\n"
        "4\tdem\t_\tDET\t_\t_\t5\tdet\t_\t_\n"
        "5\tHaus\t_\tNOUN\t_\t_\t2\tobl:arg\t_\t_\n"
        "6-7\tdahin\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "6\tda\t_\tADV\t_\t_\t7\tx\t_\t_\n"
        "7\thin\t_\tADV\t_\t_\t5\ty\t_\t_\n"
        "8\t!\t_\tPUNCT\t_\t_\t6\tpunct\t_\t_\n"
    )
    found = conllu.read(text, surface=True)
    assert found.words == [["Ich", "gehe", "zum", "Haus", "dahin", "!"]]
    assert found.heads == [[2, 0, 4, 2, 4, 5]]
    assert found.relations == [["nsubj", "root", "case", "obl:arg", "y", "punct"]]
    assert found.tags == [["PRON", "VERB", "ADP", "NOUN", "ADV", "PUNCT"]]


def test_small_languages_are_read_more_often(files):
    (files / "fr.conllu").write_text(dependency_trees("fr") * 4)
    sentences = [
        s for lang, path in language_files(files, "de", "fr") for s in read_language(path, lang)
    ]
    settings = dependency_settings(sentences, SMALL_DEPENDENCY)
    for balance, times in ((0.0, 1), (1.0, 4), (0.5, 2)):
        corpus = DependencyCorpus(sentences, settings, balance)
        counts = Counter(sentences[i].lang for i in corpus.chosen(random.Random(1)))
        assert counts == {"de": 6 * times, "fr": 24}
        plan = corpus.plan(30, random.Random(1))
        assert sum(len(members) for members in plan) == 24 + 6 * times
