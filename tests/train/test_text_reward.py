"""Rewards of text, a parser in the loop: the metrics' scores, each sentence parsed once."""

import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracles
import pyarrow as pa
import pytest
import torch

import tensormt as tm
from tensormt.parser.cache import CachedParser
from tensormt.registry import EXTRA, METRICS, make
from tensormt.train.mbr import mbr
from tensormt.train.text_reward import TextReward


class Plain:
    """A parser for tests: every word under an X, a word's first letter as its tag."""

    fingerprint = "plain"

    def __init__(self):
        self.seen = []

    def parse(self, lines, progress=None):
        self.seen += lines
        return tm.TreeBatch.from_brackets([tree(line) for line in lines])


def tree(line):
    words = (line or "").split()
    return f"(S {' '.join(f'(X ({w[0].upper()} {w}))' for w in words)})" if words else ""


def case(seed=0, segments=3, number=4):
    rng = random.Random(seed)

    def line():
        return " ".join(rng.choice(oracles.WORDS[:6]) for _ in range(rng.randint(1, 7)))

    texts = [[line() for _ in range(number)] for _ in range(segments)]
    return texts, [[line() for _ in range(rng.randint(1, 3))] for _ in range(segments)]


def expected(metric, text, refs):
    """The score of one text by the metric itself."""
    if not metric.reads_trees:
        make_batch = lambda lines: tm.TokenBatch.from_text(lines, metric.reads.tokenize)  # noqa: E731
    else:
        make_batch = lambda lines: tm.TreeBatch.from_brackets([tree(x) for x in lines])  # noqa: E731
    return metric(make_batch([text]), [make_batch([ref]) for ref in refs]).item()


def metric_named(name):
    return make(name, info="segment") if name in ("nist", "nm") else make(name)


@pytest.mark.parametrize("name", [name for name in METRICS if name not in (*EXTRA, "copied")])
def test_samples_get_the_scores_of_the_metric(name):
    metric = metric_named(name)
    texts, refs = case()
    reward = TextReward(metric, CachedParser(Plain()))

    def wanted(text, others):
        score = expected(metric, text, others)
        return score if metric.higher_is_better else max(0.0, 1 - score / metric.scale)

    found = reward.samples(texts, refs)
    assert found.shape == (3, 4)
    for row, others, values in zip(texts, refs, found.tolist(), strict=True):
        for text, value in zip(row, values, strict=True):
            assert value == pytest.approx(wanted(text, others), abs=1e-12)
    table = reward.utility(texts)
    assert table.shape == (3, 4, 4)
    assert table[1, 2, 3].item() == pytest.approx(wanted(texts[1][2], [texts[1][3]]))
    assert mbr(table).shape == (3,)


def test_every_sentence_is_parsed_once():
    parser = Plain()
    reward = TextReward(tm.STM(), CachedParser(parser))
    texts, refs = case()
    reward.samples(texts, refs)
    reward.samples(texts, refs)
    TextReward(tm.TKM(), reward.evaluator.trees).samples(texts, refs)
    assert len(parser.seen) == len(set(parser.seen))


def test_ids_are_decoded():
    words = ["a", "dog", "saw", "the", "cat"]
    samples = torch.tensor([[[0, 1, 2], [3, 4, 2]]])
    reward = TextReward(tm.HWCM(), CachedParser(Plain()))

    def decode(rows):
        return [" ".join(words[k] for k in row) for row in rows]

    found = reward.ids(samples, [["a dog saw"]], decode)
    assert torch.equal(found, reward.samples([["a dog saw", "the cat saw"]], [["a dog saw"]]))
    assert found[0, 0] > found[0, 1]


class Tokenizer:
    """A tokenizer as Hugging Face has them: words by number, 0 pads, 1 ends."""

    words = "<pad> </s> a dog saw the cat".split()
    pad_token_id, eos_token_id, all_special_ids = 0, 1, [0, 1]

    def batch_decode(self, rows, skip_special_tokens=False):
        return [" ".join(self.words[k] for k in row) for row in rows]


def test_special_ids_are_no_words():
    samples = torch.tensor([[[0, 2, 3, 4, 1, 0], [5, 6, 1, 0, 0, 0]]])
    reward = TextReward(tm.BLEU(effective_order=True))
    tokenizer = Tokenizer()
    for given in (tokenizer, tokenizer.batch_decode):
        found = reward.ids(samples, [["a dog saw"]], given)
        assert found[0].tolist() == pytest.approx([100, 0])


def test_utility_of_pools():
    texts = [["a b c", "a b", "d e"], ["a", "a b c d", "x"]]
    refs = [["a b c d", ""], ["a b", "x y"]]
    for metric in (tm.BLEU(2, effective_order=True), tm.STM(2, "f1")):
        reward = TextReward(metric, CachedParser(Plain()))
        table = reward.utility(texts, refs)
        assert table.shape == (2, 3, 2)
        for b, row in enumerate(texts):
            for i, text in enumerate(row):
                for j, ref in enumerate(refs[b]):
                    want = expected(metric, text, [ref]) if ref else 0
                    assert table[b, i, j].item() == pytest.approx(want, abs=1e-12)
    with pytest.raises(tm.TensorMTError, match="numbers must be equal"):
        reward.utility(texts, refs[:1])
    with pytest.raises(tm.TensorMTError, match="lists of equal length"):
        reward.utility([["a", "b"], ["c"]])


def test_averaged_references_of_text():
    texts, refs = [["a b c", "d e"]], [["a b c", "A b"]]
    found = TextReward(tm.BLEU(2, lowercase=True)).aggregate(texts, refs)
    # a and b stand in both, c in one of two; a b in both, b c in one: (2.5 / 3 · 1.5 / 2)^½
    assert found[0].tolist() == pytest.approx([100 * (2.5 / 3 * 1.5 / 2) ** 0.5, 0])
    with pytest.raises(tm.TensorMTError, match="does not support averaged references"):
        TextReward(tm.STM(), CachedParser(Plain())).aggregate(texts)


def test_off_the_thread_that_made_it_and_pickled():
    texts, refs = case()
    reward = TextReward(tm.STM(balance="f1"), "default")
    expected = reward.samples(texts, refs)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: reward.samples(texts, refs), range(6)):
            assert torch.equal(found, expected)
    copy = pickle.loads(pickle.dumps(reward))
    assert torch.equal(copy.samples(texts, refs), expected)
    function = pickle.loads(pickle.dumps(reward.grpo()))
    assert function.__name__ == reward.grpo().__name__
    found = function(completions=[row[0] for row in texts], references=refs)
    assert found == pytest.approx(expected[:, 0].tolist())


def test_empty_text_is_no_trouble():
    reward = TextReward(tm.STM(), CachedParser(Plain()))
    assert reward([], []).shape == (0,)
    with pytest.warns(UserWarning, match="reward by STM: all 2 texts of this batch are empty"):
        assert reward(["", " "], [["a"], ["b"]]).tolist() == [0, 0]
    assert reward(["", "a dog"], [["a dog"], ["a dog", ""]]).tolist() == [0, 1]
    assert reward.utility([["", "a dog"]]).tolist() == [[[0, 0], [0, 1]]]


def columns():
    """Texts and references as tables hold them; the references also in two columns."""
    texts = ["a b c d", "e f g h i", "x"]
    refs = [["a b c d"], ["e f", "e f g h j"], ["y", "x"]]
    streams = {"ref1": [row[0] for row in refs], "ref2": [(*row, None)[1] for row in refs]}
    return {"hyp": texts, "refs": refs, **streams}


def check_table(table, columns_of):
    reward = TextReward(tm.BLEU(effective_order=True))
    rows = columns()
    expected = reward(rows["hyp"], rows["refs"])
    assert torch.equal(reward(columns_of("hyp"), columns_of("refs")), expected)
    assert torch.equal(reward("hyp", "refs", data=table), expected)
    assert torch.equal(reward("hyp", ["ref1", "ref2"], data=table), expected)


def test_columns_of_tables():
    table = pa.table(columns())
    check_table(table, table.column)
    check_table(columns(), lambda name: np.array(columns()[name], dtype=object))
    with pytest.raises(tm.TensorMTError, match="no column 'hyps', the table has hyp, refs"):
        TextReward(tm.BLEU())("hyps", "refs", data=table)


@pytest.mark.heavy(needs="pandas")
@pytest.mark.filterwarnings("ignore:1 of 2 hypotheses are missing")
def test_columns_of_polars():
    import polars

    rows = {"h": ["a dog", None], "refs": [["a dog"], ["b", "c"]], "r": ["a dog", "b"]}
    frame = polars.DataFrame({**rows, "s": ["ein Hund", "b"]})
    reward = TextReward("chrf")
    assert reward(frame["h"], frame["refs"]).tolist() == [100, 0]
    assert reward("h", "refs", data=frame).tolist() == [100, 0]
    found = tm.score("h", ["r"], ["chrf", "copied"], data=frame, sources="s")
    assert polars.DataFrame(found.to_frame())["chrf"].to_list() == [100, 0]


@pytest.mark.heavy(needs="pandas")
def test_columns_of_a_data_frame():
    import pandas as pd

    table = pd.DataFrame(columns())
    check_table(table, table.__getitem__)


def test_missing_texts_are_told():
    reward = TextReward(tm.BLEU())
    with pytest.warns(UserWarning, match="1 of 2 hypotheses are missing"):
        assert reward(["a b c d", None], [["a b c d"], ["x"]])[1] == 0


def test_errors_say_what_is_wrong():
    with pytest.raises(tm.TensorMTError, match=r"as fit_on"):
        TextReward(tm.NIST())
    with pytest.raises(tm.TensorMTError, match="name a parser"):
        TextReward(tm.STM())(["a"], [["a"]])
    with pytest.raises(tm.TensorMTError, match="one list of references"):
        TextReward(tm.BLEU())(["a", "b"], [["a"]])
    with pytest.raises(tm.TensorMTError, match="got one string"):
        TextReward(tm.BLEU())(["a"], ["a"])
    with pytest.raises(tm.TensorMTError, match="with one K"):
        TextReward(tm.BLEU()).samples([["a", "b"], ["c"]], [["a"], ["b"]])


def test_a_reward_of_an_error_rate_rises_with_quality():
    """Directly, for TRL, and as a utility of minimum Bayes risk decoding."""
    reward = TextReward(tm.WER())
    refs = [["a b c d"]] * 3
    texts = ["a b c d", "a b x d", "x y z w v u"]
    assert reward(texts, refs).tolist() == [1, 0.75, 0]
    assert reward.grpo()(completions=texts, references=refs) == [1, 0.75, 0]
    samples = [["a b c d", "a b c x", "u v w"]]
    assert int(mbr(reward.utility(samples))) in (0, 1)


def test_sources_of_samples():
    reward = TextReward("copied")
    texts, refs, sources = [["der Hund", "the dog"]], [["the dog"]], ["der Hund"]
    expected = reward(texts[0], refs * 2, sources * 2)
    assert reward.samples(texts, refs, sources)[0].tolist() == expected.tolist() == [0, 1]
    ids = torch.tensor([[[0], [1]]])
    found = reward.ids(ids, refs, lambda rows: [texts[0][row[0]] for row in rows], None, sources)
    assert found[0].tolist() == [0, 1]
    with pytest.raises(tm.TensorMTError, match="1 segments, sources for 2"):
        reward.samples(texts, refs, sources * 2)
    with pytest.raises(tm.TensorMTError, match="sources for 1: pass a list"):
        reward.samples(texts, refs, "a")


def test_scripts_that_the_metric_cannot_cut_are_warned_of_once():
    reward = TextReward("wer")
    with pytest.warns(tm.errors.TensorMTWarning, match="without blanks between words"):
        reward(["今天天气很好。"], [["今天天气真好。"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reward(["今天天气很好。"], [["今天天气真好。"]])
