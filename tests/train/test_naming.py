"""Names of rewards and metrics."""

import pytest
import torch

import tensormt as tm
from tensormt.train.naming import metric_label
from tensormt.train.rewards import Reward
from tensormt.train.text_reward import TextReward


def test_names_tell_rewards_apart():
    class Other:
        fingerprint = "other parser"

        def __call__(self, lines):
            return None

    bleu = TextReward(tm.BLEU())
    stm = TextReward(tm.STM(balance="f1"), "default")
    made = [
        bleu.grpo(),
        bleu.grpo("gold"),
        bleu.grpo(scale=2),
        TextReward(tm.BLEU(2)).grpo(),
        TextReward(tm.BLEU(smooth="add-k")).grpo(),
        Reward(tm.BLEU()).grpo(),
        stm.grpo(),
        TextReward(tm.STM(), "default").grpo(),
        TextReward(tm.STM(balance="f1"), Other()).grpo(),
        TextReward(tm.TKM(decay=0.4), "default").grpo(),
        stm.grpo(name="mine"),
    ]
    names = [reward.__name__ for reward in made]
    assert len(set(names)) == len(names)
    assert names[0] == "bleu_reward"
    assert names[6] == "stm_balance_f1_reward"
    assert names[-1] == "mine"
    assert all(name.isidentifier() for name in names)
    assert metric_label(tm.STM(balance="f1")) == "stm:balance=f1"


def test_rewards_take_the_name_of_a_metric():
    from tensormt.train import Reward, TextReward

    samples, refs = torch.tensor([[[5, 6, 7], [5, 8, 0]]]), torch.tensor([[[5, 6, 7]]])
    one, two = Reward("bleu:max_order=2", pad=0), Reward(tm.BLEU(max_order=2), pad=0)
    assert one(samples, refs).tolist() == two(samples, refs).tolist()
    assert TextReward("chrf")(["a cat"], [["a dog"]]) == TextReward(tm.ChrF())(
        ["a cat"], [["a dog"]]
    )
    for kind in (Reward, TextReward):
        with pytest.raises(tm.TensorMTError, match="no metric named 'blue'"):
            kind("blue")
        with pytest.raises(
            tm.TensorMTError, match="the metric is 5, expected a Metric or its name"
        ):
            kind(5)


def test_lists_and_several_devices_are_refused():
    from tensormt.train import Reward

    reward, ids = Reward("bleu", pad=0), torch.tensor([[[5, 6, 7]]])
    with pytest.raises(tm.TensorMTError, match="hypotheses are list, expected a tensor"):
        reward([[[5, 6, 7]]], ids)
    with pytest.raises(tm.TensorMTError, match="references are list, expected a tensor"):
        reward(ids, [[[5, 6, 7]]])
    with pytest.raises(tm.TensorMTError, match="lengths are list, expected a tensor"):
        reward(ids, ids, [[3]])
    with pytest.raises(tm.TensorMTError, match="on several devices, cpu, meta: move them to one"):
        reward(ids, ids.to("meta"))
