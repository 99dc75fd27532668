"""Exceptions and warnings of the package: one sentence that says where, what, and what to do."""

from __future__ import annotations


class TensorMTError(ValueError):
    """Input that cannot be used as it is; the message is one sentence for whoever gave it.

    Args:
        message: Where, what was expected, what came, what to do.
        options: Names of parameters that would help, separated by spaces; the command line adds
            them to the message as its own options ("lang" as --lang, "chunk=10" as --chunk 10).
    """

    def __init__(self, message: str = "", *, options: str = "") -> None:
        super().__init__(message)
        self.options = options


class TensorMTWarning(UserWarning):
    """A result that may mislead.

    Args:
        message: What was found, what to do.
        options: Names of parameters that would help, as in TensorMTError.
    """

    def __init__(self, message: str = "", *, options: str = "") -> None:
        super().__init__(message)
        self.options = options


class NoExplanation(TensorMTError):
    """A metric that does not say what it matched."""


class OutOfRange(TensorMTError, IndexError):
    """A place that a batch does not have; Python's loops over batches end with it."""


class SegmentError(TensorMTError):
    """What is wrong with a segment (counted from 1): «segment 3 has no reference: …»."""

    def __init__(self, segment: int, trouble: str) -> None:
        super().__init__(f"segment {segment} {trouble}")
        self.segment, self.trouble = segment, trouble

    def __reduce__(self) -> tuple[type[SegmentError], tuple[int, str]]:
        return SegmentError, (self.segment, self.trouble)
