"""Dependency models of several languages: supar's own trees, languages, text, files, signatures."""

import pickle
import random

import pytest
import tiny_parser as tiny
import torch
from supar_oracle import dependency_parser, supar_arcs

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.parser.language_check import LanguageCheck
from tensormt.parser.parser import DEFAULT
from tensormt.parser.registry import open_parser
from tensormt.parser.tree_source import tree_source
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import read_lines, write_lines

TEXT = ["Der Hund lief.", "", "Die Katze schlief nicht. Sie lief!", None, "Ein Satz (mit Klammern)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny")
    tiny.write(path)
    return path


def sentences(count=60, seed=1):
    draw = random.Random(seed)
    words = "Der Hund lief , . Donaudampfschifffahrt Katze собака x".split()
    return [[draw.choice(words) for _ in range(draw.randint(1, 14))] for _ in range(count)]


def test_trees_are_those_of_supars_own_predict(folder):
    """Heads and relations; supar spells and begins sentences as the settings say."""
    parser = Parser.load(folder, lang="de", split=False)
    given_ = sentences()
    ours = parser.parse(given_)
    settings = tiny.settings()

    def spelt(word):
        chars = list(word)
        return ["<de>", *(chars if len(chars) <= 6 else chars[:3] + chars[-3:])]

    theirs = dependency_parser(parser.network.model, settings, "<de>", spelt)
    heads, relations = supar_arcs(theirs, [list(row) for row in given_])
    assert ours.to_heads() == (given_, heads)
    assert ours.to_relations() == relations
    other = Parser.load(folder, lang="ru", split=False).parse(given_)
    assert other.to_heads()[1] != heads


def test_batches_do_not_change_trees(folder):
    whole = Parser.load(folder, lang="de", split=False).parse(sentences())
    parts = Parser.load(folder, lang="de", split=False, batch_tokens=17).parse(sentences())
    assert whole.to_heads() == parts.to_heads()
    assert whole.to_relations() == parts.to_relations()


def test_languages_are_chosen_and_told(folder, tmp_path):
    parser = Parser.load(folder, lang="de")
    assert parser.fingerprint.endswith(":de+split:400")
    assert parser.kind == "dependency"
    assert pickle.loads(pickle.dumps(parser)).fingerprint == parser.fingerprint
    with pytest.raises(TensorMTError, match=r"needs a language .* choose from de, ru"):
        Parser.load(folder)
    with pytest.raises(TensorMTError, match=r"the language 'fr' .* choose from de, ru"):
        Parser.load(folder, lang="fr")
    tiny.write(tmp_path, languages=["de"])
    assert Parser.load(tmp_path).fingerprint.endswith(":de+split:400")


def test_english_stays_with_constituents():
    assert open_parser("default", lang="en").fingerprint == Parser.load().fingerprint
    with pytest.raises(TensorMTError, match="omit lang"):
        open_parser(DEFAULT, lang="fr")


def test_a_model_without_a_language(tmp_path):
    tiny.write(tmp_path, languages=[])
    parser = Parser.load(tmp_path)
    assert parser.fingerprint.endswith("+split:400")
    assert ":" not in parser.fingerprint.partition("+")[0]
    assert parser.parse(["Der Hund lief."]).tokens.tolist() == [4]
    with pytest.raises(TensorMTError, match="omit lang"):
        Parser.load(tmp_path, lang="de")


def test_text_is_read_by_the_rules_of_the_language(folder):
    trees = Parser.load(folder, lang="de").parse(TEXT)
    words, heads = trees.to_heads()
    assert words[2] == "Die Katze schlief nicht . Sie lief !".split()
    assert words[4] == "Ein Satz ( mit Klammern )".split()
    assert [row.count(0) for row in heads] == [1, 0, 1, 0, 1]
    first, later = (
        Parser.load(folder, lang="de").parse([part]).to_heads()[1][0]
        for part in ("Die Katze schlief nicht.", "Sie lief!")
    )
    root = first.index(0) + 1
    assert heads[2] == first + [head + 5 if head else root for head in later]
    assert trees.to_relations()[2][5 + later.index(0)] == "parataxis"


def test_a_strange_script_is_told_of(folder, recwarn):
    parser = Parser.load(folder, lang="de")
    parser.parse(["Der Hund heißt собака и кот."])
    parser.parse(["123 !"])
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"some sentences are in a script \(ARABIC\)"):
        parser.parse(["Der Hund lief.", "ركض الكلب إلى البيت"])
    known = Parser.load(folder, lang="de")
    known._language = LanguageCheck("folder", frozenset({"LATIN"}))
    with pytest.warns(UserWarning, match=r"\(CYRILLIC\) that"):
        known.parse(["собака и кот"])


def test_kept_trees_are_the_same(folder, tmp_path):
    parser = Parser.load(folder, lang="de")
    trees = parser.parse(TEXT)
    again = read_lines(write_lines(trees))
    assert again.to_heads() == trees.to_heads()
    assert again.to_relations() == trees.to_relations()
    first = CachedParser(parser, tmp_path)(TEXT)
    second = CachedParser(parser, tmp_path)
    assert second(TEXT).to_relations() == first.to_relations() == trees.to_relations()
    assert second.parsed == 0


def test_batches_with_relations_can_be_cut_and_joined(folder):
    trees = Parser.load(folder, lang="de").parse(TEXT)
    picked = TreeBatch.concat([trees[2:], trees[[0, 1]]])
    names = trees.to_relations()
    assert picked.to_relations() == [*names[2:], names[0], names[1]]
    assert pickle.loads(pickle.dumps(picked)).to_relations() == picked.to_relations()
    bare = TreeBatch.from_heads([["a"]], [[0]])
    assert TreeBatch.concat([trees, bare]).to_relations() is None


def test_signatures_have_no_head_rules(folder):
    source = tree_source(Parser.load(folder, lang="de"))
    found = tm.score(TEXT[:1], [TEXT[:1]], ["hwcm", "chrf+hwcm"], source)
    for name in ("hwcm", "chrf+hwcm"):
        assert "rules" not in found.signatures[name]
        assert ":de+split:400" in found.signatures[name]
        assert found.corpus[name] == pytest.approx(1)
    written = tm.score(["(S (NN a))"], [["(S (NN a))"]], ["hwcm"], trees=True)
    assert "rules:collins" in written.signatures["hwcm"]


def test_metrics_on_constituents_say_what_fits(folder):
    source = tree_source(Parser.load(folder, lang="de"))
    for metric in ("stm", "tkm", "chrf+stm"):
        with pytest.raises(TensorMTError, match="use HWCM, DSTM or DTKM, or give bracketings"):
            tm.score(TEXT[:1], [TEXT[:1]], [metric], source)


def test_labelled_chains(folder):
    """Chains of words with their relations, counted in plain Python."""
    parser = Parser.load(folder, lang="de")
    hyp, ref = parser.parse(["Der Hund lief der Katze nach."]), parser.parse(["Der Hund lief ."])

    def chains(trees, length):
        (words,), (heads,) = trees.to_heads()
        (names,) = trees.to_relations()
        found = []
        for start in range(len(words)):
            chain, here = [], start + 1
            while here and len(chain) < length:
                chain.append((words[here - 1], names[here - 1]))
                here = heads[here - 1]
            if len(chain) == length:
                found.append(tuple(chain))
        return found

    fractions = []
    for length in (1, 2):
        own, other = chains(hyp, length), chains(ref, length)
        matched = sum(min(own.count(c), other.count(c)) for c in set(own))
        fractions.append(max(matched / len(own), 1e-3))
    score = tm.HWCM(max_length=2, labels=True)(hyp, [ref])
    assert score.item() == pytest.approx(sum(fractions) / 2)
    assert "|labels:yes" in tm.HWCM(labels=True).signature
    assert "labels" not in tm.HWCM().signature
    bare = TreeBatch.from_brackets(["(S (NN a))"])
    with pytest.raises(TensorMTError, match="arcs of these trees have no names"):
        tm.HWCM(labels=True)(bare, [bare])
    with pytest.raises(TensorMTError, match="labels is 3"):
        tm.HWCM(labels=3)


def test_damaged_models_are_refused(folder, tmp_path):
    tiny.write(tmp_path, relations=["det"])
    path = tmp_path / "settings.json"
    path.write_text(path.read_text().replace('"relations": ["det"]', '"relations": 3'))
    with pytest.raises(TensorMTError, match="'relations' is missing or invalid"):
        Parser.load(tmp_path, lang="de")
    path.write_text(path.read_text().replace('"relations": 3', '"relations": ["a", "b", "c"]'))
    with pytest.raises(TensorMTError, match="damaged"):
        Parser.load(tmp_path, lang="de").parse(["a"])


def test_ids_on_another_device_are_not_needed(folder):
    assert Parser.load(folder, lang="de").parse([]).to_heads() == ([], [])
    assert torch.equal(
        Parser.load(folder, lang="de").parse(["", None]).lengths, torch.zeros(2, dtype=torch.int64)
    )


def test_the_embedded_parser():
    """A plain German sentence, and languages that it does not have."""
    parser = Parser.load("default", lang="de")
    trees = parser.parse(["Der Hund lief nach Hause."])
    assert trees.to_heads() == (["Der Hund lief nach Hause .".split()], [[2, 3, 0, 5, 3, 3]])
    assert trees.to_relations() == [["det", "nsubj", "root", "case", "obl", "punct"]]
    assert open_parser("ud:de").fingerprint == parser.fingerprint
    assert parser.fingerprint.startswith("ud-")
    with pytest.raises(TensorMTError, match=r"the language 'xx' among .* choose from cs, de"):
        Parser.load("ud", lang="xx")
    with pytest.warns(UserWarning, match=r"CYRILLIC"):
        parser.parse(["Собака побежала домой."])
