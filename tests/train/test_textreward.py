"""Rewards of text, a parser in the loop: the metrics' scores, each sentence parsed once."""

import random

import oracles
import pytest
import torch

import tensormt as tm
from tensormt.parser.cache import CachedParser
from tensormt.registry import METRICS, make
from tensormt.train.rewards import mbr
from tensormt.train.textreward import TextReward


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
    if isinstance(metric, (tm.BLEU, tm.NIST, tm.BM)):
        make_batch = tm.TokenBatch.from_text
    else:
        make_batch = lambda lines: tm.TreeBatch.from_brackets([tree(x) for x in lines])  # noqa: E731
    return metric(make_batch([text]), [make_batch([ref]) for ref in refs]).item()


def metric_named(name):
    return make(name, info="segment") if name in ("nist", "nm") else make(name)


@pytest.mark.parametrize("name", METRICS)
def test_samples_get_the_scores_of_the_metric(name):
    metric = metric_named(name)
    texts, refs = case()
    reward = TextReward(metric, CachedParser(Plain()))
    found = reward.samples(texts, refs)
    assert found.shape == (3, 4)
    for row, others, values in zip(texts, refs, found.tolist(), strict=True):
        for text, value in zip(row, values, strict=True):
            assert value == pytest.approx(expected(metric, text, others), abs=1e-12)
    table = reward.utility(texts)
    assert table.shape == (3, 4, 4)
    assert table[1, 2, 3].item() == pytest.approx(expected(metric, texts[1][2], [texts[1][3]]))
    assert mbr(table).shape == (3,)


def test_every_sentence_is_parsed_once():
    parser = Plain()
    reward = TextReward(tm.STM(), CachedParser(parser))
    texts, refs = case()
    reward.samples(texts, refs)
    reward.samples(texts, refs)
    TextReward(tm.TKM(), reward.trees).samples(texts, refs)
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


def test_the_shape_that_grpo_calls():
    reward = TextReward(tm.BLEU(2)).grpo("gold")
    assert reward.__name__ == "bleu_reward"
    found = reward(
        prompts=["x", "y", "z"],
        completions=[
            "a b c",
            [{"role": "user", "content": "?"}, {"role": "assistant", "content": "a b"}],
            [],
        ],
        completion_ids=[[1], [2], []],
        gold=["a b c", ["c d", "a b"], "a"],
        trainer_state=None,
    )
    assert found == pytest.approx([100, 100, 0])
    assert all(isinstance(value, float) for value in found)
    with pytest.raises(tm.TensorMTError, match="'gold'"):
        reward(prompts=["x"], completions=["a"], other=["b"])


def test_empty_text_is_no_trouble():
    reward = TextReward(tm.STM(), CachedParser(Plain()))
    assert reward([], []).shape == (0,)
    assert reward(["", "a dog"], [["a dog"], ["a dog", ""]]).tolist() == [0, 1]
    assert reward.utility([["", "a dog"]]).tolist() == [[[0, 0], [0, 1]]]


def test_errors_say_what_is_wrong():
    with pytest.raises(tm.TensorMTError, match=r"metric\.fit"):
        TextReward(tm.NIST())
    with pytest.raises(tm.TensorMTError, match="name a parser"):
        TextReward(tm.STM())(["a"], [["a"]])
    with pytest.raises(tm.TensorMTError, match="one list of references"):
        TextReward(tm.BLEU())(["a", "b"], [["a"]])
    with pytest.raises(tm.TensorMTError, match="got one string"):
        TextReward(tm.BLEU())(["a"], ["a"])
    with pytest.raises(tm.TensorMTError, match="with one K"):
        TextReward(tm.BLEU()).samples([["a", "b"], ["c"]], [["a"], ["b"]])
