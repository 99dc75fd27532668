"""Names of rewards and metrics."""

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
