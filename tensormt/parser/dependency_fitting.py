"""Training of a dependency parser on CoNLL-U files.

    loss = −mean log p(head | word) − mean log p(relation | arc) − weight · mean log p(tag | word)

The first two terms are those of supar (Dozat and Manning 2017), with relations scored at the gold
arcs only. The layer of universal tags is used in training only. Checkpoints, averaging and the loop
are those of the constituency parser (`training`, `fitting`); the epoch with the best mean UAS over
the languages of the development trees is saved.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tensormt.errors import TensorMTError
from tensormt.parser import model as supar_model
from tensormt.parser.dependency import (
    DependencyNetwork,
    arc_scores,
    relation_scores,
    relation_table,
)
from tensormt.parser.dependency_treebank import (
    DependencyBatch,
    DependencyCorpus,
    Sentence,
    dependency_settings,
    read_language,
)
from tensormt.parser.encoder import embed, run_chars, run_lstm
from tensormt.parser.fitting import Training, run_training
from tensormt.parser.model import Settings
from tensormt.parser.parser import Parser
from tensormt.parser.recipe import DependencyRecipe
from tensormt.parser.training import Trainer, mixed_precision
from tensormt.text.words import Words

Files = Sequence[tuple[str, Path]]  # language ("": none) and file


def dependency_loss(
    model: Any, batch: DependencyBatch, recurrent: float, tagger: Any = None, weight: float = 0.0
) -> Tensor:
    """Compute supar's training loss of one batch, and `weight` times that of the tags: float []."""
    b, d = batch.heads.ge(0).nonzero(as_tuple=True)
    h = batch.heads[b, d]
    with mixed_precision(batch.words):
        chars = F.embedding(batch.types, run_chars(model.char_embed, batch.chars))
        x = run_lstm(model.encoder, embed(model, batch.words, chars), batch.lengths, recurrent)
        x = model.encoder_dropout(x)
        arcs = arc_scores(model, x, batch.lengths - 1)[b, d].float()
        left, right = model.rel_mlp_d(x)[b, d], model.rel_mlp_h(x)[b, h]
        names = relation_scores(relation_table(model), left, right).float()
        tags = tagger(x[b, d]).float() if weight else None
    total = F.cross_entropy(arcs, h) + F.cross_entropy(names, batch.relations[b, d])
    if tags is not None:
        total = total + weight * F.cross_entropy(tags, batch.tags[b, d])
    return total


class DependencyTrainer(Trainer):
    """Trains a dependency parser.

    Args:
        settings: Settings of the model.
        recipe: Hyperparameters.
        folder: Folder of the parser and the checkpoint.
        device: Device.
    """

    def __init__(
        self, settings: Settings, recipe: DependencyRecipe, folder: Path, device: torch.device
    ) -> None:
        torch.manual_seed(recipe.seed)
        model = supar_model.build_dependency(settings, training=True)
        nn.init.normal_(model.word_embed.weight, std=recipe.spread)  # small for rare words
        self.tagger = nn.Linear(2 * recipe.hidden, len(settings["tags"])).to(device)
        more = list(self.tagger.parameters())
        super().__init__(model, settings, recipe, folder, device, more, recipe.beta)

    def loss(self, batch: DependencyBatch) -> Tensor:
        """Return the loss of arcs, relations and tags."""
        recipe = self.recipe
        return dependency_loss(self.model, batch, recipe.recurrent, self.tagger, recipe.tags)

    def rate(self, done: int, batches: int) -> float:
        """Return the rate: warm-up, a constant rate, and a cosine to zero in the last part."""
        recipe = self.recipe
        rise = min(1.0, (self.step + 1) / recipe.warmup)
        progress = (self.epoch + done / batches) / recipe.epochs
        fall = max(0.0, progress - 1 + recipe.decay) / max(recipe.decay, 1e-9)
        return float(recipe.rate * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, fall))))


def attachment(parser: Parser, gold: Sequence[Sentence]) -> dict[str, float]:
    """Compute UAS and LAS in percent over all words, including punctuation, of gold sentences."""
    trees = parser.parse_sentences([sentence.words for sentence in gold])
    heads = [head for row in trees.to_heads()[1] for head in row]
    names = [name.split(":")[0] for row in trees.to_relations() or () for name in row]
    right = [a == b for a, b in zip(heads, (h for s in gold for h in s.heads), strict=True)]
    relations = (name for s in gold for name in s.relations)
    both = [r and a == b for r, a, b in zip(right, names, relations, strict=True)]
    total = max(len(right), 1)
    return {"uas": 100.0 * sum(right) / total, "las": 100.0 * sum(both) / total}


def evaluate_languages(
    parser: Callable[[str], Parser], gold: Mapping[str, Sequence[Sentence]]
) -> dict[str, float]:
    """Compute the mean UAS and LAS over languages, and those of each language (`uas_de`).

    Args:
        parser: Function from a language to its parser.
        gold: Gold sentences by language.
    """
    found = {lang: attachment(parser(lang), sentences) for lang, sentences in gold.items()}
    scores = {
        name: sum(row[name] for row in found.values()) / len(found) for name in ("uas", "las")
    }
    if len(found) > 1:
        for lang, row in found.items():
            scores |= {f"{name}_{lang}": value for name, value in row.items()}
    return scores


def named_file(text: str) -> tuple[str, Path]:
    """Split `de=train.conllu` into language and file; the language of a plain file is "".

    >>> named_file("de=a.conllu")[0], named_file("a.conllu")[0]
    ('de', '')
    """
    lang, equals, path = text.partition("=")
    if equals and lang.isalnum() and lang.isascii():
        return lang.lower(), Path(path)
    return "", Path(text)


def read_files(given: Files) -> dict[str, list[Sentence]]:
    """Read the sentences of each language.

    Raises:
        TensorMTError: If only some of the files have a language.
    """
    found: dict[str, list[Sentence]] = {}
    for lang, path in given:
        found.setdefault(lang, []).extend(read_language(path, lang))
    if "" in found and len(found) > 1:
        raise TensorMTError(
            "some files have a language and some do not: use de=FILE for all of them, or for none"
        )
    return found


def fit_dependency(
    train: Files,
    dev: Files,
    folder: Path,
    recipe: DependencyRecipe,
    *,
    resume: bool = False,
    device: torch.device | None = None,
    epoch_bar: Callable[[int, int], Any] | None = None,
    report: Callable[[dict[str, float]], object] = lambda _: None,
) -> Callable[[str], Parser]:
    """Train a dependency parser.

    Args:
        train: Languages and files of training trees.
        dev: Languages and files of development trees.
        folder: Folder of the parser.
        recipe: Hyperparameters.
        resume: Whether to resume an interrupted run.
        device: Device; None: CPU.
        epoch_bar: As for `fit_constituency`.
        report: Called with the scores of every epoch.

    Returns:
        Function from a language to the parser of the epoch with the best UAS.

    Raises:
        TensorMTError: If a file is invalid, or the folder cannot be used.
    """
    where = torch.device("cpu") if device is None else device

    def prepare() -> Training:
        gold = read_files(dev)
        sentences = [s for rows in read_files(train).values() for s in rows]
        settings = dependency_settings(sentences, recipe)
        check_languages(gold, settings["languages"])
        run = DependencyTrainer(settings, recipe, folder, where)

        def parser(lang: str) -> Parser:
            network = DependencyNetwork(run.model, settings["relations"], where, settings, lang)
            return Parser(network, "training", rules=Words(lang))

        corpus = DependencyCorpus(sentences, settings, recipe.balance)
        return run, corpus, lambda: evaluate_languages(parser, gold)

    inputs = [path for _, path in (*train, *dev)]
    run_training(prepare, folder, recipe, inputs, "uas", resume, epoch_bar, report)
    return lambda lang: Parser.load(folder, device=device, lang=lang or None)


def check_languages(gold: Mapping[str, Any], known: list[str]) -> None:
    """Raise if development or test trees are in a language without training trees."""
    for lang in gold:
        if lang not in (known or [""]):
            what = f"the language {lang!r}" if lang else "no language"
            raise TensorMTError(
                f"development or test trees have {what}, training trees have "
                f"{', '.join(known) or 'none'}: use the same languages, as de=FILE"
            )
