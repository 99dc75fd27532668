"""Segments that several n-gram tests share: random ones, and Qin & Specia's gunman."""

from __future__ import annotations

import random

from tensormt.text.tokens import TokenBatch

GUNMAN = "Gunman is shot dead by police."
GUNMAN_REFS = [
    "The gunman was shot to death by the police.",
    "Police killed the gunman.",
    "The gunman was shot dead by the police.",
    "The gunman was shot to death by the police.",
]
LETTERS = "aaabbcdefg"


def corpus(seed: int, size: int, streams: int) -> tuple[list[list[str]], list[list[list[str]]]]:
    """Random segments: hypotheses of 0 to 12 tokens, references of which some are absent."""
    rng = random.Random(seed)

    def tokens() -> list[str]:
        return rng.choices(LETTERS, k=rng.choice([0, 1, 2, 4, 6, 9, 12]))

    hyps = [tokens() for _ in range(size)]
    refs = [[tokens() for _ in range(streams)] for _ in range(size)]
    for own in refs:
        if not any(own):
            own[rng.randrange(streams)] = ["a", "b", "a"]
    return hyps, refs


def batch(segments: list[list[str]]) -> TokenBatch:
    return TokenBatch.from_text([" ".join(s) for s in segments], tokenize="none", lowercase=True)


def read(hyps: list[list[str]], refs: list[list[list[str]]]) -> tuple[TokenBatch, list[TokenBatch]]:
    return batch(hyps), [batch([own[k] for own in refs]) for k in range(len(refs[0]))]
