"""ROUGE (Lin 2004): overlap of n-grams, of common subsequences and of pairs of words."""

from tensormt.rouge.rouge import ROUGE

__all__ = ["ROUGE"]
