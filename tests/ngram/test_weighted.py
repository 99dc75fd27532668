"""NIST, NM, BM and BMA against nltk, the papers' numbers and slow oracles in plain Python."""

from __future__ import annotations

import math
import random

import ngram_oracle as oracle
import pytest
import torch
from ngram_samples import GUNMAN, GUNMAN_REFS, LETTERS, batch, corpus, read
from nltk.translate.nist_score import corpus_nist

from tensormt.errors import TensorMTError
from tensormt.ngram import BM, BMA, NIST, NM
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.nist import length_penalty
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

CASES = [(1, 12, 1), (2, 10, 2), (3, 8, 4), (4, 1, 3)]
WEIGHTS = [("recurrence", "references"), ("recurrence", "occurrences"), ("zipf", "references")]


def near(score: torch.Tensor, expected: list[float]) -> None:
    torch.testing.assert_close(
        score, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scope", ["testset", "segment"])
@pytest.mark.parametrize("top", [2, 5])
def test_nist_equals_the_oracle(case: tuple[int, int, int], scope: str, top: int) -> None:
    hyps, segments = corpus(*case)
    hyp, refs = read(hyps, segments)
    metric = NIST(max_order=top, info=scope)
    singles = [
        oracle.nist(hyps, segments, top=top, scope=scope, rows=[i]) for i in range(len(hyps))
    ]
    near(metric(hyp, refs), singles)
    near(metric.corpus(hyp, refs), oracle.nist(hyps, segments, top=top, scope=scope))  # type: ignore[arg-type]


def test_nist_equals_nltk_with_one_reference() -> None:
    rng = random.Random(5)
    hyps = [rng.choices(LETTERS, k=rng.randint(5, 20)) for _ in range(50)]
    segments = [[rng.choices(LETTERS, k=rng.randint(5, 20))] for _ in range(50)]
    hyp, refs = read(hyps, segments)
    for top in (1, 3, 5):
        score = float(NIST(max_order=top).corpus(hyp, refs))
        assert abs(score - corpus_nist(segments, hyps, top)) < 1e-12


def test_the_gunman() -> None:
    """Qin & Specia (2015), section 3: NIST 2.8867."""
    hyp = TokenBatch.from_text([GUNMAN])
    refs = [TokenBatch.from_text([ref]) for ref in GUNMAN_REFS]
    for scope in ("testset", "segment"):
        assert round(float(NIST(info=scope)(hyp, refs)), 4) == 2.8867


def test_penalty_of_two_thirds_is_a_half() -> None:
    lengths = torch.tensor([2.0, 3.0, 9.0, 0.0])
    penalty = length_penalty(lengths, torch.full((4,), 3.0))
    near(penalty, [0.5, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("weighting", "recurrence"), WEIGHTS)
@pytest.mark.parametrize("arithmetic", [False, True])
def test_bm_equals_the_oracle(
    case: tuple[int, int, int], weighting: str, recurrence: str, arithmetic: bool
) -> None:
    hyps, segments = corpus(*case)
    hyp, refs = read(hyps, segments)
    for top in (1, 4):
        metric = (BMA if arithmetic else BM)(top, weighting, recurrence)
        options = {
            "top": top,
            "weighting": weighting,
            "recurrence": recurrence,
            "arithmetic": arithmetic,
        }
        singles = [
            oracle.bm(hyps, segments, rows=[i], segment=True, **options)  # type: ignore[arg-type]
            for i in range(len(hyps))
        ]
        near(metric(hyp, refs), singles)
        near(metric.corpus(hyp, refs), oracle.bm(hyps, segments, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("weighting", "recurrence"), WEIGHTS)
@pytest.mark.parametrize("scope", ["testset", "segment"])
def test_nm_equals_the_oracle(
    case: tuple[int, int, int], weighting: str, recurrence: str, scope: str
) -> None:
    hyps, segments = corpus(*case)
    hyp, refs = read(hyps, segments)
    metric = NM(3, scope, weighting, recurrence)
    options = {"top": 3, "scope": scope, "weighting": weighting, "recurrence": recurrence}
    near(
        metric(hyp, refs),
        [oracle.nist(hyps, segments, rows=[i], **options) for i in range(len(hyps))],  # type: ignore[arg-type]
    )
    near(metric.corpus(hyp, refs), oracle.nist(hyps, segments, **options))  # type: ignore[arg-type]


def test_long_segments_take_the_other_path_with_the_same_result() -> None:
    rng = random.Random(8)
    hyps = [rng.choices(LETTERS, k=k) for k in (270, 20, 300)]
    segments = [[rng.choices(LETTERS, k=k), ["a", "b"]] for k in (280, 260, 30)]
    hyp, refs = read(hyps, segments)
    near(NIST()(hyp, refs), [oracle.nist(hyps, segments, rows=[i]) for i in range(3)])
    near(BM()(hyp, refs), [oracle.bm(hyps, segments, rows=[i], segment=True) for i in range(3)])
    zipf = [oracle.nist(hyps, segments, rows=[i], weighting="zipf") for i in range(3)]
    near(NM(weighting="zipf")(hyp, refs), zipf)


def test_the_four_values_of_equation_5() -> None:
    """Qin & Specia (2015), section 4.5: log10(n + M/refno) for bigrams in 2 or 1 of 10 or 4."""
    expected = {(10, 2): 0.3424, (10, 1): 0.3222, (4, 2): 0.3979, (4, 1): 0.3522}
    for (number, held), value in expected.items():
        hyp = batch([["x", "y"]])
        refs = [
            batch([["x", "y", f"z{k}"] if k < held else [f"p{k}", f"q{k}", f"r{k}"]])
            for k in range(number)
        ]
        row = BM(max_order=2).statistics(hyp, refs)[0]
        # statistics: 3 heads, then 2 each of matches, n-grams, weighted matches
        diver = oracle.diver([r.to_tokens()[0] for r in refs], 2)
        assert round(float(row[8]) / diver, 4) == value


def test_pieces_give_what_the_whole_gives(tmp_path: object) -> None:
    hyps, segments = corpus(11, 40, 3)
    hyp, refs = read(hyps, segments)
    pieces = [slice(k, k + 9) for k in range(0, 40, 9)]
    for make in (
        lambda **more: NIST(**more),
        lambda **more: NM(**more),
        lambda **more: NM(weighting="zipf", **more),
        lambda **more: BM(weighting="zipf", **more),
        lambda **more: BMA(weighting="zipf", **more),
    ):
        whole = make().statistics(hyp, refs)
        fitted = make()
        for piece in pieces:
            assert fitted.fit([ref[piece] for ref in refs]) is fitted
        stored = f"{tmp_path}/counts.safetensors"
        fitted.counts.save(stored)
        for metric in (fitted, make(counts=Frequencies.load(stored))):
            parts = [metric.statistics(hyp[p], [ref[p] for ref in refs]) for p in pieces]
            torch.testing.assert_close(torch.cat(parts), whole, rtol=1e-13, atol=0)


def test_frequencies_merge_and_rank() -> None:
    _, segments = corpus(12, 30, 2)
    _, refs = read([["a"]] * 30, segments)
    whole = Frequencies(3).add(refs)
    first = Frequencies(3).add([ref[:10] for ref in refs])
    second = Frequencies(3)
    for k in range(10, 30):
        second.add([ref[k : k + 1] for ref in refs])
    merged = first.merge(second)
    assert merged.words == whole.words == sum(len(r) for own in segments for r in own)
    for ours, theirs in zip(merged.tables, whole.tables, strict=True):
        assert torch.equal(ours[0], theirs[0])
        assert torch.equal(ours[1], theirs[1])
    for top in (1, 2, 3):
        table, _ = oracle.count_all(segments, top)
        frequencies = torch.tensor(sorted({1, 2, 3, *table.values(), 10**6}))
        expected = [oracle.mean_rank(table, f) for f in frequencies.tolist()]
        assert whole.rank(frequencies, top).tolist() == expected
    assert whole.of(1, torch.tensor([1, 2])).tolist() == [0, 0]


def test_what_must_hold() -> None:
    hyps, segments = corpus(13, 20, 3)
    hyp, refs = read(hyps, segments)
    for metric in (NIST(), NM(), BM(), BMA(), BM(weighting="zipf"), NM(weighting="zipf")):
        scores = metric(hyp, refs)
        assert scores.dtype == torch.float64
        assert bool(torch.isfinite(scores).all())
        near(metric(hyp, refs[::-1]), scores.tolist())
        near(metric(hyp, References([*refs, batch([[]] * 20)])), scores.tolist())
        # documents: the score of the sum of their rows
        documents = metric.documents(hyp, refs, ["x", "y"] * 10)
        rows = metric.statistics(hyp, refs)
        near(
            torch.tensor(list(documents.values()), dtype=torch.float64),
            metric.score(torch.stack([rows[::2].sum(0), rows[1::2].sum(0)])).tolist(),
        )
        # the first statistic tells single segments from sums
        assert torch.equal(metric.score(rows), scores)
        ids = [
            TokenBatch.from_ids(part.ids, part.lengths)
            for part in (TokenBatch.concat([hyp, *refs])[k * 20 : (k + 1) * 20] for k in range(4))
        ]
        near(metric(ids[0], ids[1:]), scores.tolist())


def test_degenerate_input() -> None:
    for metric in (NIST(), NM(), BM(), BMA(), BM(weighting="zipf")):
        assert metric(batch([]), [batch([])]).shape == (0,)
        assert metric(batch([[]]), [batch([["a", "b"]])]).tolist() == [0.0]
        assert math.isfinite(float(metric.corpus(batch([["x"], ["a"]]), [batch([["a"], ["a"]])])))
    # shorter than the order in both: the orders without n-grams do not make it 0
    assert float(BM()(batch([["a", "b"]]), [batch([["a", "b"]])])) > 0


def test_errors() -> None:
    text = [TokenBatch.from_text(["a b c"], lowercase=True)]
    with pytest.raises(TensorMTError, match="info is 'all', expected testset or segment"):
        NIST(info="all")
    with pytest.raises(TensorMTError, match=r"weighting is .*, expected recurrence or zipf"):
        BM(weighting="none")
    with pytest.raises(TensorMTError, match=r"recurrence is .*, expected references or"):
        NM(recurrence="twice")
    with pytest.raises(TensorMTError, match="counts go up to order 4, the metric needs 5"):
        NIST(counts=Frequencies(4))
    with pytest.raises(TensorMTError, match="that the counts of the test set lack"):
        NIST().fit([TokenBatch.from_text(["x"], lowercase=True)])(text[0], text)
    with pytest.raises(TensorMTError, match="tokenize=none, lowercase=True meet text"):
        NIST().fit([batch([["x"]])])(text[0], text)
    with pytest.raises(TensorMTError, match="cannot be added"):
        Frequencies(5).merge(Frequencies(4))


def test_a_file_that_is_none_of_ours(tmp_path: object) -> None:
    from safetensors.torch import save_file

    path = f"{tmp_path}/other.safetensors"
    with pytest.raises(TensorMTError, match="cannot be read"):
        Frequencies.load(path)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(TensorMTError, match="contains no n-gram frequencies"):
        Frequencies.load(path)


def test_signatures_name_every_option() -> None:
    assert NIST().signature.startswith("NIST|order:5|case:lc|tok:13a|info:testset|version:")
    assert "|weighting:recurrence|recurrence:references|" in BM().signature
    assert "|info:testset|weighting:zipf|version" in NM(weighting="zipf").signature
