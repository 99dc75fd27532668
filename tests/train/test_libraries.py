"""With the real libraries: TRL, Hugging Face's trainers, Lightning; tiny models made on the spot.

`pip install -e '.[test-train]'` brings them, .ci/run runs these tests; nothing is downloaded.
"""

import json
import os
import random
import subprocess
import sys

import pytest
import torch

import tensormt as tm
from tensormt.registry import make
from tensormt.train.rewards import Reward
from tensormt.train.text_reward import TextReward

pytestmark = pytest.mark.heavy(needs="train")

WORDS = "the a big small dog cat bird sees loves finds".split()
TEMPLATE = (
    "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}= {% endif %}"
)


def tokenizer_of(words=WORDS):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", "</s>", "<unk>", "=", *words]
    core = Tokenizer(models.WordLevel({name: k for k, name in enumerate(names)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=core, chat_template=TEMPLATE, **special)


def line(rng, least=3, most=6):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


class Seen:
    """A reward that keeps what the trainer gave it and what it gave back."""

    def __init__(self, reward):
        self.reward, self.__name__, self.calls = reward, reward.__name__, []

    def __call__(self, **given):
        found = self.reward(**given)
        self.calls.append((given, found))
        return found


def train(tmp_path, rows, rewards, steps=2, trainer="GRPO", **more):
    """A tiny Llama through one of TRL's trainers; its log."""
    import trl
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM

    if trainer == "OnlineDPO":
        from trl.experimental import online_dpo as trl
    else:
        more = {"num_generations": 4, "max_completion_length": 6, **more}
    torch.manual_seed(0)
    tokenizer = tokenizer_of()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    config = LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, **sizes, **ids)
    settings = getattr(trl, f"{trainer}Config")(
        output_dir=str(tmp_path),
        max_steps=steps,
        per_device_train_batch_size=8,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        **more,
    )
    trainer = getattr(trl, f"{trainer}Trainer")(
        model=LlamaForCausalLM(config),
        args=settings,
        reward_funcs=rewards,
        train_dataset=Dataset.from_dict(rows),
        processing_class=tokenizer,
    )
    trainer.train()
    return tokenizer, [row for row in trainer.state.log_history if "reward" in row]


def test_grpo_with_text_ids_and_an_awaited_reward(tmp_path):
    rng = random.Random(1)
    refs = [[line(rng), line(rng)] for _ in range(15)] + [[]]
    rows = {"prompt": [f"{line(rng)} =" for _ in range(16)], "references": refs}
    tokenizer = tokenizer_of()
    metric = tm.BLEU(2, smooth="add-k", effective_order=True, tokenize="none")
    text = Seen(TextReward(metric).grpo())
    ids = Seen(Reward.from_tokenizer(metric, tokenizer).grpo())
    stm = TextReward(tm.STM(2, "f1"), "default").grpo()
    waits = TextReward(tm.BLEU(1)).grpo().asynchronous()
    _, log = train(tmp_path, rows, [text, ids, stm, waits], steps=4)
    names = {text.__name__, ids.__name__, stm.__name__, waits.__name__}
    assert len(names) == 4
    assert all(f"rewards/{name}/mean" in log[-1] for name in names)
    compared = 0
    for (given, by_text), (_, by_ids) in zip(text.calls, ids.calls, strict=True):
        for row, own, one, other in zip(
            given["completion_ids"], given["references"], by_text, by_ids, strict=True
        ):
            assert (one is None) == (other is None) == (not own)
            words = row[:-1] if row[-1] == 1 else row
            # special ids that a model samples amid words are read differently in text
            if own and all(k > 3 for k in words):
                assert one == pytest.approx(other, abs=1e-9)
                assert 0 <= one <= 1
                compared += 1
    assert compared > 3


def test_grpo_with_conversations(tmp_path):
    rng = random.Random(2)
    prompts = [[{"role": "user", "content": line(rng)}] for _ in range(8)]
    gold = [[{"role": "assistant", "content": line(rng)}] for _ in range(8)]
    reward = Seen(TextReward(tm.BLEU(1)).grpo("gold"))
    train(tmp_path, {"prompt": prompts, "gold": gold}, [reward])
    given, found = reward.calls[0]
    assert given["completions"][0][0]["role"] == "assistant"
    plain = TextReward(tm.BLEU(1))
    texts = [chat[-1]["content"] for chat in given["completions"]]
    refs = [[chat[-1]["content"]] for chat in given["gold"]]
    assert found == pytest.approx((plain(texts, refs) / 100).tolist())


@pytest.mark.parametrize(
    ("trainer", "more"),
    [("GRPO", {}), ("RLOO", {"beta": 0.0}), ("OnlineDPO", {"max_new_tokens": 6, "max_length": 64})],
)
def test_the_trainers_of_trl(tmp_path, trainer, more):
    rng = random.Random(5)
    rows = {
        "prompt": [f"{line(rng)} =" for _ in range(16)],
        "references": [[line(rng), line(rng)] for _ in range(16)],
        "src": [line(rng) for _ in range(16)],
    }
    metrics = ["chrf", "stm:balance=f1", "copied"]
    chrf = Seen(TextReward(make("chrf")).grpo())
    stm = Seen(TextReward(tm.STM(balance="f1"), "default").grpo())
    copied = Seen(TextReward("copied").grpo(source="src"))
    weights = {"reward_weights": [0.4, 0.4, 0.2]}
    _, log = train(tmp_path, rows, [chrf, stm, copied], trainer=trainer, **weights, **more)
    assert log or trainer == "OnlineDPO"  # which logs no mean reward
    assert len(chrf.calls) == len(stm.calls) == len(copied.calls) >= 2
    for reward, name, scale in (
        (chrf, "chrf", 100),
        (stm, "stm:balance=f1", 1),
        (copied, "copied", 1),
    ):
        for given, found in reward.calls:
            texts, refs, src = given["completions"], given["references"], given["src"]
            scores = tm.score(texts, refs, metrics, sources=src, rows=True).segments[name] / scale
            expected = 1 - scores if reward is copied else scores
            assert found == pytest.approx(expected.tolist(), abs=1e-12)


def test_compute_metrics_of_a_seq2seq_trainer(tmp_path):
    import sacrebleu
    from datasets import Dataset
    from transformers import (
        DataCollatorForSeq2Seq,
        Seq2SeqTrainer,
        Seq2SeqTrainingArguments,
        T5Config,
        T5ForConditionalGeneration,
    )

    from tensormt.train.huggingface import compute_metrics

    torch.manual_seed(0)
    rng = random.Random(3)
    tokenizer = tokenizer_of()
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = T5ForConditionalGeneration(config)
    lines = [line(rng) for _ in range(32)]

    def row(text):
        ids = tokenizer(text)["input_ids"] + [1]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids}

    data = Dataset.from_list([row(text) for text in lines])
    settings = Seq2SeqTrainingArguments(
        output_dir=str(tmp_path),
        max_steps=30,
        learning_rate=1e-2,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=5,
        predict_with_generate=True,
        generation_max_length=9,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    compute = compute_metrics(
        tokenizer, ["bleu:tokenize=none", "stm:balance=f1", tm.BLEU(1, tokenize="none")]
    )
    kept = []

    def both(prediction):
        kept.append(prediction)
        return compute(prediction)

    trainer = Seq2SeqTrainer(
        model=model,
        args=settings,
        train_dataset=data,
        eval_dataset=data,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        compute_metrics=both,
        processing_class=tokenizer,
    )
    trainer.train()
    found = trainer.evaluate()
    assert (kept[0].label_ids == -100).any()
    assert (kept[0].predictions[:, 0] == 0).all()  # the decoder's start, the padding id

    def text(ids):
        words = [k for k in ids if k != -100]
        words = words[1:] if words and words[0] == 0 else words
        words = words[: words.index(1)] if 1 in words else words
        return " ".join(WORDS[k - 4] for k in words if k > 3)

    hyps = [text(ids) for ids in kept[0].predictions.tolist()]
    refs = [text(ids) for ids in kept[0].label_ids.tolist()]
    assert refs == lines
    peer = sacrebleu.corpus_bleu(hyps, [refs], tokenize="none", force=True)
    assert found["eval_bleu:tokenize=none"] == pytest.approx(peer.score)
    assert found["eval_stm:balance=f1"] > 0
    assert "eval_bleu:order=1,tok=none" in found
    assert found["eval_length"] > 0
    # several references, and errors that say what is wrong
    more = compute_metrics(tokenizer, ["bleu:tokenize=none"], references=[[h, "x"] for h in hyps])
    assert more(kept[0])["bleu:tokenize=none"] == pytest.approx(
        sacrebleu.corpus_bleu(hyps, [hyps, ["x"] * 32], tokenize="none", force=True).score
    )
    with pytest.raises(tm.TensorMTError, match="predict_with_generate"):
        compute((torch.rand(2, 3, 4).numpy(), kept[0].label_ids[:2]))


def test_a_reward_on_what_models_generate():
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = tokenizer_of()
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=3,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
    )
    model = BartForConditionalGeneration(config).eval()
    ids = torch.tensor([[4, 5, 6, 1], [7, 8, 9, 1]])
    found = model.generate(input_ids=ids, do_sample=True, num_return_sequences=3, max_length=8)
    samples = found.view(2, 3, -1)
    assert (samples[..., 0] == 1).all()  # the decoder starts with the end
    reward = Reward.from_tokenizer(tm.BLEU(1, effective_order=True), tokenizer, model)
    lengths = reward.special.read(samples).lengths
    assert (lengths > 0).any()
    scores = reward(samples, samples[:, :1])
    expected = [100.0 if size else 0.0 for size in lengths[:, 0].tolist()]
    assert scores[:, 0].tolist() == pytest.approx(expected)


LIGHTNING = """
import json, pathlib, torch, lightning
from torch.utils.data import DataLoader
from tensormt.train.torchmetrics_wrapper import TorchScore

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.scores = torch.nn.ModuleList([TorchScore("bleu:max_order=2"), TorchScore("nist")])

    def test_step(self, batch, index):
        for score in self.scores:
            score.update(batch["hyp"], [[ref] for ref in batch["ref"]])

    def on_test_epoch_end(self):
        found = [score.compute() for score in self.scores]
        self.log("bleu", found[0].float(), sync_dist=False)
        place = pathlib.Path(__file__).with_name(f"{self.global_rank}.json")
        place.write_text(json.dumps([score.item() for score in found]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

rows = [{"hyp": h, "ref": r} for h, r in zip(%r, %r)]
trainer = lightning.Trainer(
    accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_progress_bar=False,
    enable_checkpointing=False, use_distributed_sampler=True,
)
trainer.test(Model(), DataLoader(rows, batch_size=3), verbose=False)
"""


def test_lightning_with_two_processes(tmp_path):
    rng = random.Random(4)
    hyps, refs = ([line(rng) for _ in range(12)] for _ in range(2))
    script = tmp_path / "run.py"
    script.write_text(LIGHTNING % (hyps, refs))
    place = os.pathsep.join(filter(None, [str(tmp_path), os.getcwd(), os.getenv("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": place, "OMP_NUM_THREADS": "1"},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    batches = tm.TokenBatch.from_texts([hyps, refs])
    metrics = (tm.BLEU(2), tm.NIST())
    expected = [metric.corpus(batches[0], batches[1:]).item() for metric in metrics]
    for rank in range(2):
        found = json.loads((tmp_path / f"{rank}.json").read_text())
        assert found == pytest.approx(expected, rel=1e-12)


def test_a_data_set_gets_a_column_of_scores_by_map():
    from datasets import Dataset

    texts, refs = ["a dog", "the cat", "x"], [["a dog", "the dog"], ["a cat"], ["y"]]
    rows = Dataset.from_dict({"hyp": texts, "refs": refs})

    def add_scores(batch):
        found = tm.score("hyp", "refs", ["chrf"], data=batch).segments["chrf"]
        return {"chrf": found.tolist()}

    expected = tm.score(texts, refs, ["chrf"], rows=True)
    found = rows.map(add_scores, batched=True, batch_size=2)
    assert list(found["chrf"]) == pytest.approx(expected.segments["chrf"].tolist(), abs=1e-12)
    whole = tm.score("hyp", "refs", ["chrf"], data=rows)
    assert whole.corpus["chrf"] == expected.corpus["chrf"]
