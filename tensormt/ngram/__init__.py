"""The n-gram metrics: BLEU, NIST, chrF, and the multi-reference weightings BM, BMA and NM.

Importing this package does not import torch; `tensormt.ngram.references` and
`tensormt.ngram.frequencies` do.
"""

from tensormt.ngram.bleu import BLEU
from tensormt.ngram.bm import BM, BMA
from tensormt.ngram.chrf import ChrF
from tensormt.ngram.copied import Copied
from tensormt.ngram.nist import NIST, NM
from tensormt.ngram.offtarget import OffTarget

__all__ = ["BLEU", "BM", "BMA", "NIST", "NM", "ChrF", "Copied", "OffTarget"]
