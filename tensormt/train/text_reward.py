"""Rewards of sampled text, by any of the metrics: a parser in the loop where they read trees.

    reward = TextReward(tm.STM(balance="f1"), parser="default", device="cuda")
    reward(texts, refs)                          # texts [n], refs [n][R]       → float64 [n]
    reward.samples(texts, refs)                  # texts [B][K], refs [B][R]    → float64 [B,K]
    reward.ids(samples, refs, tokenizer)         # ids [B,K,T]                  → float64 [B,K]
    GRPOTrainer(reward_funcs=[reward.grpo("references")], …)                    # on 0–1

The parser works in batches on its device; trees are kept by text (parser/cache.py), so
references and repeated samples are parsed once in a run. Text is what is compared, so samples of
any tokenizer can be rewarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.parser import Parser
from tensormt.segments import Segments
from tensormt.train.rewards import Reward
from tensormt.train.special_tokens import decoded, warn_all_empty
from tensormt.train.trainers import GrpoReward, OpenRLHFReward, VerlReward
from tensormt.trees.sources import TreeSource

Source = TreeSource | Parser | str | PathLike[str] | None


def text_segments(texts: Sequence[str | None], refs: Sequence[Sequence[str | None]]) -> Segments:
    """Return segments of one system: texts [n] with their references [n][R].

    Raises:
        TensorMTError: If a string takes the place of a list, or there are not as many rows.
    """
    if isinstance(texts, str) or any(isinstance(row, str) for row in refs):
        raise TensorMTError("texts is a list of strings, refs a list of lists: got one string")
    if len(texts) != len(refs):
        raise TensorMTError(
            f"{len(texts)} texts but references for {len(refs)}: give one list of references a text"
        )
    return Segments.from_rows({"": texts}, refs)


class TextReward:
    """A metric as a reward for text; `parser`: a Parser, its name or path, or a tree source."""

    def __init__(
        self,
        metric: Metric[Any],
        parser: Source = None,
        device: str | torch.device | None = None,
    ) -> None:
        if metric.needs_fit:
            raise TensorMTError(
                f"{metric.name} needs n-gram counts that do not change from batch to batch: "
                "call metric.fit with all references first"
            )
        self.metric, self.device = metric, device
        self.evaluator = Evaluator({metric.name: metric}, parser, device)
        trees = self.evaluator.trees
        # another parser than the default one shows in the names of rewards
        usual = trees is None or parser == "default"
        self._variant = "" if usual else str(getattr(trees, "fingerprint", "parsed"))

    def __call__(self, texts: Sequence[str], refs: Sequence[Sequence[str | None]]) -> Tensor:
        """Segment scores, float64 [n], of texts [n] with references [n][R]."""
        if not texts:
            return torch.zeros(0, dtype=torch.float64, device=self.device)
        if not any(text and not text.isspace() for text in texts):
            warn_all_empty(len(texts))
        return self.evaluator.segment_scores(text_segments(texts, refs))[self.metric.name][0]

    def samples(
        self, texts: Sequence[Sequence[str]], refs: Sequence[Sequence[str | None]]
    ) -> Tensor:
        """Float64 [B,K] of texts [B][K] with references [B][R]."""
        number = {len(row) for row in texts}
        if len(number) != 1 or len(texts) != len(refs):
            raise TensorMTError(
                f"{len(texts)} segments with {sorted(number)} samples, references for {len(refs)}: "
                "expected texts [B][K] with one K, and refs [B][R]"
            )
        flat = [text for row in texts for text in row]
        every = [row for row, own in zip(refs, texts, strict=True) for _ in own]
        return self(flat, every).view(len(texts), -1)

    def ids(
        self,
        samples: Tensor,
        refs: Sequence[Sequence[str | None]],
        tokenizer: Any,
        model: Any = None,
    ) -> Tensor:
        """Float64 [B,K] of token ids [B,K,T], made text by a Hugging Face tokenizer.

        Special ids are left out (SpecialIds.from_tokenizer; `model` knows the decoder's start). A
        function of one's own is given lists of ids as they are.
        """
        size, number = samples.shape[:2]
        ids = samples.flatten(0, 1)
        # a tokenizer, or its method `batch_decode`, which would read special ids as words
        owner = getattr(tokenizer, "__self__", tokenizer)
        special = hasattr(owner, "all_special_ids")
        flat = decoded(ids, owner, model) if special else list(tokenizer(ids.tolist()))
        return self.samples([flat[b * number : (b + 1) * number] for b in range(size)], refs)

    def utility(
        self, texts: Sequence[Sequence[str]], refs: Sequence[Sequence[str]] | None = None
    ) -> Tensor:
        """Every sample [B][H] with every pseudo-reference [B][R] alone, float64 [B,H,R].

        [b,i,j] has i as the hypothesis and j as the reference, which are the samples where none are
        given; an empty reference scores 0. See train/mbr.py.
        """
        pools = [*texts, *(texts if refs is None else refs)]
        hyps, others = pools[: len(texts)], pools[len(texts) :]
        shape = (len(texts), _one_size(hyps, "samples"), _one_size(others, "references"))
        if len(others) != len(hyps):
            raise TensorMTError(f"{len(hyps)} segments, references for {len(others)}: give as many")
        if self._counts_ids:
            own = self._ids(hyps, others)
            return Reward(self.metric).utility(*own).to(self.device)
        flat = [(i, j) for row, own in zip(hyps, others, strict=True) for i in row for j in own]
        real = torch.tensor([bool(j.strip()) for _, j in flat], device=self.device)
        found = torch.zeros(len(flat), dtype=torch.float64, device=self.device)
        present = [pair for pair in flat if pair[1].strip()]
        found[real] = self([i for i, _ in present], [[j] for _, j in present])
        return found.view(shape)

    def aggregate(
        self,
        texts: Sequence[Sequence[str]],
        refs: Sequence[Sequence[str]] | None = None,
        *,
        weights: Tensor | None = None,
        log_probabilities: Tensor | None = None,
    ) -> Tensor:
        """Every sample [B][H] with the average of the references [B][R]; see `Reward.aggregate`."""
        if not self._counts_ids:
            raise TensorMTError(
                f"{self.metric.name} has no average of references: take a metric of clipped "
                "matches such as BLEU, or utility()"
            )
        own = self._ids(texts, texts if refs is None else refs)
        found = Reward(self.metric).aggregate(
            *own, weights=weights, log_probabilities=log_probabilities
        )
        return found.to(self.device)

    @property
    def _counts_ids(self) -> bool:
        """Whether the metric can compare the ids of tokens: then each text is read once."""
        by_tokens = getattr(self.metric, "counts_tokens", False)
        return by_tokens and not getattr(self.metric, "needs_frequencies", True)

    def _ids(
        self, texts: Sequence[Sequence[str]], refs: Sequence[Sequence[str]]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Token ids and lengths of texts [B][H] and references [B][R], as the metric reads them."""
        _one_size(texts, "samples"), _one_size(refs, "references")
        flat: list[str | None] = [text for row in (*texts, *refs) for text in row]
        (tokens,) = self.metric.reads.batches(self.evaluator.prepare(Segments({}, [flat])))
        reads: Any = self.metric.reads
        tokens = tokens.lowered if reads.lowercase else tokens
        ids, lengths, number = tokens.ids, tokens.lengths, sum(map(len, texts))
        shapes = [(len(rows), len(rows[0]) if rows else 0) for rows in (texts, refs)]
        return (
            ids[:number].view(*shapes[0], -1),
            lengths[:number].view(shapes[0]),
            ids[number:].view(*shapes[1], -1),
            lengths[number:].view(shapes[1]),
        )

    def grpo(
        self, column: str = "references", *, name: str | None = None, scale: float = 1.0
    ) -> GrpoReward:
        """A reward function as TRL's trainers call it; `.asynchronous()` is its awaited twin.

        `column` of the data set holds each prompt's reference, or a list of them: text or messages;
        where there is none the reward is None. Completions are text or chats, of which the
        assistant's last message is scored. Rewards are on 0–`scale`; `name` is what they are logged
        by: without it a name that tells rewards of different settings apart.
        """
        return GrpoReward(self.metric, self, column, name, scale, more=self._variant)

    def verl(self, *, scale: float = 1.0) -> VerlReward:
        """`compute_score` of verl's batch reward manager (written from its documentation)."""
        return VerlReward(self.metric, self, scale)

    def openrlhf(self, *, scale: float = 1.0) -> OpenRLHFReward:
        """`reward_func` of OpenRLHF (written from its documentation)."""
        return OpenRLHFReward(self.metric, self, scale)

    def __repr__(self) -> str:
        return f"TextReward({self.metric!r})"


def _one_size(rows: Sequence[Sequence[str]], what: str) -> int:
    """The number of texts that every segment has."""
    sizes = {len(row) for row in rows}
    if len(sizes) > 1 or any(isinstance(row, str) for row in rows):
        raise TensorMTError(
            f"segments have {sorted(sizes)} {what}: expected lists of as many texts for each"
        )
    return sizes.pop() if sizes else 0
