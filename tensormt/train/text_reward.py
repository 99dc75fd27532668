"""Rewards of sampled text by any metric, with a parser for metrics on trees.

    reward = TextReward(tm.STM(balance="f1"), parser="default", device="cuda")
    reward(texts, refs)                          # texts [n], refs [n][R]       → float64 [n]
    reward.samples(texts, refs)                  # texts [B][K], refs [B][R]    → float64 [B,K]
    reward.ids(samples, refs, tokenizer)         # ids [B,K,T]                  → float64 [B,K]
    GRPOTrainer(reward_funcs=[reward.grpo("references")], …)                    # on 0–1

The parser works in batches on its device; trees are cached (parser/cache.py), so references and
repeated samples are parsed once per run. Since texts are compared, samples of any tokenizer can be
rewarded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Sequence
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from tensormt.data.coercion import as_lines, as_list
from tensormt.errors import TensorMTError, TensorMTWarning
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.parser import Parser
from tensormt.scoring import read_segments
from tensormt.segments import Segments
from tensormt.stored_scores import StoredInput
from tensormt.text_warnings import warn_of_texts
from tensormt.train.naming import as_metric
from tensormt.train.rewards import Reward
from tensormt.train.special_tokens import decode_texts
from tensormt.train.trainers import GrpoReward, OpenRLHFReward, VerlAsyncReward, VerlReward
from tensormt.trees.sources import TreeSource

TreeSourceLike = TreeSource | Parser | str | PathLike[str] | None


def text_segments(texts: Any, refs: Any, data: Any = None, sources: Any = None) -> Segments:
    """Return segments of one system: texts [n] with their references `[n][R]`.

    Args:
        texts: List, or column of numpy, pandas, polars or Arrow; None and NaN are empty texts.
        refs: List or column of lists, one for each text.
        data: Table whose columns `texts`, `refs` and `sources` name, as `tm.score` takes it.
        sources: The source of each text; None: not given.

    Raises:
        TensorMTError: If a string is passed instead of a list, or numbers of rows differ.

    >>> len(text_segments(["a", "b"], [["a"], ["b", "c"]]).references)
    2
    """
    if data is not None:
        return read_segments(texts, refs, sources=sources, data=data)
    rows = [texts, refs] if isinstance(texts, str) else as_list(refs, "refs")
    if any(isinstance(row, str) for row in rows):
        raise TensorMTError("texts is a list of strings, refs a list of lists: got one string")
    lines = as_lines(texts, "texts")
    if len(lines) != len(rows):
        raise TensorMTError(
            f"{len(lines)} texts but references for {len(rows)}: pass one list of references per "
            "text"
        )
    given = [() if row is None else row for row in rows]
    return read_segments(lines, given, sources=sources, rows=True)


def fitted_evaluator(
    metric: Metric[Any],
    parser: TreeSourceLike,
    device: str | torch.device | None,
    fit_on: Sequence[str] | None,
) -> Evaluator:
    """Return an evaluator of a metric, with counts of the references `fit_on` if it needs some.

    Raises:
        TensorMTError: If the metric needs trees without a parser or has stored scores, or `fit_on`
            is no list of texts.
    """
    if isinstance(metric.reads, StoredInput):
        raise TensorMTError(
            f"{metric.name} has stored scores, which belong to the outputs of a test set: take a "
            "metric that scores any text"
        )
    found = Evaluator({metric.name: metric}, parser, device)
    if fit_on is None:
        return found
    texts = [
        text for text in as_list(fit_on, "fit_on") if not isinstance(text, str) or text.strip()
    ]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise TensorMTError("fit_on holds no texts: pass a list of references, each a str")
    return found.fit(Segments({}, [texts]))


class TextReward:
    """A metric as a reward of text.

    Args:
        metric: Any metric, or its name with options.
        parser: A parser, its name or path, or another source of trees, for metrics on trees.
        device: Device of parser and metric; None: CPU.
        fit_on: References of the training set, for metrics that need counts of them (NIST, idf) and
            are not fitted; they are counted once.

    Raises:
        TensorMTError: If the metric needs counts and has none, or trees without a parser.

    >>> from tensormt.ngram.bleu import BLEU
    >>> TextReward(BLEU())(["the cat sat down"], [["the cat sat down"]]).round(decimals=6)
    tensor([100.], dtype=torch.float64)
    """

    def __init__(
        self,
        metric: Metric[Any] | str,
        parser: TreeSourceLike = None,
        device: str | torch.device | None = None,
        fit_on: Sequence[str] | None = None,
    ) -> None:
        metric = as_metric(metric)
        if metric.needs_fit and fit_on is None:
            raise TensorMTError(
                f"{metric.name} needs counts of all references: pass the references of the "
                "training set as fit_on"
            )
        self.device = device
        self._is_new = True
        self.evaluator = fitted_evaluator(metric, parser, device, fit_on)
        self.metric = metric = self.evaluator.metrics[metric.name]
        trees = self.evaluator.trees
        # names of rewards include the parser unless it is the default
        default = trees is None or parser == "default"
        self._variant = "" if default else str(getattr(trees, "fingerprint", "parsed"))

    def __call__(self, texts: Any, refs: Any, sources: Any = None, *, data: Any = None) -> Tensor:
        """Compute rewards float64 [n] of texts [n] with references `[n][R]`: segment scores.

        A reward rises with quality: an error rate counts as 1 - score / scale, but at least 0.

        Args:
            texts: List, or column of numpy, pandas, polars or Arrow.
            refs: List or column of lists, one for each text.
            sources: The source of each text, for metrics that read it (`copied`).
            data: Data frame, Arrow table, dataset or dictionary of columns; texts, refs and sources
                are then names of columns, refs one name or several, as in `tm.score`.

        Raises:
            TensorMTError: If texts and references do not align.
        """
        found = self._scores(texts, refs, sources, data)
        return found if self.metric.higher_is_better else self.metric.on_unit_scale(found)

    def _scores(self, texts: Any, refs: Any, sources: Any = None, data: Any = None) -> Tensor:
        """Segment scores on the metric's own scale."""
        segments = text_segments(texts, refs, data, sources)
        outputs = segments.outputs[""]
        if not outputs:
            return torch.zeros(0, dtype=torch.float64, device=self.device)
        if self._is_new:  # a language shows in the first batch
            self._is_new = False
            texts = [text for stream in segments.references for text in stream if text]
            warn_of_texts(self.evaluator.metrics, (), texts, "references")
        if not any(text and not text.isspace() for text in outputs):
            self._warn(f"all {len(outputs)} texts of this batch are empty")
        if self.metric.reads.uses_sources:
            none = sum(not (text or "").strip() for text in segments.sources or ())
            if none:
                self._warn(
                    f"{none} of {len(outputs)} texts of this batch have no source text: nothing "
                    "in them counts as copied"
                )
        return self.evaluator.segment_scores(segments)[self.metric.name][0]

    def _warn(self, message: str) -> None:
        warnings.warn(TensorMTWarning(f"reward by {self.metric.name}: {message}"), stacklevel=4)

    def samples(
        self,
        texts: Sequence[Sequence[str]],
        refs: Sequence[Sequence[str | None]],
        sources: Sequence[str | None] | None = None,
    ) -> Tensor:
        """Compute segment scores float64 [B,K] of texts `[B][K]` with references `[B][R]`.

        Args:
            texts: The samples of each segment.
            refs: The references of each segment.
            sources: The source text of each segment, for metrics that read it (`copied`).

        Raises:
            TensorMTError: If numbers of samples differ, or texts and references do not align.
        """
        number = {len(row) for row in texts}
        if isinstance(sources, str) or (sources is not None and len(sources) != len(texts)):
            number_of = 1 if isinstance(sources, str) else len(sources)
            raise TensorMTError(f"{len(texts)} segments, sources for {number_of}: pass a list")
        if len(number) != 1 or len(texts) != len(refs):
            raise TensorMTError(
                f"{len(texts)} segments with {sorted(number)} samples, references for {len(refs)}: "
                "expected texts [B][K] with one K, and refs [B][R]"
            )
        flat = [text for row in texts for text in row]
        every = [row for row, own in zip(refs, texts, strict=True) for _ in own]
        each = None
        if sources is not None:
            each = [source for source, own in zip(sources, texts, strict=True) for _ in own]
        return self(flat, every, each).view(len(texts), -1)

    def ids(
        self,
        samples: Tensor,
        refs: Sequence[Sequence[str | None]],
        tokenizer: Any,
        model: Any = None,
        sources: Sequence[str | None] | None = None,
    ) -> Tensor:
        """Compute segment scores of token ids, which a tokenizer decodes.

        Args:
            samples: Token ids, int [B,K,T].
            refs: References `[B][R]`.
            tokenizer: Hugging Face tokenizer, whose special ids are left out; or a function from
                lists of ids to texts.
            model: Model whose configuration has further special ids.
            sources: The source text of each segment, for metrics that read it (`copied`).

        Returns:
            Segment scores, float64 [B,K].
        """
        size, number = samples.shape[:2]
        ids = samples.flatten(0, 1)
        # a tokenizer, or its method `batch_decode`, which would decode special ids, too
        owner = getattr(tokenizer, "__self__", tokenizer)
        special = hasattr(owner, "all_special_ids")
        flat = decode_texts(ids, owner, model) if special else list(tokenizer(ids.tolist()))
        rows = [flat[b * number : (b + 1) * number] for b in range(size)]
        return self.samples(rows, refs, sources)

    def utility(
        self, texts: Sequence[Sequence[str]], refs: Sequence[Sequence[str]] | None = None
    ) -> Tensor:
        """Score every sample with every pseudo-reference alone (train/mbr.py).

        Args:
            texts: Samples `[B][H]`.
            refs: Pseudo-references `[B][R]`; None: the samples.

        Returns:
            Scores of hypothesis i with reference j, float64 [B,H,R]; 0 for empty references.

        Raises:
            TensorMTError: If numbers of texts differ.
        """
        pools = [*texts, *(texts if refs is None else refs)]
        hyps, others = pools[: len(texts)], pools[len(texts) :]
        shape = (len(texts), _one_size(hyps, "samples"), _one_size(others, "references"))
        if len(others) != len(hyps):
            raise TensorMTError(
                f"{len(hyps)} segments, references for {len(others)}: the numbers must be equal"
            )
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
        """Score every sample with the average of the pseudo-references; see `Reward.aggregate`.

        Args:
            texts: Samples `[B][H]`.
            refs: Pseudo-references `[B][R]`; None: the samples.
            weights: Weights of the references, [B,R]; None: equal.
            log_probabilities: Log-probabilities of the references [B,R], instead of weights.

        Returns:
            Scores float64 [B,H].

        Raises:
            TensorMTError: If the metric is not one of clipped matches.
        """
        if not self._counts_ids:
            raise TensorMTError(
                f"{self.metric.name} does not support averaged references: use a metric of "
                "clipped matches such as BLEU, or utility()"
            )
        own = self._ids(texts, texts if refs is None else refs)
        found = Reward(self.metric).aggregate(
            *own, weights=weights, log_probabilities=log_probabilities
        )
        return found.to(self.device)

    @property
    def _counts_ids(self) -> bool:
        """Whether the metric can be computed from token ids, so that each text is read once."""
        by_tokens = getattr(self.metric, "counts_tokens", False)
        return by_tokens and not getattr(self.metric, "needs_frequencies", True)

    def _ids(
        self, texts: Sequence[Sequence[str]], refs: Sequence[Sequence[str]]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Token ids and lengths of texts `[B][H]` and references `[B][R]`."""
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
        self,
        column: str = "references",
        *,
        source: str | None = None,
        name: str | None = None,
        scale: float = 1.0,
    ) -> GrpoReward:
        """Return a reward function for TRL's trainers; `.asynchronous()` returns an async one.

        Completions are texts or chats, of which the last message of the assistant is scored.

        Args:
            column: Column of the data set with the reference of each prompt, or a list of them, as
                text or messages; the reward of a row without references is None.
            source: Column of the data set with the source text, for metrics that read it.
            name: Name in logs; None: made from the metric and the options.
            scale: Largest reward.
        """
        return GrpoReward(
            self.metric, self._scores, column, name, scale, source=source, more=self._variant
        )

    def verl(self, *, source: str | None = None, scale: float = 1.0) -> VerlReward:
        """Return `compute_score` for verl, which calls it for one sample at a time.

        Args:
            source: Key of `extra_info` with the source text, for metrics that read it.
            scale: Largest reward.
        """
        return VerlReward(self.metric, self._scores, scale, source)

    def verl_async(
        self,
        *,
        source: str | None = None,
        scale: float = 1.0,
        wait: float = 0.002,
        most: int = 1024,
    ) -> Callable[..., Coroutine[Any, Any, float]]:
        """Return an `async` `compute_score` for verl, which scores concurrent samples as a batch.

        Args:
            source: Key of `extra_info` with the source text, for metrics that read it.
            scale: Largest reward.
            wait: Seconds that a first sample waits for others.
            most: Largest batch.
        """
        return VerlAsyncReward(self.verl(source=source, scale=scale), wait, most).compute_score

    def openrlhf(
        self,
        special: Any = None,
        *,
        source: Callable[[str], str] | None = None,
        scale: float = 1.0,
    ) -> OpenRLHFReward:
        """Return `reward_func` for OpenRLHF.

        OpenRLHF passes prompt and answer as one text with special tokens. The prompt is removed,
        and it is an error if it cannot be found (train/query_answer.py).

        Args:
            special: Hugging Face tokenizer of the model, which also aligns prompts that were
                truncated, or a list of special tokens such as ["</s>"], which are removed.
            source: Function from a prompt to the source text in it, for metrics that read it.
            scale: Largest reward.
        """
        return OpenRLHFReward(self.metric, self._scores, scale, special, source)

    def __repr__(self) -> str:
        return f"TextReward({self.metric!r})"


def _one_size(rows: Sequence[Sequence[str]], what: str) -> int:
    """The number of texts that every segment has."""
    sizes = {len(row) for row in rows}
    if len(sizes) > 1 or any(isinstance(row, str) for row in rows):
        raise TensorMTError(f"segments have {sorted(sizes)} {what}: expected lists of equal length")
    return sizes.pop() if sizes else 0
