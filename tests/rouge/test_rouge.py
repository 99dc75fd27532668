"""ROUGE against rouge-score, the examples of Lin (2004) and plain definitions."""

import json
import random
import warnings

import pytest
import torch
from edit_oracles import shares, skip_bigrams, weighted
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import race
from rouge_score.rouge_scorer import RougeScorer

import tensormt as tm
from tensormt.command.main import main
from tensormt.errors import TensorMTError
from tensormt.registry import make
from tensormt.text.rouge_tokens import tokenize_rouge
from tensormt.train.text_reward import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore

WORDS = [
    "The",
    "the",
    "cat",
    "cats",
    "running",
    "ran",
    "a,",
    "b.",
    "漢字",
    "***",
    "1.5",
    "it's",
    "K",
]
WORDS += ["x\ny", "\n"]
LINE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
FILLED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join).filter(str.strip)
PEERS = {"1": "rouge1", "2": "rouge2", "3": "rouge3", "l": "rougeL", "lsum": "rougeLsum"}
FIELDS = ["precision", "recall", "fmeasure"]


def statistics(metric, hyps, refs):
    hyp, *streams = tm.TokenBatch.from_texts([hyps, *refs], metric.reads.tokenize)
    return metric.statistics(hyp, streams)


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("variant", PEERS)
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(LINE, FILLED, LINE), min_size=1, max_size=6))
def test_equal_to_rouge_score(variant, stem, rows):
    """Best of the references that are not blank, the first of equal ones."""
    peer = RougeScorer([PEERS[variant]], use_stemmer=stem)
    expected = []
    for hyp, *refs in rows:
        own = [ref for ref in refs if ref.strip()]
        found = peer.score_multi(own, hyp)[PEERS[variant]]
        expected.append([getattr(found, field) for field in FIELDS])
    hyps, *streams = (list(column) for column in zip(*rows, strict=True))
    for times in (1, 40):  # in plain Python, and by bytes
        many = [stream * times for stream in (hyps, *streams)]
        found = statistics(tm.ROUGE(variant, stem=stem), many[0], many[1:])
        assert found[:, 0].tolist() == [1] * len(rows) * times
        for own, other in zip(found[:, 1:4].tolist(), expected * times, strict=True):
            assert own == pytest.approx(other, abs=1e-9)


FUNCTION_WORDS = {"the", "a", "it", "s"}  # those of WORDS


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("variant", PEERS)
@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(LINE, FILLED, LINE), min_size=1, max_size=6))
def test_without_stop_words_equal_to_rouge_score_of_the_other_words(variant, stem, rows):
    def content(text):
        lines = [tokenize_rouge(line) for line in text.split("\n")]
        return "\n".join(" ".join(w for w in own if w not in FUNCTION_WORDS) for own in lines)

    peer = RougeScorer([PEERS[variant]], use_stemmer=stem)
    metric = tm.ROUGE(variant, stem=stem, stop_words=False)
    hyps, *streams = (list(column) for column in zip(*rows, strict=True))
    found = statistics(metric, hyps, streams)[:, 1:4].tolist()
    for (hyp, *refs), own in zip(rows, found, strict=True):
        others = [content(ref) for ref in refs if ref.strip()]
        best = peer.score_multi(others, content(hyp))[PEERS[variant]]
        assert own == pytest.approx([getattr(best, field) for field in FIELDS], abs=1e-9)


@pytest.mark.parametrize("number", [1, 100])
@pytest.mark.parametrize("variant", ["1", "2", "l", "lsum", "w", "s"])
def test_without_stop_words_of_no_word_at_all(variant, number):
    metric = tm.ROUGE(variant, stop_words=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for hyp, refs, score in (("", ["a cat ran"], 0), ("a cat ran", ["a cat ran", None], 1)):
            streams = [[ref] * number for ref in refs]
            found = tm.score([hyp] * number, streams, [metric]).segments["rouge"]
            assert found.tolist() == [score] * number


def test_stop_words_in_signatures_and_ids():
    assert "stopwords" not in tm.ROUGE().signature
    assert "|stopwords:no|" in make("rouge:stop_words=no").signature
    ids = tm.TokenBatch(torch.tensor([1, 2]), torch.tensor([2]), None)
    with pytest.raises(TensorMTError, match="token ids have no stop words"):
        tm.ROUGE(stop_words=False)(ids, [ids])
    spec = "rouge:variant=1,balance=recall,stop_words=no"
    found = tm.score(["the cat", "a", "the"], [["a cat sat", "the", "x"]], [spec])
    assert found.segments[spec].tolist() == [0.5, 0, 0]


def test_text_without_a_token_is_present():
    """As in rouge-score, which keeps a-z and 0-9 alone: Chinese has no tokens, and scores 0."""
    found = tm.score(["漢字", "***", "a"], [["漢字", "***", "***"]], metrics=["rouge:variant=1"])
    assert found.segments["rouge:variant=1"].tolist() == [0, 0, 0]
    spec = "rouge:variant=2,tokenize=char"
    assert tm.score(["我们在北京"], [["我们在北"]], [spec]).corpus[spec] == pytest.approx(6 / 7)


def test_police_of_lin_2004():
    """Sections 3.1 and 5: «police killed the gunman» against three outputs."""
    hyps = ["police kill the gunman", "the gunman kill police", "the gunman police killed"]
    refs = [["police killed the gunman"] * 3]
    found = tm.score(hyps, refs, metrics=["rouge", "rouge:variant=s,max_skip=-1"])
    assert found.segments["rouge"].tolist() == [0.75, 0.5, 0.5]
    pairs = found.segments["rouge:variant=s,max_skip=-1"].tolist()
    assert [round(score, 3) for score in pairs] == [0.5, 0.167, 0.333]


def test_letters_of_lin_2004():
    """Section 4: with f(k) = k², ROUGE-W of Y1 is 0.571, that of Y2 0.286."""
    spec = "rouge:variant=w,weight=2"
    found = tm.score(["a b c d h i k", "a h b k c i d"], [["a b c d e f g"] * 2], metrics=[spec])
    assert [round(score, 3) for score in found.segments[spec].tolist()] == [0.571, 0.286]


def test_union_of_lin_2004():
    """Section 3.2: the union of w1 w2 and w1 w3 w5 in w1 … w5 gives 4/5."""
    spec = "rouge:variant=lsum,balance=recall"
    found = tm.score(["w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"], [["w1 w2 w3 w4 w5"]], metrics=[spec])
    assert found.segments[spec].tolist() == [0.8]
    split = "rouge:variant=lsum,sentences=split"
    text = ["Dogs run. Cats sit."], [["Dogs sit. Cats run."]]
    [one] = tm.score(*text, metrics=[split]).segments[split].tolist()
    text = ["Dogs run.\nCats sit."], [["Dogs sit.\nCats run."]]
    [two] = tm.score(*text, metrics=["rouge:variant=lsum"]).segments.values()
    assert one == two.item() == 1.0  # each word in some sentence


@pytest.mark.parametrize("variant", ["w", "s", "su"])
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.lists(st.sampled_from("abcd"), max_size=9)] * 2), min_size=1),
    skip=st.sampled_from([-1, 0, 1, 4]),
)
def test_definitions(variant, rows, skip):
    rows = [(hyp, ref or ["a"]) for hyp, ref in rows]
    expected = []
    for hyp, ref in rows:
        if variant == "w":
            sizes = len(hyp) ** 1.2, len(ref) ** 1.2
            expected.append(shares(weighted(hyp, ref, 1.2), *sizes, 1 / 1.2))
        else:
            bags = [skip_bigrams(words, skip, variant == "su") for words in (hyp, ref)]
            common = sum((bags[0] & bags[1]).values())
            expected.append(shares(common, *(sum(bag.values()) for bag in bags)))
    hyps, refs = ([" ".join(row[k]) for row in rows] for k in (0, 1))
    found = statistics(tm.ROUGE(variant, max_skip=skip), hyps, [refs])
    for own, other in zip(found[:, 1:4].tolist(), expected, strict=True):
        assert own == pytest.approx(other, abs=1e-12)


def test_average_and_jackknife():
    hyp, refs = "a b c d", ["a b", "a b c x y z", "q"]
    matched, sizes = [2, 3, 0], [2, 6, 1]
    scores = [shares(m, 4, n) for m, n in zip(matched, sizes, strict=True)]
    streams = [[ref] for ref in refs]
    found = statistics(tm.ROUGE("1", references="average"), [hyp], streams)
    assert found[0, 1:4].tolist() == pytest.approx(shares(5, 12, 9))
    found = statistics(tm.ROUGE("1", references="jackknife"), [hyp], streams)
    best = [max(scores[:k] + scores[k + 1 :], key=lambda s: s[2]) for k in range(3)]
    mean = [sum(values) / 3 for values in zip(*best, strict=True)]
    assert found[0, 1:4].tolist() == pytest.approx(mean)
    # a reference alone, and one that is absent
    for several in ("average", "jackknife", "best"):
        one = statistics(tm.ROUGE("1", references=several), [hyp], [[refs[1]], [""]])
        assert one[0, 1:4].tolist() == pytest.approx(scores[1])


@pytest.mark.parametrize("variant", ["1", "2", "l", "lsum", "w", "su"])
def test_batch_equals_segments_one_at_a_time(variant):
    rng = random.Random(7)
    sizes = [[rng.randint(1, 80) for _ in range(40)] for _ in range(3)]
    streams = [[" ".join(rng.choices(WORDS, k=size)) + " z" for size in own] for own in sizes]
    metric = tm.ROUGE(variant)
    whole = statistics(metric, streams[0], streams[1:])
    for k in range(40):
        hyp, *refs = [[stream[k]] for stream in streams]
        own = statistics(metric, hyp, refs)
        assert torch.equal(own[0], whole[k])


def test_corpus_is_the_mean_of_segments():
    found = tm.score(["a b", "c"], [["a b", "d"]], metrics=["rouge"])
    assert found.corpus["rouge"] == 0.5
    assert make("rouge").scale == 1.0


def test_signatures():
    assert tm.ROUGE("l").signature.startswith(
        "ROUGE|variant:l|balance:f1|stem:no|tok:rouge|multi:best"
    )
    assert "skip:any" in tm.ROUGE("su", max_skip=-1).signature
    assert "weight:1.2" in tm.ROUGE("w").signature
    assert "sentences:split" in tm.ROUGE("lsum", sentences="split").signature
    assert not tm.ROUGE("1", "precision").penalizes_short_output
    with pytest.raises(TensorMTError, match="variant is '10'"):
        tm.ROUGE("10")


def test_token_ids():
    hyp = tm.TokenBatch.from_ids(torch.tensor([[5, 6, 7]]), torch.tensor([3]))
    ref = tm.TokenBatch.from_ids(torch.tensor([[5, 7, 8]]), torch.tensor([3]))
    for variant, score in (("1", 2 / 3), ("l", 2 / 3), ("lsum", 2 / 3), ("s", 1 / 3)):
        assert tm.ROUGE(variant)(hyp, [ref]).tolist() == pytest.approx([score])
    with pytest.raises(TensorMTError, match="no stems"):
        tm.ROUGE("1", stem=True)(hyp, [ref])


@pytest.mark.parametrize("variant", ["l", "lsum"])
def test_any_token_ids(variant):
    """Ids below 0 are words as others are, and end no sentence."""

    def ids(*words):
        return tm.TokenBatch.from_ids(torch.tensor([words]), torch.tensor([len(words)]))

    for own, other, score in (
        (ids(-1), ids(-1), 1),
        (ids(5, 6), ids(5, -1, 6), 0.8),
        (ids(-2, 3), ids(-2, 4), 0.5),
        (ids(2**31), ids(2**31), 1),
    ):
        assert tm.ROUGE(variant)(own, [other]).tolist() == [pytest.approx(score)]


def test_rewards_and_torchmetrics():
    reward = TextReward(tm.ROUGE("1")).grpo()
    assert reward(completions=["a b", ""], references=[["a b"], ["a"]]) == [1.0, 0.0]
    metric = TorchScore(tm.ROUGE("1"))
    metric.update(["a b"], [["a c"]])
    assert metric.compute().item() == 0.5


def test_command(tmp_path, capsys):
    (tmp_path / "hyp").write_text("police kill the gunman\n")
    (tmp_path / "ref").write_text("police killed the gunman\n")
    files = [str(tmp_path / "ref"), "-i", str(tmp_path / "hyp")]
    assert main(["score", *files, "-m", "rouge:variant=l", "-f", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert next(iter(printed["systems"].values()))["rouge:variant=l"]["score"] == 0.75
    assert main(["explain", *files, "-m", "rouge:variant=s", "rouge"]) == 0
    assert "police … gunman" in capsys.readouterr().out


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("references", ["best", "average", "jackknife"])
@pytest.mark.parametrize(
    "spec", ["1", "2", "9", "l", "l,stem=yes", "2,tokenize=13a", "l,tokenize=char"]
)
@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(LINE, FILLED, LINE, LINE), min_size=1, max_size=4))
def test_plain_path_equals_engine(spec, references, rows):
    metric = make(f"rouge:references={references},variant={spec}")
    streams = [list(column) for column in zip(*rows, strict=True)]
    hyp, *refs = (tm.TokenBatch.from_text(stream, *metric.reads.cut) for stream in streams)
    race(metric, hyp, refs)


def test_variants_without_a_plain_path_take_the_engine():
    for spec in ("lsum", "w", "s", "su", "l,stop_words=no"):
        assert not make(f"rouge:variant={spec}").has_plain_path


def test_the_order_of_ngrams_may_be_a_number():
    assert tm.ROUGE(2).signature == tm.ROUGE("2").signature
    for wrong in (0, 10, True, 1.0):
        with pytest.raises(tm.TensorMTError, match="variant"):
            tm.ROUGE(wrong)
