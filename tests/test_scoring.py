"""tm.score: equal to the metrics on batches, whatever the chunks, the systems or the cache."""

import argparse
import multiprocessing
from pathlib import Path

import pyarrow as pa
import pytest
import sacrebleu
import torch

import tensormt as tm
from tensormt.command import arguments
from tensormt.evaluator import CHUNK, Evaluator
from tensormt.parser.cache import CachedParser
from tensormt.parser.tree_source import tree_source
from tensormt.registry import make
from tensormt.segments import Segments
from tensormt.statistics import Statistics, Totals
from tensormt.trees.sources import sentences

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NGRAM = ["bleu", "nist", "bm", "bma", "nm", "bm:weighting=zipf", "nist:info=segment"]
TREES = ["stm", "tkm", "hwcm", "dstm", "dtkm", "stm:max_depth=3,balance=f1"]


def lines(name):
    return (EXAMPLES / name).read_text().splitlines()


HYPS = {"A": lines("sysA.txt"), "B": lines("sysB.txt")}
REFS = [lines("ref1.txt"), [None if k == 2 else x for k, x in enumerate(lines("ref2.txt"))]]


class Flat:
    """A stand-in for a parser: a sentence is S over tagged words; it counts its work."""

    fingerprint = "flat-1"
    kind = "constituency"

    def __init__(self):
        self.calls = 0

    def tree(self, text):
        words = [w.strip(".,") or "x" for w in text.split()]
        return f"(S {' '.join(f'(T{len(w)} {w})' for w in words)})" if words else ""

    def parse(self, segments, progress=None):
        self.calls += len(segments)
        return tm.TreeBatch.from_brackets([self.tree(text or "") for text in segments])


def scored(specs, size, hyps=HYPS, folder=None):
    corpus = Segments(hyps, REFS)
    evaluator = Evaluator(specs, CachedParser(Flat(), folder)).fit(corpus)
    totals, parts = Totals(), []
    for _, found in evaluator.run(corpus, size):
        totals.add(found)
        parts.append(found)
    found = Statistics.concat(parts)
    segments = {
        name: {spec: torch.from_numpy(found.segments(spec)[k]) for spec in specs}
        for k, name in enumerate(hyps)
    }
    return segments, {name: totals.corpus_scores(evaluator.metrics, name) for name in hyps}


def equal(one, two):
    for name in one[0].keys() & two[0].keys():
        for spec, scores in one[0][name].items():
            assert torch.allclose(scores, two[0][name][spec], rtol=0, atol=1e-12), spec
            assert one[1][name][spec] == pytest.approx(two[1][name][spec], abs=1e-12), spec


def test_chunks_systems_and_cache_change_nothing(tmp_path):
    whole = scored(NGRAM + TREES, 100)
    for size in (1, 5, 7):
        equal(whole, scored(NGRAM + TREES, size))
    for name in HYPS:
        equal(whole, scored(NGRAM + TREES, 5, {name: HYPS[name]}))
    for _ in range(2):
        equal(whole, scored(NGRAM + TREES, 5, folder=tmp_path))


def test_scores_are_those_of_the_metrics():
    segments, corpus = scored(NGRAM + TREES, 5)
    parser = Flat()
    for spec in NGRAM + TREES:
        metric = make(spec)
        if spec in NGRAM:
            hyp = tm.TokenBatch.from_text(HYPS["A"])
            refs = [tm.TokenBatch.from_text(stream) for stream in REFS]
        else:
            hyp, refs = parser.parse(HYPS["A"]), [parser.parse(stream) for stream in REFS]
        assert torch.allclose(segments["A"][spec], metric(hyp, refs), rtol=0, atol=1e-12), spec
        assert corpus["A"][spec] == pytest.approx(metric.corpus(hyp, refs).item(), abs=1e-12)


def test_metrics_together_score_as_each_alone():
    """One comparison serves metrics that read alike: of other orders, with and without counts."""
    counts = tm.Frequencies(5).add([tm.TokenBatch.from_text(r, lowercase=True) for r in REFS])
    counts.add([tm.TokenBatch.from_text(["some more text of a larger test set"], lowercase=True)])
    metrics = [
        *("bm", "bm:max_order=2,recurrence=occurrences", "nist:max_order=3", "bleu", "chrf"),
        *("bleu:lowercase=yes,max_order=6", "bm:weighting=zipf", "nm:max_order=2", "bma"),
        tm.NIST(counts=counts),
    ]
    alone = {}
    for metric in metrics:
        alone |= tm.score(HYPS["B"], REFS, [metric]).segments
    for order in (metrics, metrics[::-1], [*metrics[4:], *metrics[:4]]):
        found = tm.score(HYPS["B"], REFS, order).segments
        assert found.keys() == alone.keys()
        for name, scores in alone.items():
            assert torch.equal(found[name], scores), name
    assert not torch.equal(alone["nist"], tm.score(HYPS["B"], REFS, ["nist"]).segments["nist"])


def test_a_metric_with_a_reading_of_its_own_is_counted_alone():
    class First(tm.BLEU):
        name = "First"

        def in_case(self, hyp, refs):
            hyp, ready = super().in_case(hyp, refs)
            return hyp, tm.References(ready[:1])

    alone = tm.score(HYPS["A"], REFS[:1], ["bleu"]).segments["bleu"]
    plain = tm.score(HYPS["A"], REFS, ["bleu"]).segments["bleu"]
    for metrics in ([First(), "bleu"], ["bleu", First()]):
        found = tm.score(HYPS["A"], REFS, metrics).segments
        assert torch.equal(found["first"], alone)
        assert torch.equal(found["bleu"], plain)
    assert not torch.equal(alone, plain)


def test_score_of_text():
    """BLEU as sacrebleu's, trees by the parser that is given, signatures with its name."""
    trees = (
        [Flat().tree(x) for x in HYPS["B"]],
        [[Flat().tree(x or "") for x in stream] for stream in REFS],
    )
    result = tm.score(HYPS["B"], REFS, ["bleu", "stm"], trees=trees, docs=["d", "e"] * 6)
    refs = [[ref or "" for ref in stream] for stream in REFS]
    assert result.corpus["bleu"] == pytest.approx(
        sacrebleu.corpus_bleu(HYPS["B"], [refs[0], [r or None for r in refs[1]]]).score, abs=1e-9
    )
    assert result.segments["stm"].shape == (12,)
    assert "|parser:given|" in result.signatures["stm"]
    assert "|refs:2|" in result.signatures["bleu"]
    assert set(result.documents) == {"d", "e"}
    expected = scored(["stm"], 100)
    assert torch.allclose(result.segments["stm"], expected[0]["B"]["stm"], rtol=0, atol=1e-12)


def test_score_of_bracketings():
    parser = Flat()
    hyps = [parser.tree(x) for x in HYPS["A"]]
    refs = [[parser.tree(x or "") for x in stream] for stream in REFS]
    result = tm.score(hyps, refs, ["stm", "bleu:tokenize=none"], trees=True)
    assert torch.allclose(result.segments["stm"], scored(["stm"], 100)[0]["A"]["stm"])
    assert sentences(tm.TreeBatch.from_brackets(["(S (-LRB- -LRB-) (NN a))", ""])) == [
        "( a",
        "",
    ]
    with pytest.raises(tm.TensorMTError, match="in a file of trees, line 2, column 1: expected"):
        tm.score(["(A b)", "b"], [["(A b)", "(A b)"]], ["stm"], trees=True)


def test_trees_beside_the_text_go_by_place():
    """Equal texts may have different trees; batches of trees serve as well as bracketings."""
    ours, theirs = "(S (NP (NN saw)) (VP (VBD dogs)))", "(X (Y saw) (Z dogs))"
    result = tm.score(["saw dogs"], [["saw dogs"]], ["stm"], trees=([ours], [[theirs]]))
    assert result.corpus["stm"] == 0
    batches = [tm.TreeBatch.from_brackets([tree]) for tree in (ours, theirs)]
    again = tm.score(["saw dogs"], [["saw dogs"]], ["stm"], trees=(batches[0], batches[1:]))
    assert again == result or again.corpus == result.corpus


def test_faults_in_later_chunks_name_their_line():
    """Chunks start at 2,000: the line in the message is the line of the file."""
    good = ["(S (A a))"] * (CHUNK + 3)
    bad = [*good[:-1], "(S (A a)"]
    place = len(good)
    with pytest.raises(tm.TensorMTError, match=f"line {place}, column 1: an opening bracket"):
        tm.score(bad, [good], ["stm"], trees=True)
    none = [*good[:-1], "(S (-NONE- *))"]
    with pytest.raises(tm.TensorMTError, match=f"segment {place} has no reference"):
        tm.score(good, [none], ["stm"], trees=True)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "stm"])
def test_half_a_character_is_named_with_its_segment(metric):
    """Texts are read once each, but errors count all of them."""
    hyps, refs = ["a b"] * 5, ["a b"] * 5
    refs[3] = "a \ud800"
    for sides in ((hyps, [refs]), (refs, [hyps]), (hyps, [hyps, refs])):
        with pytest.raises(tm.TensorMTError, match=r"segment 4 holds .* no UTF-8 form"):
            tm.score(*sides, [metric], parser=Flat().parse)


def test_unusable_home_of_the_cache_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    args = argparse.Namespace(
        cache=None, no_cache=False, parser=Flat(), trusted=False, no_language_check=False
    )
    trees = tree_source(arguments.tree_options(args))
    with pytest.warns(UserWarning, match="continuing without a parse cache"):
        found = trees(["a"])
    assert found.to_brackets() == ["(S (T1 a))"]
    assert trees(["b"]).to_brackets() == ["(S (T1 b))"]  # and says it once


def test_bad_input():
    with pytest.raises(tm.TensorMTError, match="metrics is a list of at least one name"):
        tm.score(["a"], [["a"]], "")
    with pytest.raises(tm.TensorMTError, match="no reference given"):
        tm.score(["a"], [], ["bleu"])
    with pytest.raises(tm.TensorMTError, match="got a string"):
        tm.score(["a"], ["a"], ["bleu"])
    with pytest.raises(tm.TensorMTError, match="segment 1 has no reference"):
        tm.score(["a"], [[""]], ["bleu"])
    with pytest.raises(tm.TensorMTError, match="trees must have the form of the text"):
        tm.score(["a"], [["a"]], ["stm"], trees=(["(A a)"], [[]]))


@pytest.mark.parametrize("make", [dict, pa.table])
def test_columns_of_a_table(make):
    rows = {
        "out": ["a dog", "a cat"],
        "other": ["a", "b"],
        "r1": ["a dog", "x"],
        "r2": ["", "a cat"],
    }
    data = make({**rows, "refs": [["a dog"], ["x", "a cat"]], "doc": ["d", "e"]})
    expected = tm.score(rows["out"], [rows["r1"], rows["r2"]], ["bleu"], docs=["d", "e"])
    found = tm.score("out", ["r1", "r2"], ["bleu"], data=data, docs="doc")
    assert found.corpus == expected.corpus
    assert found.documents == expected.documents
    assert tm.score("out", "refs", ["bleu"], data=data).corpus == expected.corpus
    both = tm.score({"A": "out", "B": "other"}, ["r1", "r2"], ["bleu"], data=data)
    assert list(both) == ["A", "B"]
    assert both["A"].corpus == expected.corpus
    with pytest.raises(tm.TensorMTError, match="hyps: there is no column 'hyp', the table has out"):
        tm.score("hyp", "refs", data=data)
    with pytest.raises(tm.TensorMTError, match="refs by segment are one column of lists"):
        tm.score("out", ["r1", "r2"], data=data, rows=True)
    with pytest.raises(tm.TensorMTError, match="expected a table with named columns"):
        tm.score("out", "refs", data=[1])


def test_references_by_segment():
    hyps, rows = ["a dog", "a cat"], [["a dog"], ["x", "a cat"]]
    found = tm.score(hyps, rows, ["bleu", "chrf"], rows=True)
    expected = tm.score(hyps, [["a dog", "x"], [None, "a cat"]], ["bleu", "chrf"])
    assert found.corpus == expected.corpus
    with pytest.raises(tm.TensorMTError, match=r"refs\[1\], number 1: expected a string"):
        tm.score(hyps, [["a dog"], [1]], rows=True)


def test_trees_of_several_systems():
    text, tree = ["a dog"], ["(NP (DT a) (NN dog))"]
    other = ["(NP (NN a) (NN dog))"]
    found = tm.score(
        {"A": text, "B": text}, [text], ["stm"], trees=({"B": other, "A": tree}, [tree])
    )
    assert found["A"].corpus["stm"] == 1
    assert found["B"].corpus["stm"] < 1
    with pytest.raises(tm.TensorMTError, match=r"\{system: trees\} with the systems of hyps"):
        tm.score({"A": text, "B": text}, [text], ["stm"], trees=(tree, [tree]))


def test_the_language_sets_the_tokeniser():
    hyps, refs = ["我喜欢猫和大的狗。"], ["我喜欢猫和狗。"]
    found = tm.score(hyps, [refs], ["bleu"], lang="zh")
    expected = sacrebleu.corpus_bleu(hyps, [refs], tokenize="zh").score
    assert found.corpus["bleu"] == pytest.approx(expected, abs=1e-9)
    assert "|tok:zh|" in found.signatures["bleu"]
    named = tm.score(hyps, [refs], ["bleu:tokenize=char"], lang="zh")
    assert "|tok:char|" in named.signatures["bleu:tokenize=char"]


def test_missing_hypotheses_are_counted():
    with pytest.warns(UserWarning, match="2 of 3 hypotheses are missing"):
        found = tm.score(["a", None, float("nan")], [["a"] * 3], ["chrf"])
    assert found.segments["chrf"].tolist() == [100, 0, 0]


def test_parse():
    trees = tm.parse(["The dog ran.", "", None])
    assert trees.to_brackets()[0] == "(S (NP (DT The) (NN dog)) (VP (VBD ran)) (. .))"
    assert trees.lengths.tolist()[1:] == [0, 0]
    assert tm.parse(["Der Hund lief."], lang="de").kind == "dependency"
    assert tm.parse(["x"], parser=Flat()).to_brackets() == ["(S (T1 x))"]
    with pytest.raises(tm.TensorMTError, match="was not trained on"):
        tm.parse(["博物馆今天重新开放，所有人都可以来。"])


# --- the parse cache ----------------------------------------------------------------------------


def test_each_text_is_parsed_once(tmp_path):
    parser = Flat()
    forester = CachedParser(parser)
    trees = forester(["a b", "c", "a b", None, ""])
    assert trees.to_brackets()[0] == trees.to_brackets()[2] == "(S (T1 a) (T1 b))"
    assert trees.lengths.tolist() == [3, 2, 3, 0, 0]
    forester(["c", "a b"])
    assert parser.calls == 3  # "a b", "c", ""


def test_cache_outlives_the_run(tmp_path):
    first = Flat()
    CachedParser(first, tmp_path)(["a b", "c"])
    second = Flat()
    forester = CachedParser(second, tmp_path)
    assert forester(["c", "a b", "d"]).to_brackets() == [second.tree(x) for x in ("c", "a b", "d")]
    assert second.calls == 1
    other = Flat()
    other.fingerprint = "flat-2"  # another parser sees none of it
    CachedParser(other, tmp_path)(["c"])
    assert other.calls == 1


def _fill(folder, start):
    CachedParser(Flat(), folder)([f"word {k}" for k in range(start, start + 200)])


def test_cache_is_safe_for_several_processes(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fill, args=(tmp_path, 50 * k)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    parser = Flat()
    CachedParser(parser, tmp_path)([f"word {k}" for k in range(350)])
    assert parser.calls == 0


def test_broken_cache(tmp_path):
    CachedParser(Flat(), tmp_path)(["a"])
    (file,) = tmp_path.glob("*.sqlite")
    for other in tmp_path.glob("*.sqlite-*"):
        other.unlink()
    file.write_bytes(b"this is no database" * 100)
    with pytest.raises(tm.TensorMTError, match="parse cache cannot be used"):
        CachedParser(Flat(), tmp_path)(["a"])
    (tmp_path / "file").write_text("")
    with pytest.raises(tm.TensorMTError, match="parse cache cannot be used"):
        CachedParser(Flat(), tmp_path / "file" / "folder")
