"""BLEU against sacrebleu, the paper's example, and what must hold of any BLEU."""

from __future__ import annotations

import logging
import random

import pytest
import torch
from ngram_samples import GUNMAN, GUNMAN_REFS
from sacrebleu.metrics import BLEU as Sacre

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.ngram import BLEU
from tensormt.ngram.bleu import bleu
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

WORDS = ["a", "b", "c", "d,", "e.", "The", "the", "1.5", "x-y", "5-6", "«é»", "漢字"]


def corpus(seed: int, size: int, streams: int) -> tuple[list[str], list[list[str | None]]]:
    """Random lines with empty hypotheses and absent references; every segment has one."""
    rng = random.Random(seed)

    def line() -> str:
        return " ".join(rng.choices(WORDS, k=rng.choice([0, 1, 2, 3, 5, 8, 13, 20])))

    hyps = [line() for _ in range(size)]
    refs: list[list[str | None]] = [[line() or None for _ in range(size)] for _ in range(streams)]
    for row in range(size):
        if not any(stream[row] for stream in refs):
            refs[rng.randrange(streams)][row] = "a b c the end."
        elif rng.random() < 0.2:
            # a reference that is the hypothesis: precisions of 1
            refs[rng.randrange(streams)][row] = hyps[row] or "a"
    hyps[0] = " ".join(rng.choices(WORDS, k=300))
    refs[-1][0] = " ".join(rng.choices(WORDS, k=280))
    return hyps, refs


SMOOTHINGS = [
    ("none", None),
    ("floor", None),
    ("floor", 0.02),
    ("add-k", None),
    ("add-k", 2.5),
    ("exp", None),
]


@pytest.mark.parametrize("streams", [1, 2, 3, 4])
@pytest.mark.parametrize(("order", "lowercase"), [(1, False), (4, False), (4, True), (6, True)])
def test_equals_sacrebleu(streams: int, order: int, lowercase: bool) -> None:
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    hyps, refs = corpus(streams, 60, streams)
    hyp = TokenBatch.from_text(hyps, lowercase=lowercase)
    ready = References.from_text(refs, lowercase=lowercase)
    for smooth, value in SMOOTHINGS:
        for effective in (False, True):
            ours = BLEU(order, smooth, effective, value, lowercase=lowercase)
            peer = Sacre(
                smooth_method=smooth,
                smooth_value=value,
                effective_order=effective,
                max_ngram_order=order,
                lowercase=lowercase,
            )
            theirs = [
                peer.sentence_score(line, [stream[i] for stream in refs if stream[i]]).score
                for i, line in enumerate(hyps)
            ]
            torch.testing.assert_close(
                ours(hyp, ready), torch.tensor(theirs, dtype=torch.float64), rtol=0, atol=1e-9
            )
            whole = peer.corpus_score(hyps, refs).score
            assert abs(float(ours.corpus(hyp, ready)) - whole) < 1e-9


def test_the_gunman() -> None:
    """Qin & Specia (2015), section 3: smoothed BLEU 0.3217."""
    hyp = TokenBatch.from_text([GUNMAN])
    refs = [TokenBatch.from_text([ref]) for ref in GUNMAN_REFS]
    assert round(float(BLEU(lowercase=True)(hyp, refs)) / 100, 4) == 0.3217


def test_liu_and_gildea_figure_1() -> None:
    """BLEU prefers «A dog I had» to «I have the dog» for «I had a dog» (their Figure 1)."""
    hyps = TokenBatch.from_text(["I have the dog", "A dog I had"], lowercase=True)
    refs = [TokenBatch.from_text(["I had a dog"] * 2, lowercase=True)]
    first, second = BLEU()(hyps, refs).tolist()
    assert first < second


def test_epsilon() -> None:
    """A precision of zero becomes 10⁻³ (Liu & Gildea 2005, section 3.1)."""
    hyp, refs = TokenBatch.from_text(["a b x"]), [TokenBatch.from_text(["a b c"])]
    score = float(BLEU(max_order=3, smooth="epsilon")(hyp, refs))
    assert abs(score - 100 * (2 / 3 * 1 / 2 * 1e-3) ** (1 / 3)) < 1e-9
    assert float(BLEU(max_order=3, smooth="epsilon", smooth_value=0.5)(hyp, refs)) > score
    # no match at all is 0, whatever the smoothing
    none = [TokenBatch.from_text(["x y z"])]
    for smooth in ("none", "floor", "add-k", "exp", "epsilon"):
        assert float(BLEU(smooth=smooth)(TokenBatch.from_text(["a b c d"]), none)) == 0.0


def test_statistics_add_up() -> None:
    hyps, refs = corpus(7, 40, 3)
    hyp, ready = TokenBatch.from_text(hyps), References.from_text(refs)
    metric = BLEU()
    rows = metric.statistics(hyp, ready)
    assert rows.dtype == torch.int64
    assert rows[:, 0].tolist() == [1] * 40
    pieces = [
        metric.statistics(TokenBatch.from_text(hyps[k : k + 7]), ready.rows(slice(k, k + 7)))
        for k in range(0, 40, 7)
    ]
    assert torch.equal(torch.cat(pieces), rows)
    # one segment at a time, without padding or company
    alone = [
        metric.statistics(
            TokenBatch.from_text([line]), [TokenBatch.from_text([s[i]]) for s in refs]
        )
        for i, line in enumerate(hyps)
    ]
    assert torch.equal(torch.cat(alone), rows)
    documents = metric.documents(hyp, ready, [i % 3 for i in range(40)])
    peer = Sacre()
    for name in range(3):
        part = peer.corpus_score(hyps[name::3], [stream[name::3] for stream in refs]).score
        assert abs(documents[name] - part) < 1e-9


def test_what_must_hold() -> None:
    hyps, refs = corpus(9, 40, 3)
    hyp = TokenBatch.from_text(hyps)
    streams = [TokenBatch.from_text(stream) for stream in refs]
    metric = BLEU()
    assert torch.equal(metric(hyp, streams), metric(hyp, streams[::-1]))
    ones = [TokenBatch.from_text(["x", *["a b c d e f"] * 39])]
    more = metric.statistics(hyp, [*streams, *ones])
    assert bool((more[:, 3:7] >= metric.statistics(hyp, streams)[:, 3:7]).all())
    itself = TokenBatch.from_text(["a b c d e", "v w x y"])
    assert torch.allclose(metric(itself, [itself]), torch.full((2,), 100.0, dtype=torch.float64))
    # ids of a training loop give what their text gives
    merged = TokenBatch.concat([hyp, *streams])
    numbers = [
        TokenBatch.from_ids(part.ids, part.lengths)
        for part in (merged[k * 40 : (k + 1) * 40] for k in range(4))
    ]
    assert torch.equal(metric(numbers[0], numbers[1:]), metric(hyp, streams))


def test_lower_case_is_the_metrics_wish() -> None:
    hyp, refs = (
        TokenBatch.from_text(["The Cat sat Down"]),
        References.from_text([["the cat SAT down"]]),
    )
    assert float(BLEU(lowercase=True)(hyp, refs)) == pytest.approx(100.0)
    assert float(BLEU()(hyp, refs)) == 0.0


def test_counts_stay_exact_past_2_to_the_24() -> None:
    """Sums of int64 statistics; float32 would stop counting at 16,777,216."""
    hyp = TokenBatch.from_text(["a b c d e"])
    row = BLEU().statistics(hyp, [hyp]).sum(0)
    big = row * (2**24 + 1)
    assert big[3].item() == 5 * (2**24 + 1)
    plus = torch.stack([big, row]).sum(0)
    assert plus[0].item() == 2**24 + 2
    assert float(BLEU().score(plus)) == pytest.approx(100.0)


def test_scores_of_sums_of_any_shape() -> None:
    hyps, refs = corpus(3, 30, 2)
    hyp, ready = TokenBatch.from_text(hyps), References.from_text(refs)
    metric = BLEU()
    rows = metric.statistics(hyp, ready)
    weights = torch.randint(0, 3, (5, 30), generator=torch.Generator().manual_seed(1))
    scores = metric.score(weights @ rows)
    for weight, score in zip(weights.tolist(), scores.tolist(), strict=True):
        chosen = [i for i, times in enumerate(weight) for _ in range(times)]
        peer = Sacre().corpus_score(
            [hyps[i] for i in chosen], [[stream[i] for i in chosen] for stream in refs]
        )
        assert abs(score - peer.score) < 1e-9


def test_degenerate_input() -> None:
    refs = [TokenBatch.from_text(["a b c d"])]
    assert float(BLEU()(TokenBatch.from_text([""]), refs)) == 0.0
    assert BLEU()(TokenBatch.from_text([]), [TokenBatch.from_text([])]).shape == (0,)
    assert float(BLEU().corpus(TokenBatch.from_text([]), [TokenBatch.from_text([])])) == 0.0
    one = TokenBatch.from_text(["a"])
    assert float(BLEU()(one, [one])) == pytest.approx(100.0)  # as `sacrebleu -sl`
    assert float(BLEU().corpus(one, [one])) == 0.0  # as `sacrebleu`
    assert float(BLEU(effective_order=False)(one, [one])) == 0.0
    assert float(BLEU(effective_order=True).corpus(one, [one])) == pytest.approx(100.0)
    zero = torch.zeros(2, 4, dtype=torch.int64)
    assert bleu(zero, zero, zero[:, 0], zero[:, 0]).tolist() == [0.0, 0.0]


def test_errors_and_signature() -> None:
    with pytest.raises(TensorMTError, match="smooth is 'plus', expected none, floor"):
        BLEU(smooth="plus")
    with pytest.raises(TensorMTError, match="takes no value"):
        BLEU(smooth="exp", smooth_value=1)
    with pytest.raises(TensorMTError, match="expected a finite number of at least 0"):
        BLEU(smooth="floor", smooth_value=-1)
    with pytest.raises(TensorMTError, match="expected a whole number from 1 to 100"):
        BLEU(max_order=0)
    with pytest.raises(TensorMTError, match="segment 1 has no reference"):
        BLEU()(TokenBatch.from_text(["a"]), [TokenBatch.from_text([""])])
    with pytest.raises(TensorMTError, match="no reference"):
        BLEU()(TokenBatch.from_text(["a"]), [])
    assert BLEU(smooth="floor").signature.startswith(
        "BLEU|order:4|case:mixed|tok:13a|eff:segments|smooth:floor[0.1]|version:"
    )


def test_lower_case_is_that_of_the_text_as_in_sacrebleu():
    """Entities in upper case, and a Σ that looks beyond its token for the end of its word."""
    draw = random.Random(7)
    pieces = [
        "ΑΣ",
        ".",
        "Α",
        "ΟΔΟΣ",
        "&QUOT;",
        "&AMP;LT;",
        "<SKIPPED>",
        "a",
        "B",
        "İ",
        ",",
        "'",
        "-",
    ]
    for count in (3, 400):
        hyps, refs = (
            [
                "".join(draw.choice(pieces) + draw.choice(["", " "]) for _ in range(12))
                for _ in range(count)
            ]
            for _ in range(2)
        )
        for name in ("13a", "none", "intl", "char", "zh"):
            found = tm.score(hyps, [refs], metrics=[f"bleu:lowercase=yes,tokenize={name}"])
            theirs = Sacre(lowercase=True, tokenize=name).corpus_score(hyps, [refs])
            assert next(iter(found.corpus.values())) == pytest.approx(theirs.score, abs=1e-9)
