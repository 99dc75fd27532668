"""Dependency treebanks for training: words, heads, relations and tags of one or more languages.

Files are CoNLL-U; multi-word tokens are joined to the words of the text, since the parser reads
text, and relations are reduced to their universal part (`nmod:poss` to `nmod`). The sentences of a
language of n words are used (N/n)^balance times per epoch, where N is the number of words of the
largest language.
"""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tensormt.data import files
from tensormt.errors import TensorMTError
from tensormt.parser.batching import SpanCorpus
from tensormt.parser.char_features import CharFeatures, language_symbol, word_characters
from tensormt.parser.checkpoint import DEPENDENCY_FORMAT
from tensormt.parser.model import DEPENDENCY, SPECIALS, Settings
from tensormt.parser.recipe import DependencyRecipe
from tensormt.text.sentences import whole
from tensormt.text.words import letters_of
from tensormt.trees.conllu import read


@dataclass(frozen=True)
class Sentence:
    """Words of a language with their heads (0: root, words from 1), relations and tags."""

    lang: str
    words: list[str]
    heads: list[int]
    relations: list[str]
    tags: list[str]


def read_language(path: Path, lang: str = "") -> list[Sentence]:
    """Read the sentences of a CoNLL-U file.

    Raises:
        TensorMTError: If the file is invalid or has no sentence.
    """
    found = read(files.text(str(path)), f"{path}, ", surface=True)
    if not found.words:
        raise TensorMTError(f"{path}: expected dependency trees (CoNLL-U), found none")
    return [
        Sentence(lang, list(map(whole, words)), heads, [n.split(":")[0] for n in names], tags)
        for words, heads, names, tags in zip(*found, strict=True)
    ]


def dependency_settings(sentences: list[Sentence], recipe: DependencyRecipe) -> Settings:
    """Return the settings of a model for sentences: vocabularies, languages, scripts, sizes."""
    languages = sorted({sentence.lang for sentence in sentences} - {""})
    words = Counter(word.lower() for s in sentences for word in s.words)
    chars = Counter(
        c for s in sentences for word in s.words for c in word_characters(word, recipe.word_chars)
    )
    specials = [*SPECIALS, *map(language_symbol, languages)]
    return {
        "format": DEPENDENCY_FORMAT,
        "kind": DEPENDENCY,
        "args": recipe.model(),
        "spelling": recipe.word_chars,
        "words": [*specials, *_frequent(words, recipe.min_count, specials)],
        "chars": [*specials, *_frequent(chars, recipe.min_chars, specials)],
        "relations": sorted({name for s in sentences for name in s.relations}),
        "tags": sorted({tag for s in sentences for tag in s.tags}),
        "languages": languages,
        "scripts": {lang: seen_scripts(sentences, lang) for lang in languages or [""]},
    }


def _frequent(counts: Counter[str], least: int, without: list[str]) -> list[str]:
    return sorted(name for name, n in counts.items() if n >= least and name not in without)


def seen_scripts(sentences: Iterable[Sentence], lang: str, share: float = 0.01) -> list[str]:
    """Return the scripts of at least a `share` of the words of a language that have letters."""
    counts = Counter(letters_of(word) for s in sentences if s.lang == lang for word in s.words)
    del counts[""]
    return sorted(name for name, n in counts.items() if n >= share * counts.total())


@dataclass(frozen=True)
class DependencyBatch:
    """Sentences as padded ids int64 [B,T+1] after the root; gold is -1 for the root and padding."""

    words: Tensor
    types: Tensor
    chars: Tensor  # int64 [U,C]
    lengths: Tensor  # int64 [B], including the root
    heads: Tensor
    relations: Tensor
    tags: Tensor

    def to(self, device: torch.device) -> "DependencyBatch":
        """Return the batch on another device."""
        return DependencyBatch(*(tensor.to(device) for tensor in vars(self).values()))


class DependencyCorpus(SpanCorpus):
    """Training sentences as ids, which are batched by a token budget, with languages balanced."""

    def __init__(self, sentences: list[Sentence], settings: Settings, balance: float) -> None:
        types = sorted({(s.lang, word) for s in sentences for word in ("", *s.words)})
        row = {pair: i for i, pair in enumerate(types)}
        number = {
            name: {string: i for i, string in enumerate(settings[name])}
            for name in ("relations", "tags")
        }
        self.balance = balance
        self.word, self.chars = CharFeatures(settings)(types)
        self.types = [torch.tensor([row[s.lang, w] for w in ("", *s.words)]) for s in sentences]
        self.gold = [
            (
                torch.tensor([-1, *s.heads]),
                torch.tensor([-1, *(number["relations"][name] for name in s.relations)]),
                torch.tensor([-1, *(number["tags"][tag] for tag in s.tags)]),
            )
            for s in sentences
        ]
        self.members: dict[str, list[int]] = {}
        for i, sentence in enumerate(sentences):
            self.members.setdefault(sentence.lang, []).append(i)

    def chosen(self, shuffle: random.Random) -> list[int]:
        """Return the sentences of one epoch: those of small languages more than once."""
        sizes = {k: sum(len(self.types[i]) for i in v) for k, v in self.members.items()}
        found: list[int] = []
        for lang, members in self.members.items():
            times = (max(sizes.values()) / sizes[lang]) ** self.balance
            found += members * int(times)
            found += shuffle.sample(members, int((times - int(times)) * len(members)))
        return found

    def batch(self, members: list[int]) -> Any:
        """Return the sentences `members` as one padded batch."""
        gold = zip(*(self.gold[i] for i in members), strict=True)
        columns = (pad_sequence(list(column), True, -1) for column in gold)
        return DependencyBatch(*self.numbers(members), *columns)
