"""Diversity against plain Python with sacrebleu's self-BLEU."""

import math
import random

import pytest
import sacrebleu
import torch

import tensormt as tm
from tensormt.errors import TensorMTError

WORDS = "a the dog cat sat ran away home".split()


def outputs(seed, inputs=5):
    rng = random.Random(seed)

    def line():
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 7)))

    found = [[line() for _ in range(rng.randint(2, 5))] for _ in range(inputs)]
    for own in found:
        own[-1] = rng.choice(own)
    return found


def distinct(own, order):
    grams = []
    for text in own:
        words = text.split()
        grams += [tuple(words[k : k + order]) for k in range(len(words) - order + 1)]
    return len(set(grams)) / len(grams) if grams else math.nan


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_plain_python(seed):
    groups = outputs(seed)
    found = tm.diversity(groups, ["bleu", "ter"], 3, pairs=[5, 1000][seed % 2])
    assert list(found.segments) == [
        "self-bleu", "self-ter", "distinct-1", "distinct-2", "distinct-3", "unique"
    ]  # fmt: skip
    for k, own in enumerate(groups):
        others = [[*own[:i], *own[i + 1 :]] for i in range(len(own))]
        pairs = list(zip(own, others, strict=True))
        bleu = [sacrebleu.sentence_bleu(text, rest).score for text, rest in pairs]
        ter = [sacrebleu.sentence_ter(text, rest).score for text, rest in pairs]
        expected = {"self-bleu": sum(bleu) / len(own), "self-ter": sum(ter) / len(own)}
        expected |= {f"distinct-{n}": distinct(own, n) for n in (1, 2, 3)}
        expected["unique"] = len(set(own)) / len(own)
        for name, value in expected.items():
            assert found.segments[name][k].item() == pytest.approx(value, nan_ok=True), name
    assert found.means["unique"] == pytest.approx(found.segments["unique"].mean().item())
    assert "higher is more diverse: self-ter" in str(found)


@pytest.mark.filterwarnings("ignore:1 of 1 outputs are empty")
def test_self_stm():
    groups = [["The dog ran.", "A cat sat.", "Home"]]
    found = tm.diversity(groups, ["stm"])
    rows = [tm.score([own], [[x] for x in groups[0] if x != own], ["stm"]) for own in groups[0]]
    expected = sum(row.segments["stm"].item() for row in rows) / 3
    assert found.means["self-stm"] == pytest.approx(expected)


def test_blank_outputs():
    found = tm.diversity([["", " "], ["a", ""], ["a", "a"]], ["chrf"])
    assert found.segments["self-chrf"].isnan().tolist() == [True, False, False]
    assert found.segments["self-chrf"][2] == 100
    assert found.segments["distinct-1"][1] == 1
    assert not torch.tensor(list(found.means.values())).isnan()[:2].any()


def test_what_is_wrong_is_said():
    with pytest.raises(TensorMTError, match="segment 2 has 1 outputs: expected at least 2"):
        tm.diversity([["a", "b"], ["a"]], ["bleu"])
    with pytest.raises(TensorMTError, match="NIST needs all references"):
        tm.diversity([["a", "b"]], ["nist"])
    with pytest.raises(TensorMTError, match="max_order"):
        tm.diversity([["a", "b"]], ["bleu"], 0)


def test_a_language_without_blanks():
    """Distinct n-grams are cut as the metrics cut words."""
    lines = ["今天天气很好。", "今天天气真好。"]
    with pytest.warns(UserWarning, match="without blanks between words"):
        assert math.isnan(tm.diversity([lines], ["wer"]).means["distinct-2"])
    found = tm.diversity([lines], ["bleu"], lang="zh").means
    assert found["distinct-1"] == 7 / 14
    assert found["distinct-2"] == 8 / 12
