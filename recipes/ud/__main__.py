"""The recipe of `ud`, the embedded dependency parser of several languages.

    python -m recipes.ud --data TREEBANKS --work FOLDER

TREEBANKS has a folder for each language (`de`), each with train.conllu, dev.conllu and test.conllu.
Steps: prepare (checks, counts, and the sentences of PUD apart), train (one model of all languages;
resumed after a kill),
evaluate (test sets, beside the parser of the package), export (the languages above `least_uas`).
FOLDER/export has the parser, its checksum and results.md.
"""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from recipes.steps import Steps, arguments, can_resume, export, main, report, speed, table
from tensormt.data import files
from tensormt.errors import TensorMTError
from tensormt.parser import Parser, checkpoint
from tensormt.parser.dependency_fitting import attachment, fit_dependency
from tensormt.parser.dependency_treebank import read_language
from tensormt.parser.recipe import DependencyRecipe

PARTS = ("train", "dev", "test")
SPEED = 300  # sentences of each language whose parsing is timed


def prepare(folder: Path, data: Path, settings: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Read all files, count the words of the text, and write the sentences of PUD apart."""
    pud = settings["pud"]
    for lang in pud["languages"]:
        text = files.text(str(data / lang / "train.conllu"))
        blocks = [block + "\n\n" for block in text.strip().split("\n\n")]
        rest = len(blocks) - pud["sentences"]
        for name, part in ((lang, blocks[:rest]), (apart(lang), blocks[rest:])):
            (folder / f"{name}.conllu").write_text("".join(part), encoding="utf-8")
    return {
        lang: {
            part: sum(len(s.words) for s in read_language(data / lang / f"{part}.conllu", lang))
            for part in PARTS
        }
        for lang in settings["languages"]
    }


def apart(lang: str) -> str:
    """Return the name under which the sentences of PUD of a language are trained.

    They were annotated by other people than the test sets, and differ as a dialect does.
    """
    return f"{lang}-pud"


def train(folder: Path, data: Path, prepared: Path, settings: dict[str, Any]) -> dict[str, float]:
    """Train one model of all languages; return the scores of its best epoch on dev."""
    trees, dev = [], []
    for lang in settings["languages"]:
        name = lang
        if lang in settings["pud"]["languages"]:
            name = apart(lang)
            trees += [(own, prepared / f"{own}.conllu") for own in (lang, name)]
        else:
            trees.append((lang, data / lang / "train.conllu"))
        dev.append((name, data / lang / "dev.conllu"))
    recipe = DependencyRecipe(**settings["recipe"])
    fit_dependency(trees, dev, folder, recipe, resume=can_resume(folder), report=report)
    best: dict[str, float] = checkpoint.load_settings(folder)["training"]["dev"]
    return best


def evaluate(folder: Path | str, data: Path, languages: list[str]) -> dict[str, dict[str, float]]:
    """Return UAS, LAS and sentences per second on the test set of each language."""
    found = {}
    for lang in languages:
        try:
            parser = Parser.load(folder, lang=lang)
        except TensorMTError:  # the parser of the package offers some of the languages only
            continue
        gold = read_language(data / lang / "test.conllu", lang)
        rate = speed(parser, [s.words for s in gold[:SPEED]])
        found[lang] = {**attachment(parser, gold), "speed": rate}
    return found


def mean(scores: dict[str, dict[str, float]], languages: list[str], name: str) -> float:
    """Return the mean of a score over languages."""
    return sum(scores[lang][name] for lang in languages) / max(len(languages), 1)


def results(words: Any, new: Any, old: Any) -> str:
    """Return the table of what the recipe gave, beside the parser of the package."""
    rows = [
        [
            lang,
            f"{words[lang]['train']:,}",
            *(f"{new[lang][name]:.1f}" for name in ("uas", "las")),
            *(f"{old[lang][name]:.1f}" if lang in old else "–" for name in ("uas", "las")),
        ]
        for lang in sorted(new, key=lambda lang: -new[lang]["uas"])
    ]
    both = [lang for lang in new if lang in old]
    for name, langs in (("mean of all", list(new)), ("mean of those in the package", both)):
        ours = [f"{mean(new, langs, score):.2f}" for score in ("uas", "las")]
        theirs = [f"{mean(old, langs, s):.2f}" if langs == both else "–" for s in ("uas", "las")]
        rows.append([name, "", *ours, *theirs])
    head = ["language", "train words", "UAS", "LAS", "UAS, package", "LAS, package"]
    fast = ", ".join(
        f"{name} {mean(scores, both, 'speed'):.0f}"
        for name, scores in (("new", new), ("package", old))
    )
    return table(head, rows) + (f"\nSentences per second of CPU time: {fast}.\n" if both else "")


def run(args: Namespace) -> None:
    """Run all steps."""
    settings = json.loads(args.settings.read_text(encoding="utf-8"))
    languages, step = settings["languages"], Steps(args.work)
    used = [languages, settings["pud"]]
    words = step("prepare", used, lambda folder: prepare(folder, args.data, settings))
    if args.until == "prepare":
        return
    model, prepared = args.work / "train", args.work / "prepare"
    step("train", settings, lambda folder: train(folder, args.data, prepared, settings))
    if args.until == "train":
        return
    new = step("evaluate", settings, lambda _: evaluate(model, args.data, languages))
    old = step("package", languages, lambda _: evaluate("ud", args.data, languages))
    kept = [lang for lang in languages if new[lang]["uas"] >= settings["least_uas"]]

    def finish(folder: Path) -> dict[str, Any]:
        scripts = checkpoint.load_settings(model)["scripts"]
        changes = {"languages": kept, "scripts": {lang: scripts[lang] for lang in kept}}
        found = export(model, folder, **changes)
        text = results(words, new, old)
        (folder / "results.md").write_text(text, encoding="utf-8")
        print(text, end="")
        return {"sha256": found, "languages": kept}

    step("export", {**settings, "kept": kept}, finish)


if __name__ == "__main__":
    sys.exit(main(run, arguments(__doc__ or "", Path(__file__).parent)))
