"""Evaluator: checks when it is made, the metrics' own numbers, errors with the corpus's numbers."""

import pickle
import re
import warnings

import numpy as np
import oracles
import pytest

import tensormt as tm
from tensormt.errors import NoExplanation, TensorMTError
from tensormt.evaluator import CHUNK, PARSED_CHUNK, Evaluator, named_metrics
from tensormt.segments import Segments
from tensormt.statistics import Statistics
from tensormt.trees.sources import PreparsedTrees, TreeOptions, TreesAsText

HYPS = {"a": ["the dog ran", "a cat sat", "it is"], "b": ["the dog", None, ""]}
REFS = [["the dog ran home", "the cat sat", "it was"], ["a dog ran", None, "it is so"]]


def flat(lines):
    """Trees of texts: S over a tag for each word."""
    trees = (" ".join(f"(X {word})" for word in (line or "").split()) for line in lines)
    return tm.TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in trees])


def segments():
    return Segments(HYPS, REFS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["blue"],), "no metric named 'blue'"),
        ((["bleu:max_order=0"],), "max_order is '0', expected a whole number"),
        (([],), "metrics is a list of at least one name"),
        (({},), "metrics is a list of at least one name"),
        (("",), "metrics is a list of at least one name"),
        (([tm.BLEU(), tm.BLEU(2)],), "two metrics are called 'bleu'"),
        ((["stm"],), "STM compares trees: name a parser, for example 'default'"),
        ((["bleu+stm"],), "Mean compares trees: name a parser"),
        ((["stm"], 3), "parser is int: expected 'default'"),
        ((["stm"], "/no/such/parser"), "/no/such/parser"),
        ((["bleu"], None, "xpu:9:9"), "there is no device"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_made(arguments, message):
    with pytest.raises(TensorMTError, match=message):
        Evaluator(*arguments)


def test_a_parser_that_nobody_needs_is_not_opened():
    evaluator = Evaluator(["bleu"], "/no/such/parser")
    assert evaluator.trees is None
    assert not evaluator.reads_trees
    assert evaluator.chunk_size == CHUNK
    assert Evaluator(["stm"], TreeOptions(flat)).trees is flat
    assert Evaluator(["stm"], "default").chunk_size == PARSED_CHUNK


def test_statistics_are_those_of_the_metrics():
    specs = ["bleu", "chrf", "bleu:max_order=2", "bm", "stm:max_depth=2", "bleu+stm"]
    found = Evaluator(specs, flat).evaluate(segments())
    assert list(found.tables) == specs
    for spec, metric in named_metrics(specs).items():
        for row, lines in enumerate(HYPS.values()):
            streams = [[line or "" for line in lines], *REFS]
            if spec == "bleu+stm":
                continue
            if metric.reads_trees:
                hyp, *refs = (flat(stream) for stream in streams)
            else:
                hyp, *refs = (
                    tm.TokenBatch.from_text(stream, *metric.reads.cut) for stream in streams
                )
            expected = metric.statistics(hyp, refs)
            kept = [line is not None for line in lines]
            assert np.array_equal(found.tables[spec][row][kept], expected[kept])
            assert not found.tables[spec][row][[not k for k in kept]].any()
    assert found.present.tolist() == [[True] * 3, [True, False, True]]
    assert np.isnan(found.segments("bleu")[1, 1])


def test_chunks_change_nothing():
    specs = ["bleu", "nist", "stm"]
    evaluator = Evaluator(specs, flat).fit(segments())
    whole = evaluator.evaluate(segments())
    for size in (1, 2, 3):
        parts = [found for _, found in evaluator.run(segments(), size)]
        again = Statistics.concat(parts)
        for spec in specs:
            assert np.allclose(again.tables[spec], whole.tables[spec], rtol=1e-14, atol=0)
    parts = [part for part, _ in evaluator.run(segments(), 2, start=1)]
    assert [part.number(0) for part in parts] == [1]


def test_fit_leaves_the_evaluator_as_it_was():
    evaluator = Evaluator(["nist", "queen:chrf+nist", "bleu"])
    fitted = evaluator.fit(segments())
    assert evaluator.metrics["nist"].needs_fit
    assert evaluator.metrics["queen:chrf+nist"].needs_fit
    assert not any(metric.needs_fit for metric in fitted.metrics.values())
    plain = Evaluator(["bleu"])
    assert plain.fit(segments()) is plain
    metric = tm.NIST()
    assert not Evaluator([metric]).fit(segments()).metrics["nist"].needs_fit
    assert metric.needs_fit


def test_metrics_cannot_be_changed_from_outside():
    evaluator = Evaluator(["bleu"])
    with pytest.raises(TypeError):
        evaluator.metrics["stm"] = tm.STM()
    for name in ("metrics", "trees", "device"):
        with pytest.raises(AttributeError):
            setattr(evaluator, name, None)


def test_pickled():
    evaluator = pickle.loads(pickle.dumps(Evaluator(["bleu", "stm"], flat)))
    assert np.array_equal(
        evaluator.evaluate(segments()).corpus("stm"),
        Evaluator(["stm"], flat).evaluate(segments()).corpus("stm"),
    )


def test_errors_have_the_number_of_the_segment_in_the_corpus():
    refs = [["(S (A a))"] * 4 + ["(S (-NONE- *))"]]
    trees = Segments({"": ["(S (A a))"] * 5}, refs)
    evaluator = Evaluator(["stm"], TreesAsText())
    for size in (1, 2, 5):
        with pytest.raises(TensorMTError, match="segment 5 has no reference"):
            list(evaluator.run(trees, size))
    with pytest.raises(TensorMTError, match="segment 5 has no reference"):
        evaluator.explain(evaluator.prepare(trees[3:]), "stm")
    with pytest.raises(TensorMTError, match="segment 5 has no reference"):
        evaluator.segment_scores(trees[[0, 4]])


def test_trees_beside_the_text_go_by_position():
    whole = segments()
    trees = PreparsedTrees([flat(stream) for stream in whole.streams], whole)
    evaluator = Evaluator(["stm", "bleu"], trees)
    expected = Evaluator(["stm", "bleu"], flat).evaluate(whole)
    assert np.array_equal(evaluator.evaluate(whole).tables["stm"], expected.tables["stm"])
    some = evaluator.evaluate(whole[[2, 0]])
    assert np.array_equal(some.tables["stm"], expected.tables["stm"][:, [2, 0]])
    assert "|parser:given|" in evaluator.signatures(2)["stm"]
    with pytest.raises(TensorMTError, match="trees must have the form of the text"):
        PreparsedTrees([flat(["a"])], whole)


def test_signatures():
    trees = TreesAsText("conllu")
    found = Evaluator(["hwcm", "bleu"], trees).signatures(3)
    assert "rules" not in found["hwcm"]  # head rules convert constituents only
    assert "|refs:3|parser:given|" in found["hwcm"]
    assert "|refs:3|version:" in found["bleu"]
    assert "|rules:collins|" in Evaluator(["hwcm"], TreesAsText()).signatures(1)["hwcm"]
    before = Evaluator(["bleu"])
    expected = before.signatures(1)
    before.evaluate(segments())
    assert before.signatures(1) == expected


def test_short_signatures_repeat_what_was_typed():
    found = Evaluator(["bleu:max_order=2", "blend"], flat).signatures(2, short=True)
    assert found["bleu:max_order=2"] == f"bleu:max_order=2|refs:2|version:{tm.__version__}"
    assert found["blend"].startswith("blend|refs:2|parser:")
    assert (
        Evaluator(["bleu"], lang="zh")
        .signatures(1, short=True)["bleu"]
        .startswith("bleu|lang:zh|refs:1|")
    )


def test_an_object_that_was_not_typed_has_its_full_signature():
    found = Evaluator([tm.BLEU(max_order=2), tm.Scores("COMET", [0.5])]).signatures(1, short=True)
    assert found["bleu"].startswith("BLEU|order:2|")
    assert found["COMET"].startswith("COMET|scores:stored|corpus:mean|")
    assert Evaluator([tm.BLEU()]).signatures(1, short=True)["bleu"].startswith("bleu|refs:1|")


def test_a_signature_depends_on_the_settings_alone():
    metric = tm.BLEU()
    signature = metric.signature
    batch = tm.TokenBatch.from_text(["A b"], "none", lowercase=True)
    metric(batch, [batch])
    assert metric.signature == signature


def test_explanations_and_segment_scores():
    evaluator = Evaluator(["bleu", "queen:chrf+bleu"])
    refs = [*REFS, ["x", "y", "z"], ["u", "v", "w"]]
    some = Segments(HYPS, refs)[:1]
    texts = evaluator.prepare(some)
    one, two = evaluator.explain(texts, "bleu")
    assert (len(one.hyp), len(two.hyp)) == (1, 1)
    with pytest.raises(NoExplanation):
        evaluator.explain(texts, "queen:chrf+bleu")
    scores = evaluator.segment_scores(some)
    assert np.array_equal(scores["bleu"], evaluator.evaluate(some).segments("bleu"))


def test_precisions_warn_of_short_output():
    """With every other line blank a precision rises: the warning says how many lines are short."""
    refs = [["a b c d e f"] * 6, ["a b c d"] * 6]
    hyps = {"x": ["a b c d e", "", "a", "a b", " ", "a b c"], "y": ["a b c d e f"] * 5 + [None]}
    some = Segments(hyps, refs)
    assert some.short_outputs() == 3
    for specs in (["stm"], ["bleu", "hwcm", "dstm"], ["stm+hwcm"]):
        names = [name for name in specs if name != "bleu"]
        expected = rf"3 of 11 outputs are empty or.*which {re.escape(', '.join(names))} cannot see"
        with pytest.warns(UserWarning, match=expected):
            list(Evaluator(specs, flat).run(some, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(Evaluator(["bleu", "stm:balance=f1", "hwcm:balance=brevity", "tkm"], flat).run(some))
        list(Evaluator(["stm+bleu", "blend"], flat).run(some))
        list(Evaluator(["stm"], flat).run(some[:1]))


def test_corpora_do_not_take_the_path_for_a_few_segments_where_it_rounds_otherwise():
    """Kernels differ in their last bits on the two paths; counts are the same."""
    hyps, refs = oracles.random_case(5, most=14, segments=40)
    lines = [oracles.brackets(tree) for tree in hyps]
    streams = [[oracles.brackets(tree) for tree in stream] for stream in zip(*refs, strict=True)]
    some = Segments({"x": lines}, streams)

    class Batched(tm.TKM):
        def _plain_statistics(self, hyp, refs):
            raise AssertionError

    metrics = {"tkm": Batched(), "mean": tm.Mean([Batched(), tm.STM()]), "stm": tm.STM()}
    evaluator = Evaluator(metrics, TreesAsText())
    whole = evaluator.evaluate(some)
    again = Statistics.concat([found for _, found in evaluator.run(some, 3)])
    assert np.array_equal(again.tables["stm"], whole.tables["stm"])
    for name in ("tkm", "mean"):
        assert np.allclose(again.tables[name], whole.tables[name], rtol=1e-13, atol=0)
