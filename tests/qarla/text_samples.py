"""A small test set with several references."""

import torch

from tensormt.evaluator import Evaluator
from tensormt.ngram.bleu import BLEU
from tensormt.qarla.from_texts import similarity_tensors_from_segments
from tensormt.segments import Segments

MODELS = [
    [
        "the cat sat on the mat .",
        "a cat was sitting on the mat .",
        "the cat sits on a mat .",
        "there is a cat on the mat .",
    ],
    ["it rained all day .", "the rain fell all day .", "all day it rained ."],
    ["nobody knew .", "no one knew .", "nobody knew it .", "it was not known ."],
]
OUTPUTS = [
    ["cat the mat", "day", "nobody"],
    ["the cat sat on a mat .", "it rained the whole day .", ""],
    ["a dog ran", None, "nobody knew that ."],
]
NAMES = ["rouge1", "vector", "vector-2", "sentence-recall", "bleu"]


def tensors_of(segments, names=NAMES):
    metrics = {"bleu": BLEU(max_order=2)} if "bleu" in names else None
    return similarity_tensors_from_segments(segments, names, metrics and Evaluator(metrics))


def judged_set():
    human = torch.tensor([[1.0, 2.0, 1.0], [4.0, 5.0, 0.0], [2.0, torch.nan, 3.0]])
    outputs = dict(zip(["poor", "good", "odd"], OUTPUTS, strict=True))
    human = {"fluency": human.to(torch.float64).numpy()}
    return Segments.from_rows(outputs, MODELS, documents=["d"] * 3, human=human)


def human_scores():
    return {"fluency": torch.from_numpy(judged_set().human["fluency"])}
