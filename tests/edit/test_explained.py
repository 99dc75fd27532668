"""Edits of alignments, and of shifted hypotheses."""

import random

import tensormt as tm


def test_shifts_say_where_words_stood_and_go():
    """Shifts made one after the other lead to the reference."""
    rng = random.Random(8)
    for _ in range(40):
        ref = [f"w{k}" for k in range(rng.randint(4, 12))]
        hyp = ref[:]
        start = rng.randrange(len(hyp) - 1)
        run = hyp[start : start + 2]
        del hyp[start : start + 2]
        place = rng.randint(0, len(hyp))
        hyp[place:place] = run
        [found] = tm.explain("ter", [" ".join(hyp)], [[" ".join(ref)]])
        assert {edit.kind for edit in found.edits} <= {"shift"}
        assert len(found.edits) <= 1
        for edit in found.edits:
            words = edit.words.split()
            assert hyp[edit.place : edit.place + len(words)] == words
            rest = hyp[: edit.place] + hyp[edit.place + len(words) :]
            before = rest.index(hyp[edit.target]) if edit.target < len(hyp) else len(rest)
            assert rest[:before] + words + rest[before:] == ref


def test_report_and_means_of_error_rates(tmp_path):
    """The page has error rates, alone and in a mean."""
    hyps = {"a": ["the cat sat", "a dog"], "b": ["cat the sat", "dogs"]}
    metrics = ["ter", "wer", "cer", "per", "rouge", "rouge:variant=su", "bleu+wer"]
    path = tm.report(
        hyps, [["the cat sat down", "a dog"]], metrics=metrics, path=tmp_path / "r.html"
    )
    assert path.stat().st_size > 10_000
