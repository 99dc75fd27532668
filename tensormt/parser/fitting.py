"""A parser from treebank files: read, train, evaluate after every epoch, keep the best.

The folder holds the parser itself (`model.safetensors`, `settings.json`: the epoch with the best
F1 on the development trees so far), `recipe.json`, and `checkpoint.pt`, from which a run that was
killed goes on. The same command with the same files gives the same parser up to the rounding of
the processor.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from tensormt.data import atomic_write, files
from tensormt.errors import TensorMTError
from tensormt.parser import checkpoint
from tensormt.parser.batching import Corpus
from tensormt.parser.evaluation import evaluate
from tensormt.parser.model import Settings
from tensormt.parser.network import Network
from tensormt.parser.parser import Parser
from tensormt.parser.recipe import Recipe
from tensormt.parser.training import Run, Trainer
from tensormt.parser.treebank import narrow_labels, read_treebank, read_vectors, vocabularies
from tensormt.trees.batch import TreeBatch

RECIPE = "recipe.json"
CHECKPOINT = "checkpoint.pt"


def make_settings(
    train: Path, vectors: dict[str, list[float]], recipe: Recipe, hyphens: bool
) -> tuple[Settings, Corpus]:
    """The settings that a treebank gives and its sentences in numbers."""
    root, examples = read_treebank(train)
    settings = {
        "args": recipe.model(),
        **vocabularies(examples, vectors, recipe.min_count),
        "vectors": recipe.embedding if vectors else 0,
        "fix_len": 20,
        "narrow": sorted(narrow_labels(examples)),
        "root": root,
        "hyphens": hyphens,
    }
    return settings, Corpus(examples, settings)


def score(parser: Parser, gold: Path) -> dict[str, float]:
    """F1, evalb's F1 and tag accuracy of a parser on a file of gold trees, from their words."""
    trees = read_gold(gold)
    words, parts = trees.nodes.word, trees.tokens.tolist()
    flat = [trees.words[i] for i in words[words >= 0].tolist()]
    ends = torch.tensor(parts).cumsum(0).tolist()
    tokens = [flat[end - count : end] for end, count in zip(ends, parts, strict=True)]
    whole, parser.split = parser.split, False
    try:
        return evaluate(parser.parse(tokens), trees)
    finally:
        parser.split = whole


def read_gold(path: Path) -> TreeBatch:
    """The trees of a file, at least one."""
    trees = TreeBatch.from_file(path)
    if not bool((trees.tokens > 0).any()):
        raise TensorMTError(f"{path}: expected bracketed trees, found none")
    return trees


def check_folder(folder: Path, inputs: Sequence[Path]) -> None:
    """Refuse a folder that holds a parser already, or in which an input would be overwritten."""
    if (folder / CHECKPOINT).exists():
        raise TensorMTError(
            f"{folder} holds a training run: resume it or take another folder", options="resume"
        )
    for name in (checkpoint.WEIGHTS, checkpoint.SETTINGS):
        if (folder / name).exists():
            raise TensorMTError(f"{folder} holds a parser: take another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TensorMTError(f"{folder} cannot be made: {error.strerror}") from None
    for name in (checkpoint.WEIGHTS, checkpoint.SETTINGS, RECIPE, CHECKPOINT):
        atomic_write.output_path(folder / name, inputs)


def check_resume(folder: Path, recipe: Any) -> None:
    """Refuse to go on with a run that was started with another recipe (but for the epochs)."""
    path = folder / RECIPE
    if not (folder / CHECKPOINT).exists() or not path.exists():
        raise TensorMTError(f"{folder}: nothing to resume: start a new run", options="resume")
    old, new = files.json_object(str(path)), asdict(recipe)
    changed = [name for name in new if name != "epochs" and old.get(name) != new[name]]
    if changed:
        names = ", ".join(f"{name} {old.get(name)} → {new[name]}" for name in changed)
        raise TensorMTError(f"{folder}: a run goes on with its own recipe; changed: {names}")


def write_recipe(folder: Path, recipe: Any) -> None:
    """Keep the recipe beside the parser."""
    with atomic_write.whole_file(atomic_write.output_path(folder / RECIPE)) as file:
        file.write(f"{json.dumps(asdict(recipe), indent=1)}\n".encode())


def fit(
    train: Path,
    dev: Path,
    folder: Path,
    recipe: Recipe,
    *,
    embed: Path | None = None,
    hyphens: bool = False,
    resume: bool = False,
    device: torch.device | None = None,
    epoch_bar: Callable[[int, int], Any] | None = None,
    report: Callable[[dict[str, float]], object] = lambda _: None,
) -> Parser:
    """Train a parser into a folder and return the best one.

    `epoch_bar(epoch, sentences)` gives a context manager that is called with the sentences of
    each batch; `report` hears the figures of every epoch.
    """
    if resume:
        check_resume(folder, recipe)
    else:
        check_folder(folder, [train, dev, *([embed] if embed else [])])
    read_gold(dev)  # what is wrong with it is said before the work
    vectors = read_vectors(embed) if embed else {}
    size = len(next(iter(vectors.values()))) if vectors else recipe.embedding
    if size != recipe.embedding:
        raise TensorMTError(
            f"{embed} has {size} numbers a word, the model's words have {recipe.embedding}: "
            f"train with embedding={size}",
            options="embedding",
        )
    settings, corpus = make_settings(train, vectors, recipe, hyphens)
    write_recipe(folder, recipe)
    where = torch.device("cpu") if device is None else device
    trainer = Trainer(settings, recipe, folder, vectors, where)
    if resume:
        take_up(trainer, folder)

    def figures() -> dict[str, float]:
        network = Network(trainer.parser, settings, where, True)
        return score(Parser(network, "training", hyphens=hyphens), dev)

    work(trainer, corpus, figures, "f1", epoch_bar, report)
    return Parser.load(folder, device=device)


def work(
    run: Run,
    corpus: Corpus,
    evaluate: Callable[[], dict[str, float]],
    best: str,
    epoch_bar: Callable[[int, int], Any] | None,
    report: Callable[[dict[str, float]], object],
) -> None:
    """Train all epochs that are left; the parser with the best figure so far lies in the folder."""
    while run.epoch < run.recipe.epochs:
        if epoch_bar is None:
            loss = run.train_epoch(corpus, lambda _: None)
        else:
            with epoch_bar(run.epoch + 1, len(corpus.types)) as bar:
                loss = run.train_epoch(corpus, bar)
        run.swap()
        figures = {"epoch": run.epoch, "loss": loss, **evaluate()}
        run.history.append(figures)
        if not figures[best] <= run.best.get(best, -1.0):  # NaN, where nothing is to be found
            run.best = figures
            made = {"recipe": asdict(run.recipe), "dev": figures}
            checkpoint.save(run.folder, run.model, {**run.settings, "training": made})
        run.swap()
        run.save()
        report(figures)


def take_up(trainer: Run, folder: Path) -> None:
    """Go on from the checkpoint."""
    try:
        trainer.resume()
    except Exception as error:  # a pickle can be broken in any way
        cause = str(error).partition("\n")[0][:200]
        raise TensorMTError(
            f"{folder / CHECKPOINT} is damaged or from other trees ({cause}): start anew in "
            "another folder"
        ) from None
