"""The one exception family: one sentence with where, what was expected, what came, what to do."""

from __future__ import annotations

__all__ = ["NoExplanation", "NoReference", "TensorMTError"]


class TensorMTError(ValueError):
    """Input that cannot be used as it is; the message is one sentence for whoever gave it."""


class NoExplanation(TensorMTError):
    """A metric that does not say what it matched."""


class NoReference(TensorMTError):
    """A segment (counted from 1) without any reference."""

    def __init__(self, segment: int, advice: str) -> None:
        super().__init__(f"segment {segment} has no reference: {advice}")
        self.segment, self.advice = segment, advice

    def after(self, segments: int) -> NoReference:
        """The same for a segment that stands behind so many others."""
        return NoReference(self.segment + segments, self.advice)

    def __reduce__(self) -> tuple[type[NoReference], tuple[int, str]]:
        return NoReference, (self.segment, self.advice)
