"""BERTScore from text: with a tiny encoder, in all commands; with MiniLM, against bert-score."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from vector_samples import make_encoder

import tensormt as tm
from tensormt.command.main import main
from tensormt.errors import TensorMTError
from tensormt.registry import make
from tensormt.scale import score_files
from tensormt.train.text_reward import TextReward
from tensormt.train.torchmetrics_wrapper import TorchScore

HYPS = ["the cat sat on the mat .", "cats ran , the dog", "", "a new house ."]
REFS = [
    ["the cats sat on a mat .", "a dog ran .", "the house .", "a house ."],
    ["a cat sat .", "", "", "the new house ."],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("transformers", reason="the extra encoder is not installed")
    return str(make_encoder(tmp_path_factory.mktemp("tiny")))


def files(path):
    for name, lines in zip(("hyp", "ref", "other"), (HYPS, *REFS), strict=True):
        (path / name).write_text("".join(line + "\n" for line in lines))
    return [str(path / "ref"), str(path / "other"), "-i", str(path / "hyp")]


def test_settings_and_statistics(folder):
    metric = tm.BERTScore(folder, layer=2, units="words", matching="one_to_one", threshold=0.25)
    assert "|layer:2|units:words|matching:one_to_one|threshold:0.25|" in metric.signature
    hyp, *refs = (metric.reads.encode(lines) for lines in (HYPS, *REFS))
    rows = metric.statistics(hyp, refs)
    assert rows.shape == (4, metric.width)
    assert torch.equal(metric(hyp, refs), rows[:, 3])
    assert metric(hyp, refs)[2] == 0
    assert metric.corpus(hyp, refs).item() == pytest.approx(rows[:, 3].mean().item())
    for column, balance in enumerate(("precision", "recall", "f1"), 1):
        own = tm.BERTScore(folder, 2, "one_to_one", "words", balance, threshold=0.25)
        assert torch.equal(own(hyp, refs), rows[:, column])
        assert own.penalizes_short_output == (balance != "precision")
    none = metric.reads.empty()
    assert metric.statistics(none, [none]).shape == (0, 4)


def test_vectors_are_made_once_for_all_metrics_and_systems(folder, monkeypatch):
    from tensormt.vectors.encoder import Encoder

    seen, encode = [], Encoder.encode

    def counting(self, texts, *more):
        seen.extend(texts)
        return encode(self, texts, *more)

    monkeypatch.setattr(Encoder, "encode", counting)
    specs = [
        f"bertscore:encoder={folder}{more}" for more in ("", ",units=words", ",balance=recall")
    ]
    tm.score(HYPS, REFS, specs)
    assert sorted(seen) == sorted({"", *HYPS, *REFS[0], *REFS[1]})


def test_all_commands(folder, tmp_path, capsys):
    metric, paths = f"bertscore:encoder={folder},units=words", files(tmp_path)
    expected = tm.score(HYPS, REFS, [metric])
    assert main(["score", *paths, "-m", metric, "-q", "-f", "json"]) == 0
    own = json.loads(capsys.readouterr().out)["systems"]["hyp"][metric]
    assert own["score"] == pytest.approx(expected.corpus[metric], abs=1e-6)
    assert own["signature"] == expected.signatures[metric]
    assert main(["explain", *paths, "-m", metric, "-q"]) == 0
    assert "cat ~ " in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", *paths, "-m", metric, "bleu", "-o", str(page), "-q"]) == 0
    assert page.stat().st_size
    capsys.readouterr()
    assert main(["compare", *paths, str(tmp_path / "other"), "-m", metric, "-q"]) == 0


def test_files_rewards_torchmetrics_and_means(folder, tmp_path):
    spec = f"bertscore:encoder={folder}"
    expected = tm.score(HYPS, REFS, [spec])
    rows = [
        {"hyp": hyp, "refs": [ref for ref in refs if ref]}
        for hyp, *refs in zip(HYPS, *REFS, strict=True)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths, columns = [str(tmp_path / "in.jsonl")], {"hyp": "hyp", "refs": ["refs"]}
    found = score_files(paths, str(tmp_path / "out"), [spec], workers=1, **columns)
    assert found.corpus[spec] == pytest.approx(expected.corpus[spec], abs=1e-6)
    refs = [row["refs"] for row in rows]
    reward = TextReward(make(spec))(HYPS, refs)
    assert torch.allclose(reward, torch.as_tensor(expected.segments[spec]), atol=1e-6)
    state = TorchScore(make(spec))
    state.update(HYPS, refs)
    assert float(state.compute()) == pytest.approx(expected.corpus[spec], abs=1e-6)
    both = tm.score(HYPS, REFS, [f"{spec}+chrf", "chrf"])
    mean = (expected.corpus[spec] + both.corpus["chrf"] / 100) / 2
    assert both.corpus[f"{spec}+chrf"] == pytest.approx(mean, abs=1e-6)


def test_idf_counts_all_references_in_parts_too(folder, tmp_path):
    spec = f"bertscore:encoder={folder},idf=yes"
    evaluator = tm.evaluator.Evaluator([spec, f"{spec}+chrf"])
    segments = tm.segments.Segments({"a": HYPS}, REFS)
    fitted = evaluator.fit(segments)
    whole, parts = (
        np.concatenate([found.segments(spec)[0] for _, found in fitted.run(segments, size)])
        for size in (10, 1)
    )
    assert np.allclose(whole, parts, atol=1e-6)
    assert whole.tolist() == pytest.approx(tm.score(HYPS, REFS, [spec]).segments[spec], abs=1e-6)
    for refused in (TorchScore, TextReward):
        with pytest.raises(TensorMTError, match="references"):
            refused(make(spec))


def test_counting_needs_no_vectors(folder, monkeypatch):
    from tensormt.vectors.encoder import Encoder

    spec = f"blend-context:encoder={folder}"
    expected = tm.score(HYPS, REFS, [spec], parser=Chain(str.split)).segments[spec]
    forward, encoded = Encoder._forward, []

    def counted(self, ids, mask):
        encoded.append(int(mask.any(1).sum()))
        return forward(self, ids, mask)

    monkeypatch.setattr(Encoder, "_forward", counted)
    found = tm.score(HYPS, REFS, [spec], parser=Chain(str.split)).segments[spec]
    different = {text for stream in [HYPS, *REFS] for text in stream if text}
    assert sum(encoded) == len(different)  # each text once
    assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected))


@pytest.mark.parametrize("units", ["pieces", "pairs"])
def test_idf_counts_the_references_of_all_files(folder, tmp_path, units):
    spec = f"bertscore:encoder={folder},idf=yes,units={units},matching=one_to_one"
    hyps, refs = HYPS * 3, [stream * 3 for stream in REFS]
    refs[0][7] = "a cat and a dog"  # the files are not alike
    paths = []
    for number in range(3):
        part = slice(number * len(HYPS), (number + 1) * len(HYPS))
        rows = zip(hyps[part], *(stream[part] for stream in refs), strict=True)
        lines = [json.dumps({"hyp": hyp, "refs": [ref or "" for ref in own]}) for hyp, *own in rows]
        paths.append(str(tmp_path / f"{number}.jsonl"))
        Path(paths[-1]).write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "out"
    found = score_files(paths, str(out), [spec], hyp="hyp", refs=["refs"], workers=1)
    parser = "default" if units == "pairs" else None
    expected = tm.score(hyps, refs, [spec], parser=parser).corpus[spec]
    assert found.corpus[spec] == pytest.approx(float(expected), abs=1e-6)
    alone = tm.score(hyps[: len(HYPS)], [stream[: len(HYPS)] for stream in refs], [spec], parser)
    again = score_files(paths, str(out), [spec], hyp="hyp", refs=["refs"], workers=1)
    assert again.corpus == found.corpus
    assert found.corpus[spec] != pytest.approx(float(alone.corpus[spec]), abs=1e-6)


def test_idf_of_references_that_are_given_once(folder, tmp_path):
    """As a reward, in torchmetrics, with those of the test set: the scores of the test set."""
    spec = f"blend-context:encoder={folder}"
    expected = tm.score(HYPS, REFS, [spec], parser=Chain(str.split))
    rows = [[ref for ref in refs if ref] for refs in zip(*REFS, strict=True)]
    every = [ref for stream in REFS for ref in stream]
    reward = TextReward(spec, Chain(str.split), fit_on=every)
    assert torch.allclose(reward(HYPS, rows), torch.as_tensor(expected.segments[spec]), atol=1e-6)
    assert torch.allclose(reward(HYPS[:1], rows[:1]), reward(HYPS, rows)[:1], atol=1e-6)
    state = TorchScore(spec, Chain(str.split), fit_on=every)
    for hyp, refs in zip(HYPS, rows, strict=True):
        state.update([hyp], [refs])
    assert float(state.compute()) == pytest.approx(expected.corpus[spec], abs=1e-6)
    for wrong in ([], [REFS]):
        with pytest.raises(TensorMTError, match="fit_on holds no texts"):
            TextReward(spec, Chain(str.split), fit_on=wrong)
    plain = tm.score(HYPS, REFS, [f"{spec},idf=no"], parser=Chain(str.split))
    assert plain.corpus != expected.corpus
    (tmp_path / "in.jsonl").write_text('{"hyp": "a cat", "refs": ["a dog"]}\n')
    paths, columns = [str(tmp_path / "in.jsonl")], {"hyp": "hyp", "refs": ["refs"]}
    found = score_files(paths, str(tmp_path / "out"), [f"{spec},idf=no"], workers=1, **columns)
    assert 0 < found.corpus[f"{spec},idf=no"] < 1


def test_a_layer_that_does_not_exist_is_found_before_any_text(folder):
    with pytest.raises(TensorMTError, match="layer is 9, but"):
        tm.evaluator.Evaluator([f"bertscore:encoder={folder},layer=9"])


def test_other_scripts(tmp_path):
    """German and Chinese text with an encoder whose vocabulary has it."""
    pytest.importorskip("transformers", reason="the extra encoder is not installed")
    path = make_encoder(tmp_path, vocabulary=["der", "hund", "läuft", "die", "katze", *"狗跑猫。"])
    for hyp, ref in (("der Hund läuft", "die Katze läuft"), ("狗跑。", "猫跑。")):
        spec = f"bertscore:encoder={path},units=words,matching=one_to_one"
        found = tm.score([hyp, ref], [[ref, ref]], [spec]).segments[spec].tolist()
        assert 0 < found[0] < found[1] == pytest.approx(1.0, abs=1e-6)


class Chain:
    """A stand-in for a parser of dependencies: each word, or sign, hangs on the one before it."""

    fingerprint = "chain-1"
    kind = "dependency"

    def __init__(self, cut):
        self.cut = cut

    def __call__(self, lines):
        words = [self.cut(line or "") for line in lines]
        return tm.TreeBatch.from_heads(words, [list(range(len(row))) for row in words])


def test_blend_context_of_other_languages(tmp_path):
    """German and Chinese with a multilingual encoder by its path; trees of a parser or at hand."""
    pytest.importorskip("transformers", reason="the extra encoder is not installed")
    path = make_encoder(tmp_path, vocabulary=["der", "hund", "läuft", "die", "katze", *"狗跑猫。"])
    spec = f"blend-context:encoder={path}"
    german = ["Der Hund läuft .", "Die Katze läuft ."], ["Der Hund .", "Die Katze läuft ."]
    chinese = ["狗跑。", "猫跑。"], ["狗。", "猫跑。"]
    parsers = ((german, "de", Chain(str.split)), (chinese, "zh", Chain(list)), (german, "de", "ud"))
    for (hyps, refs), lang, parser in parsers:
        found = tm.score(hyps, [refs], [spec], parser=parser, lang=lang).segments[spec].tolist()
        assert 0 < found[0] < found[1] == pytest.approx(1.0, abs=1e-6)


# --- the real packages ----------------------------------------------------------------------------


def sentences(count, seed):
    """English sentences of the example files and of the docs, cut and joined."""
    from pathlib import Path

    root = Path(tm.__file__).parent.parent
    text = " ".join((root / name).read_text() for name in ("README.md", "docs/choosing.md"))
    words, draw = text.split(), random.Random(seed)
    starts = [draw.randrange(len(words) - 60) for _ in range(count)]
    return [" ".join(words[k : k + draw.randrange(1, 45)]) for k in starts]


@pytest.mark.heavy(needs="encoder")
@pytest.mark.parametrize("idf", [False, True])
def test_equal_to_bert_score_on_500_segments(idf):
    from bert_score import BERTScorer

    from tensormt.vectors.folder import find_folder

    refs = [sentences(500, 1), sentences(500, 2)]
    hyps = [" ".join(ref.split()[1:]) or "x" for ref in refs[0]]
    hyps[8] = "漢字 \u200d ¿…?"
    path = str(find_folder("minilm"))
    idf_sents = [*refs[0], *refs[1]]
    peer = BERTScorer(model_type=path, num_layers=5, idf=idf, idf_sents=idf_sents)
    expected = peer.score(hyps, [list(row) for row in zip(*refs, strict=True)])
    balances = ("precision", "recall", "f1")
    specs = [f"bertscore:layer=5,balance={own},idf={'yes' if idf else 'no'}" for own in balances]
    found = tm.score(hyps, refs, specs).segments
    for spec, wanted in zip(specs, expected, strict=True):
        assert (torch.as_tensor(found[spec]) - wanted).abs().max() < 1e-5


@pytest.mark.heavy(needs="encoder")
def test_minilm_knows_what_means_the_same():
    refs = [["The committee will publish its report on Monday."]]
    better, worse = (
        tm.score([hyp], refs, ["bertscore:units=words,matching=one_to_one"])
        for hyp in (
            "The panel releases its report on Monday.",
            "The report will eat its committee on Mars.",
        )
    )
    (name,) = better.corpus
    assert better.corpus[name] > worse.corpus[name]
