"""A reward of OpenRLHF 0.11: the file that --reward.remote_url names.

    MODEL=path/of/the/model python -m openrlhf.cli.train_ppo_ray … \
        --reward.remote_url examples/openrlhf_reward.py

OpenRLHF passes prompt and answer as one text with special tokens. The tokenizer of the model finds
the prompt again, also one that was truncated, and knows the special tokens. Without MODEL they are
those of the list. Run by itself, the file rewards two answers.
"""

import os

import tensormt as tm
from tensormt.train import TextReward

special: object = ["</s>", "<|im_end|>", "<|endoftext|>"]
if "MODEL" in os.environ:
    from transformers import AutoTokenizer

    special = AutoTokenizer.from_pretrained(os.environ["MODEL"])

reward_func = TextReward(tm.ChrF()).openrlhf(special)


def main() -> None:
    prompt = "Translate: der Hund schläft ="
    queries = [f"{prompt} the dog sleeps</s>", f"{prompt} the dog sleep</s>"]
    found = reward_func(queries, [prompt] * 2, [["the dog sleeps", "the dog is asleep"]] * 2)
    print(" ".join(f"{value:.3f}" for value in found["rewards"].tolist()))


if __name__ == "__main__":
    main()
