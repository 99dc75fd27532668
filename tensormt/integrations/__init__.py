"""Metrics in evaluation libraries, each in a module that imports the library.

    tensormt.integrations.lm_eval        lm-evaluation-harness: metrics of tasks, by name
    tensormt.integrations.inspect_ai     Inspect: a scorer with corpus metrics and intervals
    evaluate.load(EVALUATE, "chrf")      Hugging Face evaluate: the file that it loads

All give the corpus scores of `tm.score`. None of the libraries is imported here.
"""

from pathlib import Path

from tensormt.integrations.corpus_scores import CorpusScores

__all__ = ["EVALUATE", "CorpusScores"]

EVALUATE = str(Path(__file__).with_name("hf_evaluate.py"))
