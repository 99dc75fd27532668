"""The examples do what they say, also in short runs."""

import asyncio
import runpy
import sys
from pathlib import Path
from unittest import mock

import pytest

import tensormt as tm

VERL = ["1.000", "0.911", "0.312"]  # sacrebleu.sentence_chrf / 100
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name):
    """What an example defines, run from its folder's modules."""
    with mock.patch.object(sys, "path", [str(EXAMPLES), *sys.path]):
        return runpy.run_path(str(EXAMPLES / name))


@pytest.mark.heavy(needs="minutes")
def test_minimum_risk_beats_likelihood():
    found = run("minimum_risk.py")["train"](warm=250, more=150)
    assert found["minimum risk"] > found["likelihood"] + 10
    assert found["minimum risk"] > found["more likelihood"] + 10


@pytest.mark.heavy(needs="minutes")
@pytest.mark.filterwarnings("ignore")
def test_rewards_are_gamed_and_penalties_keep_a_model_from_it():
    found = run("gamed_reward.py")["run"](steps=100, seed=2)
    precision, f1, structure, penalties, everything = list(found.values())[1:]
    assert precision["reward"] > 0.95
    assert precision["length"] < 0.95 < f1["length"]
    assert precision["chrF"] < f1["chrF"] - 10
    assert structure["reward"] > 0.95
    assert structure["copied"] + structure["offtarget"] > 0.15
    for cured in (penalties, everything):
        assert cured["copied"] + cured["offtarget"] < 0.03
        assert cured["chrF"] > structure["chrF"] + 10


def test_files_of_rewards(capsys):
    verl = run("verl_reward.py")
    asyncio.run(verl["main"]())
    assert [line[:5] for line in capsys.readouterr().out.splitlines()] == VERL
    run("openrlhf_reward.py")["main"]()
    assert capsys.readouterr().out == f"{VERL[0]} {VERL[1]}\n"


@pytest.mark.heavy(needs="train")
def test_grpo_raises_reward_and_score():
    found = run("grpo.py")["run"](seed=1, steps=15, held=50)
    assert found["reward at last"] > found["reward at first"]
    assert found["BLEU after"] > found["BLEU before"]
    assert found["STM after"] > found["STM before"]


@pytest.mark.heavy(needs="train")
@pytest.mark.filterwarnings("ignore")
def test_scores_of_evaluation_loops():
    lightning = run("lightning_scores.py")
    rows = lightning["ROWS"]
    sources, refs = ([row[name] for row in rows] for name in ("source", "reference"))
    names = ["chrf", "stm:balance=f1", "copied", "offtarget"]
    expected = tm.score(sources, [refs], names, sources=sources).corpus
    assert lightning["run"]() == pytest.approx({name: expected[name] for name in names}, rel=1e-6)
    found = run("seq2seq_scores.py")["run"]()
    assert found["eval_chrf"] > 50
    assert found["eval_copied"] == found["eval_offtarget"] == 0


@pytest.mark.heavy(needs="train")
def test_mbr_chooses_what_mbrs_chooses():
    found = run("mbr.py")["run"](segments=4, samples=16, check=4, steps=200)
    assert "MBR: times faster than mbrs" in found  # it was there, and agreed
    assert found["MBR"] > found["the first sample"]
