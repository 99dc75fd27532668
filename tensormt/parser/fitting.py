"""Training of a constituency parser on treebank files, with evaluation after every epoch.

The folder contains the parser (`model.safetensors`, `settings.json`: the epoch with the best F1 on
the development trees so far), `recipe.json`, and `checkpoint.pt`, from which an interrupted run is
resumed. Training is deterministic up to the rounding of the processor.
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
from tensormt.parser.batching import SpanCorpus
from tensormt.parser.evaluation import bracket_scores
from tensormt.parser.model import Settings
from tensormt.parser.network import ConstituencyNetwork
from tensormt.parser.parser import Parser
from tensormt.parser.recipe import Recipe
from tensormt.parser.training import ConstituencyTrainer, Trainer
from tensormt.parser.treebank import (
    Example,
    narrow_labels,
    read_treebank,
    read_vectors,
    vocabularies,
)
from tensormt.trees.batch import TreeBatch

RECIPE = "recipe.json"
CHECKPOINT = "checkpoint.pt"
# what a training run needs: the trainer, its corpus, and a function that evaluates the model
Training = tuple[Trainer, SpanCorpus, Callable[[], dict[str, float]]]


def constituency_settings(
    train: Path,
    vectors: dict[str, list[float]],
    recipe: Recipe,
    hyphens: bool,
    targets: Sequence[Example] = (),
    repeat: int = 1,
    tune: bool = False,
) -> tuple[Settings, SpanCorpus]:
    """Return the settings of a model for a treebank, and its sentences as ids.

    The arguments are those of `fit_constituency`.
    """
    root, examples = read_treebank(train)
    settings = {
        "args": recipe.model(),
        **vocabularies(examples, vectors, recipe.min_count),
        "vectors": recipe.embedding if vectors and not tune else 0,
        "fix_len": 20,
        "narrow": sorted(narrow_labels(examples)),
        "root": root,
        "hyphens": hyphens,
    }
    if tune:
        settings["known"] = len(settings["words"])
    unknown = {name for e in targets for _, _, name in e.spans}.difference(settings["labels"])
    if unknown:
        raise TensorMTError(f"targets have labels that no tree of {train} has: {sorted(unknown)}")
    return settings, SpanCorpus([*examples * repeat, *targets], settings)


def evaluate_file(parser: Parser, gold: Path) -> dict[str, float]:
    """Evaluate a parser on the words of a file of gold trees: F1, evalb's F1 and tag accuracy."""
    trees = read_gold(gold)
    words, parts = trees.nodes.word, trees.tokens.tolist()
    flat = [trees.words[i] for i in words[words >= 0].tolist()]
    ends = torch.tensor(parts).cumsum(0).tolist()
    tokens = [flat[end - count : end] for end, count in zip(ends, parts, strict=True)]
    return bracket_scores(parser.parse_sentences(tokens), trees)


def read_gold(path: Path) -> TreeBatch:
    """Read the trees of a file.

    Raises:
        TensorMTError: If there is none.
    """
    trees = TreeBatch.from_file(path)
    if not bool((trees.tokens > 0).any()):
        raise TensorMTError(f"{path}: expected bracketed trees, found none")
    return trees


def check_folder(folder: Path, inputs: Sequence[Path]) -> None:
    """Raise if a folder already contains a parser, or an input would be overwritten in it."""
    if (folder / CHECKPOINT).exists():
        raise TensorMTError(
            f"{folder} contains a training run: resume it or choose another folder",
            options="resume",
        )
    for name in (checkpoint.WEIGHTS, checkpoint.SETTINGS):
        if (folder / name).exists():
            raise TensorMTError(f"{folder} contains a parser: choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TensorMTError(f"{folder} cannot be created: {error.strerror}") from None
    for name in (checkpoint.WEIGHTS, checkpoint.SETTINGS, RECIPE, CHECKPOINT):
        atomic_write.output_path(folder / name, inputs)


def check_resume(folder: Path, recipe: Any) -> None:
    """Raise if a run cannot be resumed with a recipe; only the number of epochs may differ."""
    path = folder / RECIPE
    if not (folder / CHECKPOINT).exists() or not path.exists():
        raise TensorMTError(f"{folder}: nothing to resume: start a new run", options="resume")
    old, new = files.json_object(str(path)), asdict(recipe)
    changed = [name for name in new if name != "epochs" and old.get(name) != new[name]]
    if changed:
        names = ", ".join(f"{name} {old.get(name)} → {new[name]}" for name in changed)
        raise TensorMTError(f"{folder}: a run is resumed with its own recipe; changed: {names}")


def write_recipe(folder: Path, recipe: Any) -> None:
    """Write the recipe to the folder of the parser."""
    with atomic_write.atomic_file(atomic_write.output_path(folder / RECIPE)) as file:
        file.write(f"{json.dumps(asdict(recipe), indent=1)}\n".encode())


def fit_constituency(
    train: Path,
    dev: Path,
    folder: Path,
    recipe: Recipe,
    *,
    embed: Path | None = None,
    hyphens: bool = False,
    targets: Sequence[Example] = (),
    repeat: int = 1,
    tune: bool = False,
    resume: bool = False,
    device: torch.device | None = None,
    epoch_bar: Callable[[int, int], Any] | None = None,
    report: Callable[[dict[str, float]], object] = lambda _: None,
) -> Parser:
    """Train a constituency parser, on gold trees and on soft targets of teachers if there are any.

    Args:
        train: File of training trees, one bracketing per line.
        dev: File of development trees.
        folder: Folder of the parser.
        recipe: Hyperparameters.
        embed: File of external word vectors.
        hyphens: Whether the treebank splits words at hyphens.
        targets: Sentences with the span and label probabilities of teachers (`soft_targets`).
        repeat: How often an epoch has each gold tree; each target is used once.
        tune: Whether external vectors are trained; otherwise they are constant.
        resume: Whether to resume an interrupted run.
        device: Device; None: CPU.
        epoch_bar: `epoch_bar(epoch, sentences)` returns a context manager, which is called with the
            number of sentences of each batch.
        report: Called with the scores of every epoch.

    Returns:
        The parser of the epoch with the best F1.

    Raises:
        TensorMTError: If a file is invalid, or the folder cannot be used.
    """
    where = torch.device("cpu") if device is None else device

    def prepare() -> Training:
        read_gold(dev)  # its errors are reported before training
        vectors = read_vectors(embed) if embed else {}
        size = len(next(iter(vectors.values()))) if vectors else recipe.embedding
        if size != recipe.embedding:
            raise TensorMTError(
                f"{embed} has {size} numbers per word, the model's words have {recipe.embedding}: "
                f"train with embedding={size}",
                options="embedding",
            )
        settings, corpus = constituency_settings(
            train, vectors, recipe, hyphens, targets, repeat, tune
        )
        trainer = ConstituencyTrainer(settings, recipe, folder, vectors, where)

        def evaluate() -> dict[str, float]:
            network = ConstituencyNetwork(trainer.parser, settings, where, True)
            return evaluate_file(Parser(network, "training", hyphens=hyphens), dev)

        return trainer, corpus, evaluate

    inputs = [train, dev, *([embed] if embed else [])]
    run_training(prepare, folder, recipe, inputs, "f1", resume, epoch_bar, report)
    return Parser.load(folder, device=device)


def run_training(
    prepare: Callable[[], Training],
    folder: Path,
    recipe: Any,
    inputs: Sequence[Path],
    best: str,
    resume: bool,
    epoch_bar: Callable[[int, int], Any] | None,
    report: Callable[[dict[str, float]], object],
) -> None:
    """Train for all remaining epochs; the folder contains the parser with the best score so far.

    Args:
        prepare: Returns trainer, corpus and a function that evaluates the model.
        folder: Folder of the parser.
        recipe: Hyperparameters.
        inputs: Files that must not be overwritten.
        best: Name of the score by which an epoch is selected.
        resume: Whether to resume an interrupted run.
        epoch_bar: As for `fit_constituency`.
        report: As for `fit_constituency`.
    """
    if resume:
        check_resume(folder, recipe)
    else:
        check_folder(folder, inputs)
    run, corpus, evaluate = prepare()
    write_recipe(folder, recipe)
    if resume:
        resume_training(run, folder)
    while run.epoch < run.recipe.epochs:
        if epoch_bar is None:
            loss = run.train_epoch(corpus, lambda _: None)
        else:
            with epoch_bar(run.epoch + 1, len(corpus.types)) as bar:
                loss = run.train_epoch(corpus, bar)
        run.swap()
        scores = {"epoch": run.epoch, "loss": loss, **evaluate()}
        run.history.append(scores)
        if not scores[best] <= run.best.get(best, -1.0):  # also if the score is NaN
            run.best = scores
            training = {"recipe": asdict(run.recipe), "dev": scores}
            checkpoint.save_model(run.folder, run.model, {**run.settings, "training": training})
        run.swap()
        run.save()
        report(scores)


def resume_training(trainer: Trainer, folder: Path) -> None:
    """Load the checkpoint of a folder.

    Raises:
        TensorMTError: If it is damaged or does not match the trainer.
    """
    try:
        trainer.resume()
    except Exception as error:  # a damaged pickle can raise any error
        cause = str(error).partition("\n")[0][:200]
        raise TensorMTError(
            f"{folder / CHECKPOINT} is damaged or from other trees ({cause}): start a new run in "
            "another folder"
        ) from None
