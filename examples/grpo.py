"""GRPO with TRL and a blended reward, BLEU and STM, on a toy translation; minutes on a CPU.

    pip install -c constraints.txt -e '.[test-train]' && python examples/grpo.py [--seeds 3]

The source language has its own words and puts the verb last: `la kato lo hundo vidas` is `the cat
sees a dog`. A tiny model, made here, first learns by likelihood from examples of which most have
their words shuffled, so that what it samples is right in words and often wrong in order. Then TRL's
GRPOTrainer improves it with two rewards on 0–1: BLEU, and STM, which parses every sample. Sources
that were never seen are translated greedily before and after.
"""

import argparse
import os
import random
import tempfile
import time
import warnings
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is fetched
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch
import transformers
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

import tensormt as tm
from tensormt.train import TextReward
from tensormt.train.special_tokens import decode_texts

DETERMINERS = {"la": "the", "lo": "a", "mia": "my", "via": "your"}
NOUNS = {"kato": "cat", "hundo": "dog", "birdo": "bird", "knabo": "boy", "muso": "mouse"}
ADJECTIVES = {"granda": "big", "eta": "small", "nova": "new"}
VERBS = {"vidas": "sees", "amas": "loves", "portas": "carries", "trovas": "finds"}
WORDS = DETERMINERS | NOUNS | ADJECTIVES | VERBS


def example(rng: random.Random) -> tuple[str, str]:
    """A source and its translation."""

    def phrase() -> list[str]:
        adjective = [rng.choice(list(ADJECTIVES))] if rng.random() < 0.5 else []
        return [rng.choice(list(DETERMINERS)), *adjective, rng.choice(list(NOUNS))]

    subject, object_, verb = phrase(), phrase(), rng.choice(list(VERBS))
    english = " ".join(WORDS[word] for word in [*subject, verb, *object_])
    return " ".join([*subject, *object_, verb]), english


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Words by number; `=` asks for the translation."""
    special = ["<pad>", "</s>", "<unk>", "="]
    names = [*special, *WORDS, *WORDS.values()]
    core = Tokenizer(models.WordLevel({name: k for k, name in enumerate(names)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def make_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A Llama of two small layers."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )


def warm_up(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, rng: random.Random, steps: int
) -> None:
    """Likelihood on examples of which most have their words shuffled."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        texts = []
        for _ in range(64):
            source, english = example(rng)
            words = english.split()
            if rng.random() < 0.7:
                rng.shuffle(words)
            texts.append(f"{source} = {' '.join(words)} </s>")
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
        loss = model(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels
        ).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def translate(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, sources: list[str]
) -> list[str]:
    """Greedy translations."""
    model.eval()
    tokenizer.padding_side = "left"
    batch = tokenizer([f"{source} =" for source in sources], return_tensors="pt", padding=True)
    found = model.generate(
        input_ids=batch.input_ids,
        attention_mask=batch.attention_mask,
        max_new_tokens=12,
        do_sample=False,
    )
    return decode_texts(found[:, batch.input_ids.shape[1] :], tokenizer, model)


class Timed:
    """A reward that counts its processor time."""

    def __init__(self, reward: Any) -> None:
        self.reward, self.__name__, self.seconds = reward, reward.__name__, 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> list[float | None]:
        """Compute the rewards."""
        begin = time.process_time()
        found: list[float | None] = self.reward(*args, **kwargs)
        self.seconds += time.process_time() - begin
        return found


def run(seed: int, steps: int = 30, warm: int = 200, held: int = 100) -> dict[str, float]:
    """The mean reward of the first and the last steps, held-out scores, and what rewards cost."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    test = [example(rng) for _ in range(held)]
    unseen = {source for source, _ in test}
    train = [pair for pair in (example(rng) for _ in range(steps * 8)) if pair[0] not in unseen]
    warm_up(model, tokenizer, rng, warm)

    bleu = TextReward(tm.BLEU(smooth="add-k"))
    stm = TextReward(tm.STM(balance="f1"), parser="default")
    # the held-out score is of all texts together, not the mean of rewards
    sources, refs = [s for s, _ in test], [[english for _, english in test]]

    def score(when: str) -> dict[str, float]:
        hyps = translate(model, tokenizer, sources)
        result = tm.score(hyps, refs, metrics=["bleu", "stm:balance=f1"])
        return {
            f"BLEU {when}": result.corpus["bleu"],
            f"STM {when}": result.corpus["stm:balance=f1"],
        }

    found = score("before")
    rewards = [Timed(bleu.grpo()), Timed(stm.grpo())]
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=12,
            learning_rate=1e-3,
            lr_scheduler_type="constant",
            reward_weights=[0.7, 0.3],
            beta=0.0,
            temperature=1.0,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            seed=seed,
        )
        rows = {"prompt": [f"{s} =" for s, _ in train], "references": [e for _, e in train]}
        trainer = GRPOTrainer(
            model=model,
            args=settings,
            reward_funcs=rewards,
            train_dataset=Dataset.from_dict(rows),
            processing_class=tokenizer,
        )
        trainer.remove_callback(transformers.PrinterCallback)
        begin = time.process_time()
        trainer.train()
        spent = time.process_time() - begin
    for name, reward in zip(("BLEU", "STM"), rewards, strict=True):
        found[f"share of {name} in the time of a step"] = reward.seconds / spent
    logged = [row["reward"] for row in trainer.state.log_history if "reward" in row]
    part = max(len(logged) // 5, 1)
    found["reward at first"] = sum(logged[:part]) / part
    found["reward at last"] = sum(logged[-part:]) / part
    return found | score("after")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    begin = time.perf_counter()
    for seed in range(1, options.seeds + 1):
        found = run(seed)
        print(f"seed {seed}: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
    print(f"{time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
