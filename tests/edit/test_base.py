"""What error rates share: the rate of sums, and means of them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import race
from scale.samples import corpus, rows, scores, wanted
from text_samples import similar

import tensormt as tm
from tensormt.registry import make
from tensormt.scale import score_files


def test_rates_of_sums():
    rows = torch.tensor([[1, 2, 4], [1, 0, 2], [2, 2, 6], [0, 0, 0], [1, 3, 0]])
    expected = [0.5, 0.0, 1 / 3, 0.0, 1.0]
    assert tm.WER().score(rows).tolist() == pytest.approx(expected)


def test_mean_takes_one_minus_the_rate():
    """max(0, 1 - x), stated in the signature."""
    metric = tm.Mean([tm.BLEU(1), tm.WER()])
    assert "+1-WER(case:mixed,tok:blanks,ref:best)" in metric.signature
    hyp, ref = tm.TokenBatch.from_texts([["a b", "x y z w q"], ["a c", "u v"]], "none")
    assert metric(hyp, [ref]).tolist() == pytest.approx([0.5, 0.0])
    assert metric.higher_is_better
    found = tm.score(["a b"], [["a c"]], metrics=["bleu:max_order=1,tokenize=none+wer"])
    assert list(found.corpus.values()) == pytest.approx([0.5])
    parts = metric.explain(hyp, [ref]).parts
    assert [part.weight for part in parts] == [1 / 200, -1 / 2]


def test_queen_takes_a_lower_rate_for_more_alike():
    """An output that equals a reference is at least as good as references are to each other."""
    refs = [["a b c d"], ["a b c e"], ["a b f e"]]
    good, bad = (
        tm.score([line], refs, metrics=["queen:wer+bleu"]).corpus["queen:wer+bleu"]
        for line in ("a b c d", "z z z z")
    )
    assert good > bad == 0


def test_files_in_parts_have_the_same_sums(tmp_path):
    """Exact, however the file is cut: integers, and the mean lengths and F of floats."""
    metrics = ["ter", "wer", "cer", "per", "rouge", "rouge:variant=su"]
    some = rows(200)
    report, segments = wanted(tmp_path, some, metrics)
    pq.write_table(pa.Table.from_pylist(some), tmp_path / "one.parquet")
    weight = pq.read_metadata(tmp_path / "one.parquet").row_group(0).total_byte_size
    for number in (1, 3):
        found = score_files(
            [tmp_path / "one.parquet"], tmp_path / str(number), metrics, workers=1,
            shard_bytes=weight // number,
        )  # fmt: skip
        assert corpus(found) == report
        assert scores(found, metrics) == segments


lines = st.one_of(similar, st.text("ab c", max_size=12), st.none())
segments = st.integers(1, 3).flatmap(
    lambda refs: st.lists(
        st.lists(lines, min_size=1 + refs, max_size=1 + refs), min_size=1, max_size=4
    )
)


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("spec", ["wer", "wer:lowercase=yes,tokenize=13a", "cer", "per", "ter"])
@settings(max_examples=60)
@given(rows=segments)
def test_plain_path_equals_engine(spec, rows):
    metric = make(spec)
    streams = [list(column) for column in zip(*rows, strict=True)]
    hyp, *refs = (tm.TokenBatch.from_text(stream, *metric.reads.cut) for stream in streams)
    race(metric, hyp, refs)


def test_text_without_a_token_takes_the_engine():
    hyp, ref = (tm.TokenBatch.from_text([text], "rouge") for text in ("a b", "!"))
    assert tm.WER()._plain_statistics(hyp, [ref]) is None
    assert tm.TER()._plain_statistics(hyp, [ref]) is None
