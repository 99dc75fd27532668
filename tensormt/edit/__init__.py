"""Error rates: the edits that turn an output into its reference, per token of the reference.

Translation edit rate (TER), word error rate (WER), character error rate (CER) and
position-independent error rate (PER). Lower is better. Importing this package imports no torch.
"""

from tensormt.edit.ter import TER
from tensormt.edit.wer import CER, PER, WER

__all__ = ["CER", "PER", "TER", "WER"]
