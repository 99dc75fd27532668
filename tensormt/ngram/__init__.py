"""The n-gram family: BLEU, NIST, chrF, and the multi-reference weightings BM, BMA and NM."""

from tensormt.ngram.bleu import BLEU
from tensormt.ngram.bm import BM, BMA
from tensormt.ngram.chrf import ChrF
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.nist import NIST, NM
from tensormt.ngram.references import References

__all__ = ["BLEU", "BM", "BMA", "NIST", "NM", "ChrF", "Frequencies", "References"]
