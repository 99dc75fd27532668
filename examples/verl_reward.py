"""A reward of verl 0.9: the file that its configuration names.

    python -m verl.trainer.main_ppo … \
        reward.custom_reward_function.path=examples/verl_reward.py \
        reward.custom_reward_function.name=compute_score

The rows of the data set have their references, a text or a list of texts, in
`reward_model.ground_truth`. verl awaits `compute_score` for one sample at a time, many at once;
they are scored as batches. Run by itself, the file rewards three samples.
"""

import asyncio

import tensormt as tm
from tensormt.train import TextReward

reward = TextReward(tm.ChrF())
compute_score = reward.verl_async()


async def main() -> None:
    samples = [
        ("the dog sleeps", ["the dog sleeps", "the dog is asleep"]),
        ("the dog sleep", ["the dog sleeps", "the dog is asleep"]),
        ("a cat", "the cat"),
    ]
    rewards = await asyncio.gather(
        *(compute_score("toy", text, refs, {}) for text, refs in samples)
    )
    for (text, _), value in zip(samples, rewards, strict=True):
        print(f"{value:.3f} {text}")


if __name__ == "__main__":
    asyncio.run(main())
