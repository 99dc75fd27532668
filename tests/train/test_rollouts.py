"""verl's and OpenRLHF's own code calls the rewards: managers, the reward loop, the executor."""

import asyncio
import inspect

import pytest
import torch

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="rollouts")

WORDS = "the a big small dog cat bird sees loves finds".split()
ANSWERS = ["the dog sees a cat", "a big cat loves the bird", "the bird finds"]
REFS = [["the dog sees a cat"], ["a small cat loves the bird", "a cat loves the bird"], ["a dog"]]
SOURCE = """
import tensormt as tm
from tensormt.train import TextReward

reward = TextReward(tm.BLEU(2, effective_order=True))
compute_score = reward.{kind}()
"""


def tokenizer_of():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", "</s>", "<unk>", "=", "Translate", *WORDS]
    core = Tokenizer(models.WordLevel({name: k for k, name in enumerate(names)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=core, **special)


def expected():
    metric = "bleu:max_order=2,effective_order=true"
    found = tm.score(ANSWERS, REFS, [metric], rows=True).segments[metric]
    return [value / 100 for value in found.tolist()]


def batch(tokenizer):
    """The samples as verl's rollout gives them."""
    import numpy as np
    from verl import DataProto

    rows = [tokenizer(text + " </s>", add_special_tokens=False)["input_ids"] for text in ANSWERS]
    width = max(map(len, rows))
    responses = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    mask = torch.cat([torch.ones(3, 1, dtype=torch.int64), (responses != 0).long()], 1)
    truth = [{"ground_truth": np.array(own, dtype=object)} for own in REFS]
    return DataProto.from_dict(
        tensors={
            "prompts": torch.full((3, 1), 4),
            "responses": responses,
            "attention_mask": mask,
        },
        non_tensors={
            "data_source": np.array(["toy"] * 3, dtype=object),
            "reward_model": np.array(truth, dtype=object),
            "extra_info": np.array([{}, {}, {}], dtype=object),
        },
    )


@pytest.mark.parametrize("kind", ["verl", "verl_async"])
@pytest.mark.parametrize("manager", ["naive", "dapo"])
def test_the_reward_loop_of_verl(tmp_path, kind, manager):
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import load_reward_manager

    path = tmp_path / "reward.py"
    path.write_text(SOURCE.format(kind=kind))
    config = OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {"path": str(path), "name": "compute_score"},
                "reward_manager": {"source": "register", "name": manager},
                "reward_kwargs": {},
            },
        }
    )
    tokenizer = tokenizer_of()

    async def run():
        loaded = load_reward_manager(config, tokenizer)
        assert inspect.iscoroutinefunction(loaded.compute_score) == (kind == "verl_async")
        data = batch(tokenizer)
        # as RewardLoopWorker.compute_score_batch does
        tasks = [asyncio.create_task(loaded.run_single(data[k : k + 1])) for k in range(3)]
        return [found["reward_score"] for found in await asyncio.gather(*tasks)]

    assert asyncio.run(run()) == pytest.approx(expected())


def test_the_legacy_managers_of_verl():
    from verl.workers.reward_manager.batch import BatchRewardManager
    from verl.workers.reward_manager.prime import run_reward_scoring

    from tensormt.train import TextReward

    score = TextReward(tm.BLEU(2, effective_order=True)).verl()
    found = run_reward_scoring(score, ANSWERS, REFS, ["toy"] * 3, num_processes=1)
    assert found == pytest.approx(expected())
    manager = BatchRewardManager(tokenizer_of(), 0, score)
    rewards = manager(batch(tokenizer_of()))
    assert rewards.sum(-1).tolist() == pytest.approx(expected())


class Engine:
    """The part of a vLLM engine that OpenRLHF calls."""

    def __init__(self, ids):
        self.ids = ids

    async def generate(self, prompt_ids, parameters, **more):
        output = type("Output", (), {"token_ids": self.ids, "finish_reason": "stop"})
        output.logprobs = None
        return type("Request", (), {"outputs": [output]})


class Parameters:
    max_tokens, logprobs = 8, None


@pytest.mark.parametrize(
    ("prompt", "length"),
    [
        ("Translate the dog = ", 100),
        ("Translate  the  dog =", 100),  # decoding leaves one blank
        ("Translate the big small dog =", 8 + 3),  # only the last three tokens are kept
    ],
)
def test_the_executor_of_openrlhf(tmp_path, prompt, length):
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    tokenizer = tokenizer_of()
    tokenizer.save_pretrained(tmp_path / "model")
    path = tmp_path / "reward.py"
    path.write_text(
        "import tensormt as tm\n"
        "from transformers import AutoTokenizer\n"
        "from tensormt.train import TextReward\n"
        f"tokenizer = AutoTokenizer.from_pretrained({str(tmp_path / 'model')!r})\n"
        "reward_func = TextReward(tm.BLEU(2, effective_order=True)).openrlhf(tokenizer)\n"
    )
    executor = SingleTurnAgentExecutor(str(path))
    for answer, refs, value in zip(ANSWERS, REFS, expected(), strict=True):
        engine = Engine(tokenizer(answer + " </s>", add_special_tokens=False)["input_ids"])
        found = asyncio.run(executor.execute(prompt, refs, Parameters(), length, tokenizer, engine))
        assert found["reward"].tolist() == pytest.approx([value])
        assert found["scores"].tolist() == pytest.approx([value])


MEAN = "chrf+copied+offtarget"
SOURCES = ["der dog sees", "ein cat loves", "finds"]


def with_sources():
    return tm.score(ANSWERS, REFS, [MEAN], sources=SOURCES, rows=True).segments[MEAN].tolist()


def test_verl_passes_the_source(tmp_path):
    import numpy as np
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import load_reward_manager

    path = tmp_path / "reward.py"
    path.write_text(
        "from tensormt.train import TextReward\n"
        f"compute_score = TextReward({MEAN!r}).verl_async(source='src')\n"
    )
    function = {"path": str(path), "name": "compute_score"}
    manager = {"source": "register", "name": "naive"}
    own = {"custom_reward_function": function, "reward_manager": manager, "reward_kwargs": {}}
    tokenizer = tokenizer_of()
    data = batch(tokenizer)
    infos = [{"src": source} for source in SOURCES]
    data.non_tensor_batch["extra_info"] = np.array(infos, dtype=object)

    async def run():
        loaded = load_reward_manager(OmegaConf.create({"reward": own}), tokenizer)
        tasks = [asyncio.create_task(loaded.run_single(data[k : k + 1])) for k in range(3)]
        return [found["reward_score"] for found in await asyncio.gather(*tasks)]

    assert asyncio.run(run()) == pytest.approx(with_sources())


def test_openrlhf_with_a_source_and_gathered_calls(tmp_path):
    """The form of docs/trainers.md, all samples at once; after an error there is no reward."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    path = tmp_path / "reward.py"
    path.write_text(
        "import torch\n"
        "from tensormt.train import Batcher, TextReward\n"
        "sizes = []\n"
        "def source_of(prompt):\n"
        "    return prompt.removeprefix('Translate ').removesuffix(' =')\n"
        f"score = TextReward({MEAN!r}).openrlhf(['</s>'], source=source_of)\n"
        "def several(queries, prompts, labels):\n"
        "    sizes.append(len(queries))\n"
        "    return score(queries, prompts, labels)['rewards']\n"
        "together = Batcher(several, wait=0.2)\n"
        "def reward_func(queries, prompts, labels):\n"
        "    calls = [together.submit(*row) for row in zip(queries, prompts, labels)]\n"
        "    rewards = torch.tensor([call.result() for call in calls])\n"
        "    return {'rewards': rewards, 'scores': rewards, 'extra_logs': {'score': rewards}}\n"
    )
    executor = SingleTurnAgentExecutor(str(path))
    names = [word for source in SOURCES for word in source.split()]
    tokenizer = tokenizer_of()
    tokenizer.add_tokens([word for word in names if word not in WORDS])

    async def run(prompts):
        return await asyncio.gather(
            *(
                executor.execute(
                    prompt,
                    refs,
                    Parameters(),
                    100,
                    tokenizer,
                    Engine(tokenizer(answer + " </s>", add_special_tokens=False)["input_ids"]),
                )
                for prompt, answer, refs in zip(prompts, ANSWERS, REFS, strict=True)
            )
        )

    found = asyncio.run(run([f"Translate {source} =" for source in SOURCES]))
    assert [one["reward"].item() for one in found] == pytest.approx(with_sources())
    assert executor.reward_func.__globals__["sizes"] == [3]
    unknown = asyncio.run(run([f"Unseen {source} =" for source in SOURCES]))
    assert [one["reward"] for one in unknown] == [None] * 3
