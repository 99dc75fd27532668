"""chrF and chrF++ against sacrebleu: segments, corpora, options, references, odd characters."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.ngram import chrf_engine
from tensormt.ngram.references import References
from tensormt.train.functional import scores

OPTIONS = [
    {},
    {"word_order": 2},
    {"char_order": 3, "beta": 1},
    {"lowercase": True, "word_order": 1},
    {"whitespace": True, "word_order": 2},
    {"eps_smoothing": True},
    {"whitespace": True, "lowercase": True, "eps_smoothing": True, "char_order": 9},
]
LETTERS = "aab  bc d.,!(Éé漢字ΣσİI𝒜😀\u2003\t"
TEXT = st.text(LETTERS, max_size=40)


def spec(options):
    return ":".join(filter(None, ["chrf", ",".join(f"{k}={v}" for k, v in options.items())]))


def peer(options, hyps, refs):
    """Segment and corpus scores of sacrebleu, blank references left out."""
    metric = CHRF(**options)
    own = [[ref for ref in row if ref and ref.strip()] for row in zip(*refs, strict=True)]
    segments = [metric.sentence_score(h, r).score for h, r in zip(hyps, own, strict=True)]
    rows = [
        metric._compute_segment_statistics(
            metric._preprocess_segment(h),
            metric._extract_reference_info([metric._preprocess_segment(ref) for ref in r]),
        )
        for h, r in zip(hyps, own, strict=True)
    ]
    return segments, metric._aggregate_and_compute(rows).score


@pytest.mark.parametrize("options", OPTIONS, ids=spec)
@given(rows=st.lists(st.tuples(TEXT, TEXT.filter(str.strip), TEXT), min_size=1, max_size=6))
def test_equal_to_sacrebleu(options, rows):
    hyps, one, two = (list(column) for column in zip(*rows, strict=True))
    refs = [one, [ref if ref.strip() else None for ref in two]]
    found = tm.score(hyps, refs, metrics=[spec(options)])
    segments, corpus = peer(options, hyps, refs)
    assert found.segments[spec(options)].tolist() == pytest.approx(segments, abs=1e-9)
    assert found.corpus[spec(options)] == pytest.approx(corpus, abs=1e-9)


def test_many_kinds_of_characters():
    """More than fit one key six at a time: Chinese."""
    text = "".join(chr(0x4E00 + 7 * k) for k in range(2000))
    hyps = [text[30 * k : 30 * k + 40] for k in range(60)]
    refs = [[line[5:25] + line[:9] for line in hyps]]
    found = tm.score(hyps, refs, metrics=["chrf"])
    segments, corpus = peer({}, hyps, refs)
    assert found.segments["chrf"].tolist() == pytest.approx(segments, abs=1e-9)
    assert found.corpus["chrf"] == pytest.approx(corpus, abs=1e-9)


def test_batches_prepared_references_and_documents():
    metric = tm.ChrF()
    hyp = tm.TokenBatch.from_text(["the dog ran", "a cat"], "none")
    refs = [tm.TokenBatch.from_text(["a dog ran away", "the cat"], "none")]
    assert torch.equal(metric(hyp, refs), metric(hyp, References(refs)))
    assert metric.documents(hyp, refs, ["x", "y"])["x"] == pytest.approx(
        float(metric(hyp, refs)[0])
    )
    assert metric.corpus(hyp[:0], [refs[0][:0]]) == 0
    assert metric.signature.startswith("chrF|chars:6|words:0|beta:2|space:no|case:mixed|eps:no|")


def test_token_ids_are_characters():
    texts = ["thedogran", "acat", "x"]
    refs = [["adogran", "thecat"], ["acatsat", ""], ["yz", "z"]]

    def ids(rows, width):
        return torch.tensor([[ord(c) for c in row] + [0] * (width - len(row)) for row in rows])

    found = scores(tm.ChrF(), ids(texts, 9), torch.stack([ids(r, 8) for r in refs]), pad=0)
    expected, _ = peer({}, texts, [list(column) for column in zip(*refs, strict=True)])
    assert found.tolist() == pytest.approx(expected, abs=1e-9)
    with pytest.raises(tm.TensorMTError, match="token ids have none"):
        scores(tm.ChrF(word_order=2), ids(texts, 9), torch.stack([ids(r, 8) for r in refs]), pad=0)


@pytest.mark.parametrize("bad", [{"word_order": -1}, {"beta": float("nan")}, {"char_order": 0}])
def test_bad_options(bad):
    with pytest.raises(tm.TensorMTError, match=next(iter(bad))):
        tm.ChrF(**bad)


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("odd", [[], [40_000], [0, 1, 9_000, 200_000]])
def test_a_part_is_no_wider_than_its_segments_are_long(odd):
    """One long line among many short ones does not make all rows long."""
    sizes = [*odd, *(k % 60 for k in range(5000))]
    lengths = torch.tensor([sizes, [size // 2 for size in sizes], [3] * len(sizes)])
    parts = [rows for rows, _ in chrf_engine._parts(lengths)]
    assert sorted(torch.cat(parts).tolist()) == list(range(len(sizes)))
    for rows in parts:
        cells = sum(len(rows) * int(side[rows].max()) for side in lengths)
        assert len(rows) == 1 or cells <= chrf_engine._SYMBOLS
    assert len(parts) < 20


def test_nothing_is_cut_into_parts():
    assert list(chrf_engine._parts(torch.zeros(2, 0, dtype=torch.int64))) == []


def test_long_words_and_lines_among_short_ones():
    hyps = ["ab cd"] * 300
    hyps[7], hyps[9] = "x" * 30_000, "la " * 9_000
    refs = ["ab ce"] * 300
    refs[9] = "la la"
    for name, options in (("chrf", {}), ("chrf:word_order=2", {"word_order": 2})):
        found = tm.score(hyps, [refs], [name]).segments[name].tolist()
        peer = CHRF(**options)
        assert found == pytest.approx(
            [peer.sentence_score(h, [r]).score for h, r in zip(hyps, refs, strict=True)], abs=1e-9
        )


def test_batches_that_do_not_fit():
    text = tm.TokenBatch.from_text(["ab cd"], "char")
    ids = tm.TokenBatch.from_ids(torch.tensor([[1, 2]]), torch.tensor([2]))
    for one, other in ((text, ids), (ids, text)):
        with pytest.raises(TensorMTError, match="a batch made from text meets one made from ids"):
            tm.ChrF().statistics(one, [other])
    for batch in (text, ids):
        with pytest.raises(
            TensorMTError, match=r"chrF\+\+ counts words, and the batch holds single"
        ):
            tm.ChrF(word_order=2)(batch, [batch])
    with pytest.raises(TensorMTError, match="read without white space, the metric has whitespace="):
        tm.ChrF(whitespace=True)(text, [text])
    spaced = tm.TokenBatch.from_text(["ab cd"], "letters")
    with pytest.raises(TensorMTError, match="read with white space, the metric has whitespace=Fal"):
        tm.ChrF()(spaced, [spaced])


def test_many_references_are_compared_in_groups():
    rng = random.Random(5)
    lines = [
        ["".join(rng.choices("abcd ", k=rng.randrange(1, 30))) for _ in range(3)] for _ in range(21)
    ]
    hyp, *refs = tm.TokenBatch.from_texts(
        [["a" + line for line in stream] for stream in lines], "char"
    )
    metric = tm.ChrF()
    found = metric.statistics(hyp, refs, batched=True)
    single = torch.stack([metric.statistics(hyp, [ref], batched=True) for ref in refs])
    best = metric.score(single, segment=True).argmax(0)
    assert best.max() >= 16
    assert torch.equal(found, single[best, torch.arange(3)])
