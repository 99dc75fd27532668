"""A dependency parser from CoNLL-U files: loss, run, figures, and the whole of a training.

    loss = −mean log p(head | word) − mean log p(relation | arc) − weight · mean log p(tag | word)

The first two are supar's (Dozat and Manning 2017), with relations scored at the gold arcs only. The
layer of universal tags lives in training alone. Checkpoints, averaging and the loop are those of
the constituency parser (`training`, `fitting`); kept is the epoch with the best mean UAS over the
languages of the development trees.
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
    make_settings,
    read_language,
)
from tensormt.parser.encoder import embed, run_chars, run_lstm
from tensormt.parser.fitting import check_folder, check_resume, take_up, work, write_recipe
from tensormt.parser.model import Settings
from tensormt.parser.parser import Parser
from tensormt.parser.recipe import DependencyRecipe
from tensormt.parser.training import Run, has_bfloat16
from tensormt.text.words import Words

Files = Sequence[tuple[str, Path]]  # language ("": none) and file


def loss(
    model: Any, batch: DependencyBatch, recurrent: float, tagger: Any = None, weight: float = 0.0
) -> Tensor:
    """supar's training loss of one batch, and that of the tags where they weigh: float []."""
    kind = batch.words.device.type
    b, d = batch.heads.ge(0).nonzero(as_tuple=True)
    h = batch.heads[b, d]
    with torch.autocast(kind, torch.bfloat16, enabled=kind != "cpu" or has_bfloat16()):
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


class DependencyRun(Run):
    """A run of a dependency parser."""

    def __init__(
        self, settings: Settings, recipe: DependencyRecipe, folder: Path, device: torch.device
    ) -> None:
        torch.manual_seed(recipe.seed)
        model = supar_model.build_dependency(settings, training=True)
        nn.init.normal_(model.word_embed.weight, std=recipe.spread)  # rare words are no noise
        self.tagger = nn.Linear(2 * recipe.hidden, len(settings["tags"])).to(device)
        more = list(self.tagger.parameters())
        super().__init__(model, settings, recipe, folder, device, more, recipe.beta)

    def loss(self, batch: DependencyBatch) -> Tensor:
        """Arcs, relations and tags."""
        recipe = self.recipe
        return loss(self.model, batch, recipe.recurrent, self.tagger, recipe.tags)

    def rate(self, done: int, batches: int) -> float:
        """A short rise, the highest rate, and a cosine down to zero in the last part of the run."""
        recipe = self.recipe
        rise = min(1.0, (self.step + 1) / recipe.warmup)
        progress = (self.epoch + done / batches) / recipe.epochs
        fall = max(0.0, progress - 1 + recipe.decay) / max(recipe.decay, 1e-9)
        return float(recipe.rate * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, fall))))


def attachment(parser: Parser, gold: Sequence[Sentence]) -> dict[str, float]:
    """UAS and LAS in percent over all words, punctuation too, from the gold words."""
    whole, parser.split = parser.split, False
    try:
        trees = parser.parse([sentence.words for sentence in gold])
    finally:
        parser.split = whole
    heads = [head for row in trees.to_heads()[1] for head in row]
    names = [name.split(":")[0] for row in trees.to_relations() or () for name in row]
    right = [a == b for a, b in zip(heads, (h for s in gold for h in s.heads), strict=True)]
    relations = (name for s in gold for name in s.relations)
    both = [r and a == b for r, a, b in zip(right, names, relations, strict=True)]
    total = max(len(right), 1)
    return {"uas": 100.0 * sum(right) / total, "las": 100.0 * sum(both) / total}


def evaluate(
    parser: Callable[[str], Parser], gold: Mapping[str, Sequence[Sentence]]
) -> dict[str, float]:
    """Mean UAS and LAS over languages, and those of each (`uas_de`); `parser` by language."""
    found = {lang: attachment(parser(lang), sentences) for lang, sentences in gold.items()}
    figures = {
        name: sum(row[name] for row in found.values()) / len(found) for name in ("uas", "las")
    }
    if len(found) > 1:
        for lang, row in found.items():
            figures |= {f"{name}_{lang}": value for name, value in row.items()}
    return figures


def named_file(text: str) -> tuple[str, Path]:
    """Language and file of `de=train.conllu`, or a file of no named language.

    >>> named_file("de=a.conllu")[0], named_file("a.conllu")[0]
    ('de', '')
    """
    lang, equals, path = text.partition("=")
    if equals and lang.isalnum() and lang.isascii():
        return lang.lower(), Path(path)
    return "", Path(text)


def read_files(given: Files) -> dict[str, list[Sentence]]:
    """The sentences of each language; all files name one, or none does."""
    found: dict[str, list[Sentence]] = {}
    for lang, path in given:
        found.setdefault(lang, []).extend(read_language(path, lang))
    if "" in found and len(found) > 1:
        raise TensorMTError(
            "some files name their language and some do not: write de=FILE for each, or for none"
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
    """Train a dependency parser into a folder; what comes back gives the best one by language."""
    if resume:
        check_resume(folder, recipe)
    else:
        check_folder(folder, [path for _, path in (*train, *dev)])
    gold = read_files(dev)
    sentences = [s for rows in read_files(train).values() for s in rows]
    settings = make_settings(sentences, recipe)
    check_languages(gold, settings["languages"])
    write_recipe(folder, recipe)
    where = torch.device("cpu") if device is None else device
    run = DependencyRun(settings, recipe, folder, where)
    if resume:
        take_up(run, folder)

    def parser(lang: str) -> Parser:
        network = DependencyNetwork(run.model, settings["relations"], where, settings, lang)
        return Parser(network, "training", rules=Words(lang))

    corpus = DependencyCorpus(sentences, settings, recipe.balance)
    work(run, corpus, lambda: evaluate(parser, gold), "uas", epoch_bar, report)
    return lambda lang: Parser.load(folder, device=device, lang=lang or None)


def check_languages(gold: Mapping[str, Any], known: list[str]) -> None:
    """Raise where trees to choose or test by are in a language that is not learnt."""
    for lang in gold:
        if lang not in (known or [""]):
            what = f"the language {lang!r}" if lang else "no named language"
            raise TensorMTError(
                f"trees to choose by are in {what}, trees to learn from in "
                f"{', '.join(known) or 'no named one'}: name languages alike, as de=FILE"
            )
