"""treebank, corpus, training, fitting, vectors: a small parser from a small treebank."""

import json
import random
from dataclasses import replace
from itertools import pairwise

import nltk
import pytest
import torch
from supar.utils.transform import Tree

from tensormt.errors import TensorMTError
from tensormt.parser import Parser, fitting
from tensormt.parser.batching import SpanCorpus
from tensormt.parser.model import read_tree
from tensormt.parser.recipe import Recipe
from tensormt.parser.training import ConstituencyTrainer, cosine_rate, span_loss
from tensormt.parser.treebank import read_treebank, read_vectors
from tensormt.parser.vectors import principal_components, write_vectors

SUBJECTS = [
    "(NP (DT the) (NN dog))",
    "(NP (PRP I))",
    "(NP (NNP John))",
    "(NP (DT a) (JJ red) (NN cat))",
]
VERBS = [
    "(VP (VBD ran))",
    "(VP (VBD saw) (NP (NN town)))",
    "(VP (MD will) (VP (VB run) (ADVP (RB home))))",
]
TREES = [f"(TOP (S {s} {v} (. .)))" for s in SUBJECTS for v in VERBS] + ["(TOP (NP (NN town)))"]
SMALL = Recipe(
    epochs=4, tokens=40, rate=1e-2, warmup=2, average=0.9, embedding=12, characters=12, hidden=16,
    layers=2, span=16, label=12, min_count=1, dropout=0.1,
)  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train.ptb").write_text("\n".join(TREES * 2) + "\n\n")
    (tmp_path / "dev.ptb").write_text("\n".join(TREES[::2]) + "\n")
    return tmp_path


def run(files, recipe=SMALL, out="out", **options):
    return fitting.fit_constituency(
        files / "train.ptb", files / "dev.ptb", files / out, recipe, **options
    )


def test_spans_are_supars_with_tags_as_labels():
    line = "(TOP (S (NP (PRP I)) (VP (VBP am) (ADVP (RB here))) (. .)))"
    root, words, spans = read_tree(line)
    assert (root, words) == ("TOP", ["I", "am", "here", "."])
    assert sorted(spans) == sorted(
        [(0, 4, "S"), (0, 3, "S|<>"), (0, 1, "NP::PRP"), (1, 3, "VP"), (1, 2, "VBP"),
         (2, 3, "ADVP::RB"), (3, 4, ".")]
    )  # fmt: skip
    assert len(spans) == 2 * len(words) - 1


@pytest.mark.parametrize(
    "line",
    [
        "(TOP (UH Hi))",
        "(TOP (S (VP (VB Go))) (S (VP (VB Run))) (. !))",
        "(S (NP (DT a) (JJ b) (NN c) (NN d)) (VP (VB e)))",
        "( (X (Y (Z (NN a) (NN b)))))",
    ],
)
def test_spans_give_the_tree_back(line):
    root, words, spans = read_tree(line)
    base = Tree.totree(words, root)
    spans = sorted(spans, key=lambda span: (span[0], -span[1]))
    tree = Tree.build(base, spans)
    flat = " ".join(str(tree).split())
    for word in words:
        flat = flat.replace(f"(_ {word})", word)
    source = nltk.Tree.fromstring(line)
    if root == "S":  # a root with several children stays a root
        assert flat == " ".join(str(source).split())
    assert " ".join(flat.split()) == " ".join(str(source).split())


def test_loss_is_supars(files):
    """Labels at gold spans only, fused LSTMs: the number of supar's own loss."""
    settings, corpus = fitting.constituency_settings(files / "train.ptb", {}, SMALL, False)
    trainer = ConstituencyTrainer(settings, SMALL, files, {}, torch.device("cpu"))
    model = trainer.model.eval()
    for weight in trainer.weights:
        torch.nn.init.normal_(weight, std=0.3)
    members = [0, 3, 7, 12]
    batch = corpus.batch(members)
    b, i, j, gold = batch.spans.unbind(-1)
    types = torch.nn.utils.rnn.pad_sequence([corpus.types[k] for k in members], True, 0)
    spans, labels = model(batch.words, [corpus.chars[types]])
    size = spans.shape[1]
    charts = torch.full((len(members), size, size), -1)
    charts[b, i, j] = gold
    inside = (batch.lengths - 2)[:, None] >= torch.arange(size)
    mask = (inside[:, None] & inside[:, :, None]).triu(1)
    expected, _ = model.loss(spans, labels, charts, mask, False)
    ours = span_loss(model, batch, 0.0)
    torch.testing.assert_close(ours, expected, rtol=0.02, atol=0.02)  # bfloat16 on our side


def test_batches_hold_every_sentence_once(files):
    _, corpus = fitting.constituency_settings(files / "train.ptb", {}, SMALL, False)
    assert isinstance(corpus, SpanCorpus)
    plan = corpus.plan(40, random.Random(3))
    assert sorted(i for members in plan for i in members) == list(range(len(corpus.types)))
    assert all(sum(len(corpus.types[i]) for i in m) <= 40 for m in plan)
    assert plan == corpus.plan(40, random.Random(3)) != corpus.plan(40, random.Random(4))


def test_rate_rises_and_falls_to_zero():
    rates = [cosine_rate(step, 100, SMALL) for step in range(101)]
    assert rates[0] < rates[1] == max(rates)
    assert rates[100] == pytest.approx(0.0)
    assert all(a >= b for a, b in pairwise(rates[1:]))


def test_a_small_treebank_is_learnt(files):
    heard = []
    parser = run(files, replace(SMALL, epochs=25), report=heard.append)
    figures = fitting.evaluate_file(parser, files / "dev.ptb")
    assert figures["f1"] > 90
    assert figures["tags"] > 90
    assert [row["epoch"] for row in heard] == list(range(1, 26))
    assert max(row["f1"] for row in heard) == pytest.approx(figures["f1"], abs=3)
    loaded = Parser.load(files / "out")
    assert (
        loaded.parse(["the dog ran ."]).to_brackets()
        == parser.parse(["the dog ran ."]).to_brackets()
    )


def test_a_killed_run_goes_on_where_it_was(files):
    class Killed(Exception):
        pass

    def kill(figures):
        if figures["epoch"] == 2:
            raise Killed

    whole, resumed = [], []
    run(files, out="whole", report=whole.append)
    with pytest.raises(Killed):
        run(files, out="cut", report=kill)
    run(files, out="cut", resume=True, report=resumed.append)
    assert [row["epoch"] for row in resumed] == [3, 4]
    assert resumed == whole[2:]
    first, second = (torch.load(files / name / "checkpoint.pt") for name in ("whole", "cut"))
    for a, b in zip(first["averaged"], second["averaged"], strict=True):
        assert torch.equal(a, b)


def test_runs_are_not_mixed_up(files):
    with pytest.raises(TensorMTError, match="nothing to resume"):
        run(files, resume=True)
    run(files, replace(SMALL, epochs=1))
    with pytest.raises(TensorMTError, match="contains a training run: resume it"):
        run(files)
    with pytest.raises(TensorMTError, match="hidden 16 → 20"):
        run(files, replace(SMALL, hidden=20), resume=True)
    assert json.loads((files / "out" / "recipe.json").read_text())["epochs"] == 1


def test_external_vectors(files):
    (files / "vectors.txt").write_text("".join(
        f"{word} {' '.join(str(round(random.Random(word).gauss(0, 1), 3)) for _ in range(12))}\n"
        for word in ["dog", "wolf", "town", "the"]
    ))  # fmt: skip
    parser = run(files, replace(SMALL, epochs=1), embed=files / "vectors.txt")
    settings = parser.network.settings
    assert settings["vectors"] == 12
    assert settings["words"][settings["known"] :] == ["wolf"]
    assert parser.parse(["the wolf ran ."]).lengths.tolist()[0] > 0


def test_vectors_must_have_the_size_of_the_embedding(files):
    (files / "vectors.txt").write_text("dog 1 2 3\nwolf 2 1 0\n")
    with pytest.raises(TensorMTError, match=r"3 numbers per word.*embedding=3"):
        run(files, embed=files / "vectors.txt")


def test_bad_files_are_named(files):
    (files / "bad.ptb").write_text("(S (NN a))\n(S (NN\n")
    with pytest.raises(TensorMTError, match=r"bad.ptb, line 2: expected one Penn-style bracketing"):
        read_treebank(files / "bad.ptb")
    (files / "bad.ptb").write_text("\n\n")
    with pytest.raises(TensorMTError, match="found none"):
        read_treebank(files / "bad.ptb")
    (files / "bad.txt").write_text("a 1 2\nb 1\n")
    with pytest.raises(TensorMTError, match=r"line 2: expected a word and 2 numbers, got 1"):
        read_vectors(files / "bad.txt")


def test_principal_axes_keep_the_distances():
    rows = torch.randn(40, 6, dtype=torch.float64)
    turned = principal_components(rows, 6)
    torch.testing.assert_close(torch.cdist(turned, turned), torch.cdist(rows, rows))
    spread = turned.var(0)
    assert torch.equal(spread, spread.sort(descending=True).values)


def test_write_vectors(tmp_path):
    from safetensors.torch import save_file

    words = ["[PAD]", "the", "##ing", "dog", "don't", "犬", "!"]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    save_file(
        {"embeddings.word_embeddings.weight": torch.randn(7, 5)}, tmp_path / "model.safetensors"
    )
    assert write_vectors(tmp_path, tmp_path / "out.txt", 3) == 4
    assert list(read_vectors(tmp_path / "out.txt")) == ["the", "dog", "don't", "!"]
    save_file({"other": torch.randn(7, 5)}, tmp_path / "model.safetensors")
    with pytest.raises(TensorMTError, match="word_embeddings"):
        write_vectors(tmp_path, tmp_path / "out.txt")
