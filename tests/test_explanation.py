"""Names and texts of explained items."""

import tensormt as tm
from tensormt.explanation import display_name, display_names
from tensormt.registry import make


def test_names_of_orders():
    tokens = tm.TokenBatch.from_text(["a cat sat"])
    trees = tm.TreeBatch.from_brackets(["(S (NP (DT a) (NN cat)) (VP (VBD sat)))"])
    cases = {
        tm.BLEU(max_order=2): (tokens, ["1-grams", "2-grams"]),
        tm.STM(max_depth=2): (trees, ["subtrees of depth 1", "subtrees of depth 2"]),
        tm.HWCM(max_length=2): (
            trees.dependencies(),
            ["headword chains of 1", "headword chains of 2"],
        ),
    }
    for metric, (batch, names) in cases.items():
        assert metric.explain(batch, [batch]).names() == names


def test_names_of_characters_and_words():
    batch = tm.ChrF(char_order=2, word_order=1).reads.empty()
    found = tm.ChrF(char_order=2, word_order=1).explain(batch, [batch])
    assert found.names() == ["character 1-grams", "character 2-grams", "word 1-grams"]


def test_texts_of_items():
    trees = tm.TreeBatch.from_brackets(["(X x)", "(S (NP (DT a) (NN cat)) (VP (VBD sat)))"])
    text = tm.STM().explain(trees, [trees]).text(1)
    assert [text(depth, 0) for depth in (1, 2, 3)] == ["S", "(S NP VP)", "(S (NP DT NN) (VP VBD))"]
    heads = trees.dependencies()
    chain = tm.HWCM().explain(heads, [heads]).text(1)
    assert chain(1, 0) == "a"
    assert chain(3, 0) == "sat → cat → a"
    tokens = tm.TokenBatch.from_text(["x", "a cat sat"])
    assert tm.BLEU().explain(tokens, [tokens]).text(1)(2, 1) == "cat sat"


def test_metrics_are_named_by_their_settings():
    names = {
        "bleu": "BLEU",
        "hwcm:max_length=1,balance=f1": "HWCM-1 F1",
        "hwcm:max_length=3,balance=brevity": "HWCM-3 brevity",
        "chrf:beta=1,lowercase=yes,whitespace=yes": "chrF beta=1 lowercase whitespace",
        "nist:lowercase=no": "NIST no lowercase",
        "chrf+bleu": "Mean",
    }
    for spec, name in names.items():
        assert display_name(make(spec)) == name
    assert display_names(make("blend").metrics) == [
        "BLEU-1 lowercase",
        "ROUGE stem tokenize=13a",
    ]
    assert display_names([tm.BLEU(), tm.BLEU()]) == ["BLEU (1)", "BLEU (2)"]
