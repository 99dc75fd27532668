"""dependency_treebank, dependency_fitting, train-parser: a small parser from small treebanks."""

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from tensormt.command.main import main
from tensormt.parser import Parser
from tensormt.parser import dependency_fitting as fitting
from tensormt.parser.dependency_treebank import DependencyCorpus, dependency_settings, read_language
from tensormt.parser.recipe import DependencyRecipe
from tensormt.trees import conllu

SMALL = DependencyRecipe(
    epochs=4, tokens=40, rate=1e-2, warmup=2, average=0.9, embedding=12, characters=12, hidden=16,
    layers=2, arc=16, relation=12, min_count=1, min_chars=1, dropout=0.1,
)  # fmt: skip
SUBJECTS = {"de": ["der Hund", "ein Kind", "die Katze"], "fr": ["le chien", "un homme", "la dame"]}
VERBS = {"de": ["lief", "sah"], "fr": ["court", "voit"]}


def rows(*words):
    return "".join(
        f"{k}\t{form}\t_\t{tag}\t_\t_\t{head}\t{name}\t_\t_\n"
        for k, (form, tag, head, name) in enumerate(words, 1)
    )


def treebank(lang):
    """Subject first in German, verb first in French."""
    found = []
    for subject in SUBJECTS[lang]:
        det, noun = subject.split()
        for verb in VERBS[lang]:
            if lang == "de":
                words = [
                    (det, "DET", 2, "det"),
                    (noun, "NOUN", 3, "nsubj"),
                    (verb, "VERB", 0, "root"),
                ]
            else:
                words = [
                    (verb, "VERB", 0, "root"),
                    (det, "DET", 3, "det"),
                    (noun, "NOUN", 1, "obj:x"),
                ]
            found.append(rows(*words, (".", "PUNCT", 1 + 2 * (lang == "de"), "punct")))
    return "\n".join(found) + "\n"


@pytest.fixture
def files(tmp_path):
    for lang in SUBJECTS:
        (tmp_path / f"{lang}.conllu").write_text(treebank(lang))
    return tmp_path


def given(files, *langs):
    return [(lang, files / f"{lang}.conllu") for lang in langs]


def run(files, recipe=SMALL, out="out", langs=("de", "fr"), **options):
    both = given(files, *langs)
    return fitting.fit_dependency(both, both, files / out, recipe, **options)


def test_multiword_tokens_become_words_of_the_text():
    text = (
        "1\tIch\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n"
        "2\tgehe\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
        "3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "3\tzu\t_\tADP\t_\t_\t5\tcase\t_\t_\n"
        "4\tdem\t_\tDET\t_\t_\t5\tdet\t_\t_\n"
        "5\tHaus\t_\tNOUN\t_\t_\t2\tobl:arg\t_\t_\n"
        "6-7\tdahin\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "6\tda\t_\tADV\t_\t_\t7\tx\t_\t_\n"
        "7\thin\t_\tADV\t_\t_\t5\ty\t_\t_\n"
        "8\t!\t_\tPUNCT\t_\t_\t6\tpunct\t_\t_\n"
    )
    found = conllu.read(text, surface=True)
    assert found.words == [["Ich", "gehe", "zum", "Haus", "dahin", "!"]]
    assert found.heads == [[2, 0, 4, 2, 4, 5]]
    assert found.relations == [["nsubj", "root", "case", "obl:arg", "y", "punct"]]
    assert found.tags == [["PRON", "VERB", "ADP", "NOUN", "ADV", "PUNCT"]]


def test_loss_is_supars(files):
    """Relations at gold arcs only, fused LSTMs: the number of supar's own loss."""
    sentences = read_language(files / "de.conllu", "de")
    settings = dependency_settings(sentences, SMALL)
    trainer = fitting.DependencyTrainer(settings, SMALL, files, torch.device("cpu"))
    model = trainer.model.eval()
    for weight in trainer.weights:
        torch.nn.init.normal_(weight, std=0.3)
    corpus = DependencyCorpus(sentences, settings, 0.0)
    batch = corpus.batch([0, 3, 5])
    scores = model(batch.words, [batch.chars[batch.types]])
    expected = model.loss(*scores, batch.heads, batch.relations, batch.heads.ge(0))
    torch.testing.assert_close(
        fitting.dependency_loss(model, batch, 0.0), expected, rtol=0.02, atol=0.02
    )


def test_small_languages_are_read_more_often(files):
    (files / "fr.conllu").write_text(treebank("fr") * 4)
    sentences = [s for lang, path in given(files, "de", "fr") for s in read_language(path, lang)]
    settings = dependency_settings(sentences, SMALL)
    for balance, times in ((0.0, 1), (1.0, 4), (0.5, 2)):
        corpus = DependencyCorpus(sentences, settings, balance)
        counts = Counter(sentences[i].lang for i in corpus.chosen(random.Random(1)))
        assert counts == {"de": 6 * times, "fr": 24}
        plan = corpus.plan(30, random.Random(1))
        assert sum(len(members) for members in plan) == 24 + 6 * times


def test_two_languages_are_learnt(files):
    heard = []
    parser = run(files, replace(SMALL, epochs=60), report=heard.append)
    assert heard[-1]["uas"] > 90
    assert heard[-1]["las"] > 90
    assert {"uas_de", "las_fr"} < set(heard[-1])
    trees = parser("fr").parse(["voit le chien ."])
    assert trees.to_heads()[1] == [[0, 3, 1, 1]]
    assert trees.to_relations() == [["root", "det", "obj", "punct"]]
    loaded = Parser.load(files / "out", lang="de").parse(["die Katze sah ."])
    assert loaded.to_heads()[1] == [[2, 3, 0, 3]]
    settings = json.loads((files / "out" / "settings.json").read_text())
    assert settings["scripts"] == {"de": ["LATIN"], "fr": ["LATIN"]}


def test_a_killed_run_goes_on_to_the_same_weights(files):
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
    assert resumed == whole[2:]
    first, second = (torch.load(files / name / "checkpoint.pt") for name in ("whole", "cut"))
    for name in ("weights", "averaged"):
        for a, b in zip(first[name], second[name], strict=True):
            assert torch.equal(a, b)


def test_rate_is_constant_and_falls_at_the_end(files):
    settings = dependency_settings(read_language(files / "de.conllu", "de"), SMALL)
    trainer = fitting.DependencyTrainer(settings, SMALL, files, torch.device("cpu"))
    rates = []
    for trainer.epoch in range(4):
        for done in range(10):
            rates.append(trainer.rate(done, 10))
            trainer.step += 1
    assert rates[0] == pytest.approx(SMALL.rate / 2)
    assert rates[1:21] == pytest.approx([SMALL.rate] * 20)
    assert all(a > b for a, b in pairwise(rates[20:]))
    assert rates[-1] < 0.02 * SMALL.rate


def test_the_command(files, capsys):
    recipe = "--epochs=2 --hidden=8 --layers=1 --arc=8 --relation=6".split()
    path = str(files / "de.conllu")
    out = str(files / "out")
    words = ["train-parser", "--train", f"de={path}", "--dev", f"de={path}", "--test", f"de={path}"]
    assert main([*words, "-o", out, "-q", *recipe]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parser"].startswith("out-")
    assert found["dev"] == found["test"]
    assert 0 <= found["dev"]["las"] <= found["dev"]["uas"] <= 100
    assert main([*words, "-o", out, "-q", *recipe]) == 2
    assert "(--resume)" in capsys.readouterr().err
    assert main([*words, "-o", out, "-q", *recipe, "--resume"]) == 0
    capsys.readouterr()
    text = files / "text"
    text.write_text("der Hund lief.\n")
    assert main(["parse", str(text), "--parser", out, "-q"]) == 0
    assert capsys.readouterr().out.count("\n") == 7


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--train", "de={0}", "--dev", "{0}"], "trees have no language"),
        (["--train", "de={0}", "--dev", "fr={0}"], "trees have the language 'fr'"),
        (["--train", "de={0}", "{0}", "--dev", "de={0}"], "some files have a language"),
        (["--train", "{0}", "--dev", "{1}"], "some of the tree files are CoNLL-U"),
        (["--train", "{0}", "--dev", "{0}", "--span", "3"], "--span is for brackets"),
        (["--train", "{0}", "--dev", "{0}", "--hyphens"], "--embed and --hyphens are for brackets"),
        (["--train", "{1}", "--dev", "{1}", "--arc", "3"], "--arc is for CoNLL-U"),
        (["--train", "{1}", "{1}", "--dev", "{1}"], "expected one file of brackets, got 2"),
        (["--train", "{0}", "--dev", "{2}"], "empty.conllu: expected dependency trees"),
    ],
)
def test_bad_calls_are_told(files, capsys, words, cause):
    (files / "a.ptb").write_text("(S (NN a))\n")
    (files / "empty.conllu").write_text("\n")
    names = [files / name for name in ("de.conllu", "a.ptb", "empty.conllu")]
    called = ["train-parser", *(word.format(*names) for word in words)]
    assert main([*called, "-o", str(files / "out"), "-q"]) == 2
    assert cause in capsys.readouterr().err
