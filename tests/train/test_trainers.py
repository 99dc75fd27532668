"""Rewards in the shapes of trainers: what they are given and give back, and their names."""

import asyncio
import inspect
import math
import pickle

import numpy as np
import pytest
import torch

import tensormt as tm
from tensormt.train.rewards import Reward
from tensormt.train.text_reward import TextReward


def said(text, role="assistant"):
    return {"role": role, "content": text}


def call(reward, **more):
    return reward(prompts=["x"] * 3, trainer_state=None, log_metric=None, **more)


def test_text_rewards_as_trl_calls_them():
    reward = TextReward(tm.BLEU(2)).grpo("gold")
    completions = ["a b c", [said("?", "user"), said("a b")], "a"]
    gold = ["a b c", ["c d", "a b"], None]
    found = call(reward, completions=completions, completion_ids=[[1], [2], []], gold=gold)
    assert found == [pytest.approx(1), pytest.approx(1), None]
    hundred = TextReward(tm.BLEU(2)).grpo("gold", scale=100)
    assert call(hundred, completions=completions, gold=gold)[0] == pytest.approx(100)
    with pytest.raises(tm.TensorMTError, match="'gold' with references, it has other"):
        call(reward, completions=completions, other=gold)
    assert call(reward, completions=completions, gold=[None] * 3) == [None] * 3


def test_a_metric_without_a_largest_score_stays_as_it_is():
    metric = tm.NIST(info="segment")
    text = TextReward(metric)
    found = call(text.grpo(), completions=["a b c", "a", "b"], references=["a b c", "a", "b"])
    assert found == text(["a b c", "a", "b"], [["a b c"], ["a"], ["b"]]).tolist()
    assert found[0] > 1


def test_the_awaited_twin():
    reward = TextReward(tm.BLEU(2)).grpo()
    twin = pickle.loads(pickle.dumps(reward.asynchronous()))
    assert inspect.iscoroutinefunction(twin.__call__)
    assert twin.__name__ == reward.__name__
    found = asyncio.run(twin(completions=["a b", "a"], references=["a b", None]))
    assert found == [pytest.approx(1), None]


class Tokenizer:
    """Words as their numbers, as a Hugging Face tokenizer gives them."""

    pad_token_id, eos_token_id, bos_token_id, all_special_ids = 0, 1, None, [0, 1]

    def __call__(self, text, add_special_tokens=True):
        ids = [ord(word) for word in text.split()]
        return {"input_ids": ids + [1] * add_special_tokens}


def test_completion_ids_are_scored_without_decoding():
    reward = Reward.from_tokenizer(tm.BLEU(2), Tokenizer()).grpo()
    ids = [[ord(k) for k in "abc"] + [1], [ord("a"), 1, 0, 0], [ord("a")]]
    found = call(reward, completions=["?"] * 3, completion_ids=ids, references=["a b c", "a b", ""])
    # one word has no pair of words: the first order alone counts, and the brevity penalty
    assert found == [pytest.approx(1), pytest.approx(math.exp(-1)), None]
    as_ids = [[97, 98, 99], [[97, 98], [97]], []]
    by_ids = call(reward, completions=["?"] * 3, completion_ids=ids, references=as_ids)
    assert by_ids[0] == pytest.approx(1)
    assert by_ids[2] is None
    with pytest.raises(tm.TensorMTError, match="completion_ids"):
        call(reward, completions=["?"] * 3, references=["a"] * 3)
    with pytest.raises(tm.TensorMTError, match="from_tokenizer"):
        call(Reward(tm.BLEU()).grpo(), completion_ids=ids, references=["a"] * 3)


def test_the_shape_of_verl():
    score = pickle.loads(pickle.dumps(TextReward(tm.BLEU(2)).verl()))
    found = score(
        data_sources=["wmt"] * 3,
        solution_strs=["a b", "a b", "x"],
        ground_truths=["a b", ["c d", "a b"], None],
        extra_infos=[None] * 3,
    )
    assert found == pytest.approx([1, 1, 0])
    one = score(data_source="wmt", solution_str="a b", ground_truth="a b", extra_info=None)
    assert one == pytest.approx(1)
    with pytest.raises(tm.TensorMTError, match="solution_strs"):
        score(["wmt"])


def test_one_string_is_one_sample_for_verl():
    score = TextReward(tm.BLEU(2)).verl()
    # the legacy manager `prime` passes these by position; once the letters were scored
    assert score("toy", "the cat", "the cat", {}) == pytest.approx(1)
    assert score("toy", "the cat", "a dog", {}) == 0
    # a file of Parquet gives the references as an array
    assert score("toy", "a b", np.array(["c d", "a b"], dtype=object)) == pytest.approx(1)
    assert score("toy", "a b", None) == 0
    assert score("toy", "a b", "a b", reward_router_address=None) == pytest.approx(1)
    with pytest.raises(tm.TensorMTError, match="2 completions but references for 1"):
        score(["toy"] * 2, ["a b", "c d"], ["a b"])


def test_the_async_function_of_verl_scores_a_batch():
    calls = []

    class Counted(TextReward):
        def _scores(self, texts, refs, data=None):
            calls.append(len(texts))
            return super()._scores(texts, refs, data)

    score = Counted(tm.BLEU(2)).verl_async(scale=2, wait=0.05)
    assert inspect.iscoroutinefunction(score)
    rows = [("a b", "a b"), ("a b", ["c d", "a b"]), ("x", None), ("the cat", "a dog")]

    async def run():
        return await asyncio.gather(
            *(
                score(data_source="wmt", solution_str=text, ground_truth=own, extra_info={})
                for text, own in rows
            )
        )

    assert asyncio.run(run()) == pytest.approx([2, 2, 0, 0])
    assert calls == [3]  # the row without a reference is not scored
    again = pickle.loads(pickle.dumps(TextReward(tm.BLEU(2)).verl_async()))
    assert asyncio.run(again("wmt", "a b", "a b", {})) == pytest.approx(1)


def test_the_shape_of_openrlhf():
    score = TextReward(tm.BLEU(2)).openrlhf()
    found = score(["Translate: a b", "Translate: c"], ["Translate: "] * 2, ["a b", "a b"])
    assert found["rewards"].tolist() == pytest.approx([1, 0])
    assert torch.equal(found["scores"], found["rewards"])
    assert found["extra_logs"].keys() == {"score"}
    with pytest.raises(tm.TensorMTError, match="2 queries, 1 prompts"):
        score(["a", "b"], ["a"], ["a", "b"])


def test_openrlhf_reads_the_source_in_the_prompt():
    def source(prompt):
        return prompt.removeprefix("Translate: ").removesuffix(" = ")

    prompts = ["Translate: der Hund schläft = "] * 2
    answers, refs = ["the dog sleeps", "der Hund sleeps"], [["the dog sleeps"]] * 2
    score = TextReward("chrf+copied+offtarget").openrlhf(source=source)
    found = score([p + a for p, a in zip(prompts, answers, strict=True)], prompts, refs)
    expected = TextReward("chrf+copied+offtarget")(answers, refs, ["der Hund schläft"] * 2)
    assert found["rewards"].tolist() == pytest.approx(expected.tolist())
    assert TextReward("copied").openrlhf(source=source)(
        [prompts[0] + answers[1]], prompts[:1], refs[:1]
    )["rewards"].tolist() == pytest.approx([1 / 3])  # two of three words are copied
    with pytest.raises(tm.TensorMTError, match="source"):
        TextReward("copied").openrlhf()([prompts[0] + "dog"], prompts[:1], refs[:1])


def test_openrlhf_removes_special_tokens_and_refuses_foreign_prompts():
    query, prompt, label = "Translate: a b c d</s>", "Translate: ", "a b c d"
    for special in (["</s>"], ["</s>", "<pad>"]):
        score = pickle.loads(pickle.dumps(TextReward(tm.BLEU(4)).openrlhf(special)))
        assert score([query], [prompt], [label])["rewards"].tolist() == pytest.approx([1])
    score = TextReward(tm.BLEU(4)).openrlhf()
    with pytest.raises(tm.TensorMTError, match="'</s>', which would be scored"):
        score([query], [prompt], [label])
    with pytest.raises(tm.TensorMTError, match="does not start with its prompt"):
        score(["late: a b c d"], [prompt], [label])
