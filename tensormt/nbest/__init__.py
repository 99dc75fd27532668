"""Several outputs for one input: which one to choose, and how much they differ.

`rerank` chooses by minimum Bayes risk with any metric; `diversity` measures self-BLEU, self-STM or
any other metric among the outputs, and distinct n-grams.
"""

from tensormt.nbest.diversity_scores import Diversity, diversity
from tensormt.nbest.reranking import Reranked, rerank

__all__ = ["Diversity", "Reranked", "diversity", "rerank"]
