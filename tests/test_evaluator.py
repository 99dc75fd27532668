"""Evaluator: checks when it is made, the metrics' own numbers, errors with the corpus's numbers."""

import pickle
import re
import threading
import warnings

import numpy as np
import oracles
import pytest
import torch
from fake_cuda import CUDA, FakeCuda
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import tensormt as tm
from tensormt import evaluator as module
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
    assert found["blend"] == f"blend|refs:2|version:{tm.__version__}"
    mean = Evaluator(["chrf+stm"], flat).signatures(2, short=True)["chrf+stm"]
    assert mean.startswith("chrf+stm|refs:2|parser:")
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
        warnings.filterwarnings("error", "3 of 11")
        list(Evaluator(["bleu", "stm:balance=f1", "hwcm:balance=brevity", "tkm"], flat).run(some))
        list(Evaluator(["stm+bleu", "blend"], flat).run(some))
        list(Evaluator(["stm"], flat).run(some[:1]))
    with pytest.warns(UserWarning, match="^2 of 11 outputs are empty$"):
        list(Evaluator(["bleu"], flat).run(some, 2))


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


# --- a thread reads the next chunk ----------------------------------------------------------------


@pytest.fixture
def ahead(monkeypatch):
    """The path of a device, with tensors of the CPU."""
    monkeypatch.setattr(module, "is_cpu", lambda device: False)


def readers():
    """The threads that read ahead."""
    return [t for t in threading.enumerate() if t.name.startswith("tensormt-reader")]


def many(copies=40):
    """Segments of which a chunk is too large for the path of a few."""
    outputs = [[f"{line}, {k}." for k in range(copies) for line in HYPS["a"]]]
    outputs.append([None if k % 7 == 0 else line for k, line in enumerate(outputs[0])])
    streams = [
        [f"{line}, {k}." if line else line for k in range(copies) for line in r] for r in REFS
    ]
    return Segments(dict(zip("ab", outputs, strict=True)), streams, sources=outputs[0][::-1])


SPECS = ["bleu", "chrf", "copied", "stm", "bleu:tokenize=char", "bleu+stm", "nist", "rouge"]


def as_brackets(some):
    """The same segments as trees."""
    outputs = {name: flat(lines).to_brackets() for name, lines in some.outputs.items()}
    return Segments(outputs, [flat(lines).to_brackets() for lines in some.references])


@pytest.mark.filterwarnings("ignore:.*outputs are empty or less than half")
@pytest.mark.parametrize("size", [1, 50, 1000])
def test_reading_ahead_changes_nothing(ahead, size):
    """The same chunks and tables, in the same order, as each chunk alone gives."""
    some = many(3 if size == 1 else 40)
    trees = as_brackets(some)
    for corpus, source, specs in (
        (some, flat, SPECS),
        (some, PreparsedTrees([flat(stream) for stream in some.streams], some), SPECS),
        (trees, TreesAsText(), ["stm", "hwcm", "bleu"]),
    ):
        evaluator = Evaluator(specs, source).fit(corpus)
        found = list(evaluator.run(corpus, size, start=1))
        expected = list(corpus.chunks(size, 1))
        assert [part.numbers for part, _ in found] == [part.numbers for part in expected]
        for (_, own), part in zip(found, expected, strict=True):
            alone = evaluator.evaluate(part)
            for spec in specs:
                assert np.array_equal(own.tables[spec], alone.tables[spec]), spec
    assert not readers()


# what is wrong with segment 5: metrics, source of trees, its reference, the message, chunks before
TROUBLES = {
    "reference": (["bleu"], None, "", "segment 5 has no reference", 2),
    "surrogate": (["bleu"], None, "a \ud800", r"segment 5 holds '\\ud800'", 2),
    "bracket": (
        ["bleu", "stm"],
        TreesAsText(),
        "(S (A a)",
        "line 5, column 1: an opening bracket",
        2,
    ),
    "parser": (["stm"], None, "refused", "this parser refuses a text", 2),
    "source": (["copied"], None, "a b", "copied compares with the source text", 0),
}


def refusing(lines):
    """Trees of texts, from a parser that does not take some."""
    if "refused" in lines:
        raise TensorMTError("this parser refuses a text")
    return flat(lines)


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_error_comes_after_the_chunks_before_it(monkeypatch, on, trouble):
    """With the message that it has on a CPU, whether it is found early or late."""
    monkeypatch.setattr(module, "is_cpu", lambda device: not on)
    specs, source, wrong, message, before = TROUBLES[trouble]
    lines = ["(S (A a) (B b))" if source else "a b"] * 8
    some = Segments({"a": lines}, [[*lines[:4], wrong, *lines[5:]]])
    running = Evaluator(specs, source or refusing).run(some, 2)
    assert [next(running)[0].number(0) for _ in range(before)] == [0, 2][:before]
    with pytest.raises(TensorMTError, match=message):
        next(running)
    assert not readers()


@pytest.mark.parametrize("wrong", ["", "a \ud800"])
def test_a_segment_has_its_number_in_the_corpus(wrong):
    """Also where the run does not begin with the first segment."""
    some = Segments({"a": ["a b"] * 8}, [["a b"] * 4 + [wrong] + ["a b"] * 3])
    with pytest.raises(TensorMTError, match="segment 5 h"):
        list(Evaluator(["bleu"]).run(some, 7, start=1))


class Counted:
    """A corpus that notes which chunks were read, and in which thread."""

    def __init__(self, some):
        self.some, self.systems = some, some.systems
        self.read, self.threads = [], set()

    def __len__(self):
        return len(self.some)

    def chunks(self, size, start=0):
        for part in self.some.chunks(size, start):
            self.read.append(part.number(0))
            self.threads.add(threading.current_thread())
            yield part


def test_one_chunk_is_read_ahead_and_no_thread_is_left(ahead):
    corpus = Counted(many())
    running = Evaluator(["bleu"]).run(corpus, 40)
    assert not corpus.read  # nothing is done before it is asked for
    for number in range(2):
        assert next(running)[0].number(0) == 40 * number
        [thread] = readers()
        assert corpus.threads == {thread}
        assert len(corpus.read) <= number + 2
    running.close()
    assert not readers()
    assert len(corpus.read) <= 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_no_thread_is_left_after_an_interruption(ahead, error):
    """Although the traceback keeps the generator alive."""

    class Interrupted(tm.BLEU):
        def _statistics(self, hyp, refs):
            raise error

    running = Evaluator({"bleu": Interrupted()}).run(many(), 40)
    with pytest.raises(error) as caught:
        next(running)
    assert not readers()
    assert caught.tb is not None


def test_there_is_no_thread_on_a_cpu(monkeypatch):
    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor", None)
    for device in (None, "cpu", "cpu:0", "auto"):
        corpus = Counted(many())
        running = Evaluator(["bleu"], device=device).run(corpus, 40)
        next(running)
        assert corpus.read == [0]
        assert corpus.threads == {threading.main_thread()}


class Devices(TorchDispatchMode):
    """Notes the devices of all tensors that a thread makes."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        self.found |= {leaf.device for leaf in tree_leaves(made) if hasattr(leaf, "device")}
        return made


@pytest.mark.filterwarnings("ignore:.*outputs are empty or less than half")
@pytest.mark.parametrize("given", [False, True])
def test_a_device_gets_what_another_thread_has_read(monkeypatch, given):
    """That thread makes tensors of the CPU alone; they are sent by the thread of the caller.

    The modes of the stand-in belong to a thread: in the other one a tensor made on the device, or
    sent there, is an error of torch.
    """
    corpus = as_brackets(many()) if given else many()
    specs, source = (["stm", "bleu"], TreesAsText()) if given else (SPECS[:5], flat)
    expected = [own.tables for _, own in Evaluator(specs, source).fit(corpus).run(corpus, 50)]
    made, cut, sent = [], [], []
    read_next = Evaluator._read_next

    def watched(self, chunks):
        with Devices() as devices:
            texts = read_next(self, chunks)
        made.append((threading.current_thread(), devices.found))
        return texts

    def noted(name, calls):
        real = getattr(tm.TokenBatch, name)

        def call(*args):
            calls.append(threading.current_thread())
            return real(*args)

        return call

    with FakeCuda(strict=False) as cuda:
        evaluator = Evaluator(specs, source, device=CUDA).fit(corpus)
        monkeypatch.setattr(Evaluator, "_read_next", watched)
        monkeypatch.setattr(tm.TokenBatch, "from_text", noted("from_text", cut))
        monkeypatch.setattr(tm.TokenBatch, "to", noted("to", sent))
        cuda.clear()
        found = [own.tables for _, own in evaluator.run(corpus, 50)]
    main = threading.main_thread()
    assert len(made) == len(found) + 1 == 4  # the last call finds the end
    for thread, devices in made[:-1]:
        assert thread is not main
        assert devices == {torch.device("cpu")}
    assert len(cut) >= 3
    assert main not in cut
    assert set(sent) == {main}
    assert any(copy.to_device for copy in cuda.copies)
    for own, tables in zip(found, expected, strict=True):
        for spec in specs:
            assert np.allclose(own[spec], tables[spec], rtol=1e-12, atol=0), spec
