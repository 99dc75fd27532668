"""Error rates: the edits that turn an output into its reference, per token of the reference.

Word error rate (WER), character error rate (CER) and position-independent error rate (PER). Lower
is better. Importing this package does not import torch.
"""

from tensormt.edit.wer import CER, PER, WER

__all__ = ["CER", "PER", "WER"]
