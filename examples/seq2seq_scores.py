"""Corpus scores in the evaluation of Hugging Face's Seq2SeqTrainer; seconds on a CPU.

    pip install -c constraints.txt -e '.[test-train]' && python examples/seq2seq_scores.py

A tiny T5, made here, learns the toy translation of examples/grpo.py for a few steps.
"""

import os
import random
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is fetched

import torch
from datasets import Dataset
from grpo import example, make_tokenizer
from transformers import (
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
)

from tensormt.train.huggingface import compute_metrics

METRICS = ["chrf", "stm:balance=f1", "copied", "offtarget"]


def run(steps: int = 200, seed: int = 1) -> dict[str, float]:
    """What the trainer's evaluation gives."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    tokenizer = make_tokenizer()
    sizes = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 1, "num_heads": 4}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(tokenizer), **sizes, **ids))

    def row(source: str, english: str) -> dict[str, list[int]]:
        coded = [tokenizer(text)["input_ids"] + [1] for text in (source, english)]
        return {"input_ids": coded[0], "attention_mask": [1] * len(coded[0]), "labels": coded[1]}

    pairs = [example(rng) for _ in range(680)]
    train, test = (Dataset.from_list([row(*own) for own in p]) for p in (pairs[40:], pairs[:40]))
    sources = [source for source, _ in pairs[:40]]
    with tempfile.TemporaryDirectory() as folder:
        settings = Seq2SeqTrainingArguments(
            output_dir=folder,
            max_steps=steps,
            learning_rate=1e-2,
            per_device_train_batch_size=32,
            predict_with_generate=True,
            generation_max_length=12,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Seq2SeqTrainer(
            model=model,
            args=settings,
            train_dataset=train,
            eval_dataset=test,
            data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
            compute_metrics=compute_metrics(tokenizer, METRICS, sources=sources),
            processing_class=tokenizer,
        )
        trainer.train()
        return dict(trainer.evaluate())


if __name__ == "__main__":
    print({name: value for name, value in run().items() if name.startswith("eval_")})
