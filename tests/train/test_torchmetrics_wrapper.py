"""The metrics as torchmetrics: batches, orders and processes do not change a bit of the result."""

import json
import math
import random

import oracles
import pytest
import torch
import torch.multiprocessing
from hypothesis import example, given
from hypothesis import strategies as st
from torchmetrics import MetricCollection

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.registry import EXTRA, METRICS, make
from tensormt.segments import Segments
from tensormt.train import torchmetrics_wrapper
from tensormt.train.torchmetrics_wrapper import TorchScore, collection

NAMES = [name for name in METRICS if name not in (*EXTRA, "copied")]
SPECS = [*NAMES, "nist:info='segment'", "bm:weighting='zipf'", "stm:balance='f1'"]


def forest(lines):
    """The texts of these tests are bracketings: they are their own parses."""
    return tm.TreeBatch.from_brackets(lines)


def case(seed=5, segments=12):
    """Texts [n] and references [n][1…3]."""
    rng = random.Random(seed)

    def line():
        return oracles.brackets(oracles.random_tree(rng, rng.randint(1, 9)))

    return [line() for _ in range(segments)], [
        [line() for _ in range(rng.randint(1, 3))] for _ in range(segments)
    ]


def batches(metric, trees, texts, refs):
    """What a metric reads of texts [n] with references [n][R]."""
    segments = Segments.from_rows({"": texts}, refs)
    (hyp,), streams = Evaluator({"m": metric}, trees).prepare(segments).sides(metric.reads)
    return hyp, streams


def fill(metric, texts, refs, size):
    for start in range(0, len(texts), size):
        metric.update(texts[start : start + size], refs[start : start + size])
    return metric


@pytest.mark.parametrize("spec", SPECS)
def test_the_corpus_score_of_the_metric(spec):
    texts, refs = case()
    metric = make(spec)
    hyp, streams = batches(metric, forest, texts, refs)
    expected = metric.corpus(hyp, streams)
    score = TorchScore(spec, forest)
    once = fill(score, texts, refs, len(texts)).compute()
    assert once.dtype == torch.float64
    assert once.item() == pytest.approx(expected.item(), rel=1e-12, abs=1e-15)
    score.reset()
    shuffled = list(range(len(texts)))
    random.Random(1).shuffle(shuffled)
    texts, refs = ([part[k] for k in shuffled] for part in (texts, refs))
    assert torch.equal(fill(score, texts, refs, 5).compute(), once)


@pytest.mark.parametrize("spec", SPECS)
def test_forward_gives_the_score_of_the_batch(spec):
    texts, refs = case()
    score = TorchScore(spec, forest)
    first = score(texts[:5], refs[:5])
    assert torch.equal(first, fill(TorchScore(spec, forest), texts[:5], refs[:5], 5).compute())
    score(texts[5:], refs[5:])
    assert torch.equal(score.compute(), fill(TorchScore(spec, forest), texts, refs, 99).compute())


def test_states_are_integers_and_far_from_their_limits():
    score = TorchScore("tkm", forest)
    texts, refs = case()
    fill(score, texts, refs, 4)
    tensors = list(score.metric_state.values())
    assert [value.dtype for value in tensors] == [torch.int64]
    # a hundred million segments with statistics of a thousand would still fit
    assert (
        torchmetrics_wrapper.to_words(torch.tensor([[1000.0]]).double()).max().item() * 10**8
        < 2**63
    )


@given(
    st.lists(st.floats(0, 1e6) | st.floats(0, 1e-9), min_size=1, max_size=30),
    st.integers(0, 10**6),
)
@example([3e-10] * 30, 0)
def test_fixed_point_sums_are_exact_and_know_no_order(values, seed):
    table = torch.tensor(values, dtype=torch.float64)[:, None]
    words = torchmetrics_wrapper.to_words(table)
    for row, value in zip(words, values, strict=True):
        assert abs(torchmetrics_wrapper.from_words(row).item() - value) <= 2.0**-86
    total = torchmetrics_wrapper.from_words(words.sum(0))
    order = torch.randperm(len(values), generator=torch.Generator().manual_seed(seed))
    assert torch.equal(total, torchmetrics_wrapper.from_words(words[order].flip(0).sum(0)))
    assert total.item() == pytest.approx(math.fsum(values), rel=1e-15, abs=1e-24)


def test_counts_given_are_used():
    texts, refs = case()
    metric = tm.NIST()
    hyp, streams = batches(metric, None, texts, refs)
    expected = metric.corpus(hyp, streams)
    score = TorchScore(tm.NIST().fit(streams))
    assert len(score.metric_state) == 1
    found = fill(score, texts, refs, 3).compute()
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def test_batches_instead_of_text():
    texts, refs = case()
    for spec in ("bleu", "nist", "hwcm"):
        score = TorchScore(spec, forest)
        hyp, streams = batches(score.metric, forest, texts, refs)
        score.update(hyp, streams)
        assert torch.equal(
            score.compute(), fill(TorchScore(spec, forest), texts, refs, 9).compute()
        )


def test_a_collection_of_all_ten():
    texts, refs = case()
    every = collection(parser=forest)
    assert isinstance(every, MetricCollection)
    fill(every, texts, refs, 5)
    found = every.compute()
    assert set(found) == set(NAMES)
    # in a collection that shares look-alike states the numbers are the same
    shared = MetricCollection({name: TorchScore(name, forest) for name in NAMES})
    fill(shared, texts, refs, 5)
    assert all(torch.equal(value, found[name]) for name, value in shared.compute().items())


@pytest.mark.on_a_cpu
def test_two_settings_of_one_metric_and_names_with_dots():
    texts, refs = case()
    given = ["stm", "stm:balance=f1", "tkm:decay=0.4", tm.STM(2), tm.TKM(decay=0.7)]
    every = fill(collection(given, forest), texts, refs, 5).compute()
    assert len(every) == 5
    for name, metric in zip(
        ["stm", "stm:balance=f1", "tkm:decay=0_4", "stm:depth=2", "tkm:decay=0_7"],
        given,
        strict=True,
    ):
        alone = fill(TorchScore(metric, forest), texts, refs, 99).compute()
        assert torch.equal(every[name], alone), name
    with pytest.raises(tm.TensorMTError, match="given twice"):
        collection(["stm", "stm"], forest)


def test_strings_as_references():
    texts = ["a b c d", "a b c"]
    lists, plain, single = (TorchScore("bleu:max_order=2") for _ in range(3))
    lists.update(texts, [["a b d d"], ["a c"]])
    plain.update(texts, ["a b d d", "a c"])
    for text, ref in zip(texts, ["a b d d", ["a c"]], strict=True):
        single.update(text, ref)
    assert torch.equal(lists.compute(), plain.compute())
    assert torch.equal(lists.compute(), single.compute())
    assert lists.compute() > 1  # counts to 100, torchmetrics' own to 1
    assert lists.scale == 100
    with pytest.raises(tm.TensorMTError, match="one reference"):
        plain.update(texts, "a b")


def test_plots():
    import matplotlib

    matplotlib.use("Agg")
    score = TorchScore("bleu:max_order=2")
    score.update(["a b c"], ["a b d"])
    _, axes = score.plot()
    assert axes.get_ylim()[1] >= 100
    _, axes = score.plot([score.compute(), score.compute()])
    assert len(axes.lines) >= 1


def test_clones_share_the_parser_and_nothing_else():
    texts, refs = case()

    class Trees:
        def __call__(self, lines):
            return forest(lines)

        def __deepcopy__(self, memo):
            raise AssertionError("a parser is not to be copied")

    every = collection(["stm", "bleu"], Trees())
    other = every.clone(prefix="test_")
    fill(other, texts, refs, 5)
    assert set(other.compute()) == {"test_stm", "test_bleu"}
    assert not every["stm"].update_called


def test_no_segment_at_all():
    for spec in SPECS:
        score = TorchScore(spec, forest)
        score.update([], [])
        assert score.compute() == 0


# which segments each of two processes gets
SHARES = [[list(range(0, 12, 2)), list(range(1, 12, 2))], [list(range(12)), []]]


def run(rank, folder):
    """One of two processes: its share of the segments, then what it computes, to the last bit."""
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    texts, refs = case()
    found = []
    for shares in SHARES:
        every = collection(SPECS, forest)
        mine = shares[rank]
        fill(every, [texts[k] for k in mine], [refs[k] for k in mine], 4)
        found.append({name: value.item().hex() for name, value in every.compute().items()})
    (folder / f"{rank}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


def other(_, folder):
    run(1, folder)


@pytest.mark.heavy(needs="minutes")
def test_two_processes_equal_one_exactly(tmp_path):
    texts, refs = case()
    alone = fill(collection(SPECS, forest), texts, refs, 4).compute()
    expected = {name: value.item().hex() for name, value in alone.items()}
    child = torch.multiprocessing.spawn(other, (tmp_path,), nprocs=1, join=False)
    run(0, tmp_path)
    assert child.join()
    for rank in range(2):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == [expected] * len(SHARES)


def test_scores_of_a_test_set_score_no_other_text():
    with pytest.raises(tm.TensorMTError, match="COMET has stored scores, which belong to"):
        TorchScore(tm.Scores("COMET", [0.5, 0.7]))
