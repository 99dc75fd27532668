"""How a model games a reward, and which penalties keep it from that: a toy translator in a minute.

    python examples/gamed_reward.py [--steps 120] [--seed 1]

The toy language has determiners, adjectives, nouns, verbs and adverbs; adjectives, verbs and
adverbs have two translations, of which the reference has one. Its tagger knows the source, the
target and a Cyrillic spelling of it, as a multilingual parser would. For every source word the
model chooses a word of the target, copies the source, writes in Cyrillic, or leaves the word out.
It starts as a poor translator, which copies a fifth of the words, and is trained by policy
gradients (rewards minus the mean of the other samples) on one reward after another:

    rouge:variant=1,balance=precision       it pays to leave out words that may be wrong
    rouge:variant=1                         F1: it does not
    stm:balance=f1                          structure alone: copies and Cyrillic keep it
    stm:balance=f1+copied+offtarget         with the penalties they pay no more
    chrf+stm:balance=f1+copied+offtarget    words, structure, and both penalties

The table shows what the model does in the end: the reward that it was trained on, chrF with the
references, its length, and the shares of copied words and of letters in the wrong script.
"""

import argparse
import random
from collections.abc import Sequence

import torch

import tensormt as tm
from tensormt.train import TextReward, leave_one_out

REWARDS = (
    "rouge:variant=1,balance=precision",
    "rouge:variant=1",
    "stm:balance=f1",
    "stm:balance=f1+copied+offtarget",
    "chrf+stm:balance=f1+copied+offtarget",
)
CLASSES = {"DET": 3, "ADJ": 5, "NOUN": 8, "VERB": 6, "ADV": 3}
AMBIGUOUS = ("ADJ", "VERB", "ADV")
PHRASES = {"DET": "NP", "ADJ": "NP", "NOUN": "NP", "VERB": "VP", "ADV": "ADVP"}
PATTERNS = ("DET NOUN VERB DET ADJ NOUN", "DET ADJ NOUN VERB ADV", "DET NOUN ADV VERB DET NOUN ADV")
CYRILLIC = str.maketrans("aeiouklmnprstvbd", "аеиоуклмнпрствбд")


class Language:
    """Words of both sides by number, with their classes."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        made: set[str] = set()
        while len(made) < 3 * sum(CLASSES.values()):
            made.add("".join(rng.choice("klmnprst") + rng.choice("aeiou") for _ in range(3)))
        words = sorted(made)
        rng.shuffle(words)
        self.kinds = [kind for kind, number in CLASSES.items() for _ in range(number)]
        self.source, self.target = words[: len(self.kinds)], words[len(self.kinds) :]
        self.tags = dict(zip(self.source, self.kinds, strict=True))
        self.choices: list[list[int]] = []  # the translations of each source word
        for k, kind in enumerate(self.kinds):
            self.choices.append([k, len(self.kinds) + k] if kind in AMBIGUOUS else [k])
            for word in (self.target[own] for own in self.choices[-1]):
                self.tags[word] = self.tags[word.translate(CYRILLIC)] = kind
        for word in self.target:  # words that translate nothing
            self.tags.setdefault(word, "NOUN")

    def reference(self, source: list[int], rng: random.Random) -> str:
        """A translation."""
        return " ".join(self.target[rng.choice(self.choices[k])] for k in source)

    def sentence(self, rng: random.Random) -> list[int]:
        """Numbers of the words of a sentence."""
        kinds = rng.choice(PATTERNS).split()
        return [
            rng.choice([k for k, own in enumerate(self.kinds) if own == kind]) for kind in kinds
        ]

    def trees(self, lines: Sequence[str | None]) -> tm.TreeBatch:
        """The tagger with its phrases: what a parser is for real text."""
        found = []
        for line in lines:
            phrases: list[tuple[str, list[str]]] = []
            for word in (line or "").split():
                tag = self.tags[word]
                if not phrases or phrases[-1][0] != PHRASES[tag]:
                    phrases.append((PHRASES[tag], []))
                phrases[-1][1].append(f"({tag} {word})")
            parts = " ".join(f"({name} {' '.join(own)})" for name, own in phrases)
            found.append(f"(S {parts})" if parts else "")
        return tm.TreeBatch.from_brackets(found)


class Translator(torch.nn.Module):
    """For each source word the probabilities of all target words, a copy, Cyrillic, and nothing."""

    def __init__(self, language: Language) -> None:
        super().__init__()
        size = len(language.target)
        start = torch.full((len(language.source), size + 3), 0.006)
        for k, own in enumerate(language.choices):
            start[k, own] += 0.3 / len(own)
        start[:, size:] += torch.tensor([0.15, 0.1, 0.1])
        self.logits = torch.nn.Parameter(start.log())
        self.language = language

    def sample(self, source: list[int], number: int) -> tuple[list[str], torch.Tensor]:
        """Texts [K] and their log-probabilities [K]."""
        chances = torch.distributions.Categorical(logits=self.logits[source])
        drawn = chances.sample((number,))
        return [self.text(source, row) for row in drawn.tolist()], chances.log_prob(drawn).sum(1)

    def text(self, source: list[int], row: list[int]) -> str:
        """The words that were chosen."""
        size, words = len(self.language.target), []
        for own, choice in zip(source, row, strict=True):
            if choice < size:
                words.append(self.language.target[choice])
            elif choice == size:
                words.append(self.language.source[own])
            elif choice == size + 1:
                word = self.language.target[self.language.choices[own][0]]
                words.append(word.translate(CYRILLIC))
        return " ".join(words)


def train(language: Language, spec: str, steps: int, seed: int, samples: int = 16) -> Translator:
    """Train a new model on a reward."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = Translator(language)
    reward = TextReward(spec, language.trees)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.15)
    for _ in range(steps):
        texts, refs, sources, chances = [], [], [], []
        for _ in range(12):
            source = language.sentence(rng)
            own, log_probability = model.sample(source, samples)
            texts += own
            chances.append(log_probability)
            refs += [[language.reference(source, rng)]] * samples
            sources += [" ".join(language.source[k] for k in source)] * samples
        rewards = reward(texts, refs, sources).view(-1, samples)
        loss = -(leave_one_out(rewards).float() * torch.stack(chances)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def measured(language: Language, model: Translator, spec: str, seed: int) -> dict[str, float]:
    """What the model does with new sentences: one sample each."""
    rng = random.Random(seed + 1)
    torch.manual_seed(seed + 1)
    rows = [language.sentence(rng) for _ in range(300)]
    hyps = [model.sample(row, 1)[0][0] for row in rows]
    refs = [language.reference(row, rng) for row in rows]
    sources = [" ".join(language.source[k] for k in row) for row in rows]
    names = list(dict.fromkeys([spec, "chrf", "copied", "offtarget"]))
    found = tm.score(hyps, [refs], names, language.trees, sources=sources)
    return {
        "reward": float(found.segments[spec].mean()),
        "chrF": found.corpus["chrf"],
        "length": sum(len(h.split()) for h in hyps) / sum(len(r.split()) for r in refs),
        "copied": found.corpus["copied"],
        "offtarget": found.corpus["offtarget"],
    }


def run(steps: int = 120, seed: int = 1) -> dict[str, dict[str, float]]:
    """The measures before training, and after training on each of the rewards."""
    language = Language(seed)
    found = {"before": measured(language, Translator(language), REWARDS[-1], seed)}
    for spec in REWARDS:
        found[spec] = measured(language, train(language, spec, steps, seed), spec, seed)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = run(options.steps, options.seed)
    print(f"{'trained on':38}" + "".join(f"{name:>11}" for name in found["before"]))
    for name, row in found.items():
        print(f"{name:38}" + "".join(f"{value:11.2f}" for value in row.values()))


if __name__ == "__main__":
    main()
