"""The recipes of the embedded parsers on a few sentences: all steps, and once more after a kill."""

import bz2
import csv
import io
import json
import sys
import zipfile
from argparse import Namespace
from pathlib import Path

import pytest
from parser.samples import (
    SMALL_DEPENDENCY,
    SMALL_RECIPE,
    SMALL_TEACHER,
    fit_constituency,
    write_encoder,
    write_treebank,
    write_treebanks,
)

import recipes.english.__main__ as english
import recipes.ud.__main__ as ud
from recipes.english.text import paragraphs
from recipes.steps import arguments, checksum, main
from tensormt.errors import TensorMTError
from tensormt.parser import Parser

PUD = {"sentences": 1, "languages": ["de"]}
ROOT = Path(__file__).resolve().parent.parent.parent


def changed(recipe, **more):
    """The fields of a small recipe that are not its defaults, as settings have them."""
    fields = type(recipe).__dataclass_fields__
    own = {n: getattr(recipe, n) for n, f in fields.items() if getattr(recipe, n) != f.default}
    return {**own, **more}


def write_settings(path, settings):
    path.write_text(json.dumps(settings))
    return path


@pytest.fixture
def treebanks(tmp_path):
    write_treebanks(tmp_path)
    for lang in ("de", "fr"):
        (tmp_path / lang).mkdir()
        for part in ("train", "dev", "test"):
            text = (tmp_path / f"{lang}.conllu").read_text()
            (tmp_path / lang / f"{part}.conllu").write_text(text)
    return tmp_path


def test_dependencies_in_all_steps(treebanks, capsys, monkeypatch):
    settings = {"languages": ["de", "fr"], "pud": PUD, "least_uas": 0.0}
    settings["recipe"] = changed(SMALL_DEPENDENCY, epochs=2)
    file = write_settings(treebanks / "settings.json", settings)
    args = Namespace(data=treebanks, work=treebanks / "work", settings=file, until=None)
    monkeypatch.setattr(ud, "evaluate", lambda *a: scores(*a, speed=100.0))
    ud.run(args)
    shown = capsys.readouterr().out
    assert "| mean of those in the package |" in shown
    export = treebanks / "work" / "export"
    assert (export / "results.md").read_text() == shown
    done = json.loads((export / "done.json").read_text())
    assert done["result"] == {"sha256": checksum(export), "languages": ["de", "fr"]}
    assert Parser.load(export, lang="fr").parse(["le chien court"]).lengths.tolist() == [3]

    ud.run(args)  # all steps are complete
    assert "train: complete since" in capsys.readouterr().err
    settings["recipe"]["hidden"] = 18
    write_settings(file, settings)
    with pytest.raises(TensorMTError, match="was made with other settings"):
        ud.run(args)


def scores(folder, data, languages, speed):
    """Accuracy as the recipe computes it, but nothing is timed."""
    found = {}
    for lang in languages:
        gold = ud.read_language(data / lang / "test.conllu", lang)
        found[lang] = {**ud.attachment(Parser.load(folder, lang=lang), gold), "speed": speed}
    return found


def test_a_language_below_the_least_uas_is_not_exported(treebanks, capsys, monkeypatch):
    rows = {"de": 71.9, "fr": 72.0}
    found = {k: {"uas": v, "las": v - 9, "speed": 9.0} for k, v in rows.items()}
    monkeypatch.setattr(ud, "evaluate", lambda *_: found)
    settings = {"languages": ["de", "fr"], "pud": PUD, "least_uas": 72.0}
    settings["recipe"] = changed(SMALL_DEPENDENCY, epochs=1)
    file = write_settings(treebanks / "settings.json", settings)
    ud.run(Namespace(data=treebanks, work=treebanks / "work", settings=file, until=None))
    with pytest.raises(TensorMTError, match="fr"):
        Parser.load(treebanks / "work" / "export", lang="de").parse(["der Hund"])


@pytest.fixture(scope="module")
def english_files(tmp_path_factory):
    folder = write_treebank(tmp_path_factory.mktemp("english"))
    (folder / "test.ptb").write_text((folder / "dev.ptb").read_text())
    write_encoder(folder / "encoder")
    fit_constituency(folder, SMALL_RECIPE, "large")
    (folder / "text").mkdir()
    words = "The dog saw a red town . I will run home again . Anna ran home ."
    (folder / "text" / "a.txt").write_text(words.replace(" .", ".") + "\nthe dog ran.\n")
    return folder


def test_teacher_labels_student(english_files, capsys, monkeypatch):
    small = changed(SMALL_RECIPE, epochs=2)
    settings = {
        "vectors": 12,
        "hyphens": True,
        "text": {"shortest": 3, "longest": 40, "per_file": 9, "shared_words": 8, "seed": 1},
        "teacher": changed(SMALL_TEACHER, epochs=2),
        "labels": {"shares": {"teacher": 0.55, "other": 0.45}, "threshold": 0.02, "shard": 2},
        "gold_repeats": 2,
        "students": {"english": small, "small": {**small, "hidden": 8}},
    }
    file = write_settings(english_files / "settings.json", settings)
    args = Namespace(
        data=english_files, text=english_files / "text", work=english_files / "work",
        settings=file, until=None, encoder=str(english_files / "encoder"),
        large=english_files / "large", student="english",
    )  # fmt: skip
    monkeypatch.setattr(english, "speed", lambda *_: 100.0)
    english.run(Namespace(**{**vars(args), "until": "labels"}))
    kept = sorted((args.work / "prepare" / "sentences.txt").read_text().splitlines())
    assert kept == ["Anna ran home .", "I will run home again .", "The dog saw a red town ."]
    parts = sorted((args.work / "labels").glob("*.parquet"))
    targets = [target for part in parts for target in english.read_targets(part)]
    assert len(parts) == 2
    for target in targets:
        assert sum(target.weights) == pytest.approx(2 * len(target.words) - 1, rel=1e-5)

    parts[1].unlink()  # as after a kill: the shards that exist are kept, the others made again
    (args.work / "labels" / "done.json").unlink()
    before = parts[0].stat().st_mtime_ns
    capsys.readouterr()
    english.run(args)
    assert parts[0].stat().st_mtime_ns == before
    assert [t for part in parts for t in english.read_targets(part)] == targets
    shown = capsys.readouterr()
    assert "teacher: complete since" in shown.err
    assert "| english of the package |" in shown.out
    export = args.work / "export-english"
    parser = Parser.load(export)
    assert not parser.mbr
    assert parser.hyphens
    assert json.loads((export / "done.json").read_text())["result"]["sha256"] == checksum(export)

    english.run(Namespace(**{**vars(args), "student": "small"}))
    size = Parser.load(args.work / "export-small").network.settings["args"]["n_lstm_hidden"]
    assert size == 8
    with pytest.raises(TensorMTError, match="the students of the settings are english, small"):
        english.run(Namespace(**{**vars(args), "student": "tiny"}))


@pytest.mark.parametrize("name", ["english", "english_large", "english_small", "ud"])
def test_model_cards_have_the_checksum_of_the_weights(name):
    folder = ROOT / "tensormt" / "parser" / name
    card = (folder / "README.md").read_text()
    assert checksum(folder) in card, f"{name}/README.md: the checksum is {checksum(folder)}"
    for part in ("Data and attribution", "How it was made", "Intended use", "Limits"):
        assert f"## {part}" in card
    assert "## Licence of the weights" in card


def test_text_of_packages(tmp_path):
    page = (
        "{{Box|{{inner}} text}} '''Anna''' was a [[Town|city]] of the [[north]], and it is said "
        "to be the oldest one.<ref>A book</ref>\n* a list\n[[File:x.png|a [[picture]]]]\n"
    )
    dump = f"<page><text xml:space='preserve'>{page.replace('<', '&lt;')}</text></page>"
    inner = io.BytesIO()
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerows([["date", "text"], ["1999", 'One speech, with a comma and "quotes".']])
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr("speeches.csv", table.getvalue())
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("x/enwiki-shortened.bz2", bz2.compress(dump.encode()))
        wheel.writestr("x/speeches/1.txt", "Fellow citizens.\nThank you.")
        wheel.writestr("x/houseofcommons.zip", inner.getvalue())
    assert list(paragraphs(tmp_path / "a.whl")) == [
        "Anna was a city of the north, and it is said to be the oldest one.",
        'One speech, with a comma and "quotes".',
        "Fellow citizens.",
        "Thank you.",
    ]


def test_a_recipe_without_data_is_one_sentence(tmp_path, capsys, monkeypatch):
    given = ["recipes.ud", "--data", str(tmp_path), "--work", str(tmp_path / "work")]
    monkeypatch.setattr(sys, "argv", given)
    assert main(ud.run, arguments("", ROOT / "recipes" / "ud")) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert "error:" in last
    assert "train.conllu" in last
