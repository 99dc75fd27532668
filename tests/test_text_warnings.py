"""Warnings about text that may make scores misleading."""

import unicodedata
import warnings

import pytest

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.segments import Segments

LINE = "The dog ran home and slept"


def warned(hyps, metrics, refs=None):
    """The warnings of a score, as texts."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tm.score(hyps, [refs or [f"{LINE}."] * len(hyps)], metrics)
    return [str(warning.message) for warning in found]


def test_tokenised_output_is_warned_of_once():
    [message] = warned([f"{LINE} ."] * 3, ["bleu", "chrf"])
    assert message.startswith("3 of 3 outputs end in a period with a space before it")
    assert warned([f"{LINE} ."] * 2, ["bleu"]) == []  # too few to say
    assert warned([f"{LINE}."] * 5, ["bleu"]) == []
    assert warned([f"{LINE} ."] * 3, ["bleu:tokenize=none"]) == []


def test_a_hundred_lines_are_enough_in_any_corpus():
    few = [f"{LINE} ."] * 99 + [f"{LINE}."] * 901
    assert warned(few, ["bleu"]) == []
    [message] = warned([*few, f"{LINE} ."], ["bleu"])
    assert message.startswith("100 of 1,001 outputs")


def test_short_output_is_counted_where_a_metric_does_not_see_it():
    hyps = [LINE, "", "dog", None]
    messages = warned(hyps, ["stm", "bleu"], [LINE] * 4)
    assert "3 of 4 outputs are empty or less than half as long" in messages[1]
    assert "stm cannot see" in messages[1]
    assert messages[0].startswith("1 of 4 hypotheses are missing (None or NaN)")
    assert len(warned(hyps, ["stm:balance=f1", "bleu"], [LINE] * 4)) == 1  # the missing one


def test_chunks_are_counted_together():
    segments = Segments({"a": [f"{LINE} ."] * 4}, [[LINE] * 4])
    with pytest.warns(UserWarning, match="4 of 4 outputs end in a period"):
        list(Evaluator(["bleu"]).run(segments, size=1))


def test_normal_forms_that_do_not_match():
    composed = ["café au lait", "déjà vu", "a plain line"]
    decomposed = [unicodedata.normalize("NFD", text) for text in composed]
    [message] = warned(decomposed, ["chrf"], composed)
    assert message.startswith("67% of the outputs are not in Unicode's normal form NFC, but 0%")
    [message] = warned(composed, ["chrf"], decomposed)
    assert message.startswith("67% of the references")
    assert warned(composed, ["chrf"], composed) == []
    assert warned(decomposed, ["chrf"], decomposed) == []
