"""nltk comes without scipy.stats, and its one test of collocations works all the same."""

import math
import subprocess
import sys

import pytest

PROGRAM = """
import importlib, sys
{before}
from tensormt.text.nltk_import import import_nltk
import_nltk()
found = [name in sys.modules for name in ("nltk", "scipy.stats")]
import nltk
table = ({table})
from nltk.metrics.association import BigramAssocMeasures
print(found, BigramAssocMeasures.fisher(*table), importlib.import_module("scipy.stats").__name__)
"""
TABLE = 7, (20, 15), 60  # a pair of words, each of them, all pairs


def printed(before):
    program = PROGRAM.format(before=before, table=", ".join(map(str, TABLE)))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    found, value, name = done.stdout.rsplit(maxsplit=2)
    return found, float(value), name


def fisher():
    """Fisher's exact test as nltk asks for it, so many common pairs or fewer: by counting."""
    both, (one, other), total = TABLE
    ways = sum(math.comb(one, k) * math.comb(total - one, other - k) for k in range(both + 1))
    return ways / math.comb(total, other)


def test_scipy_stats_is_imported_when_it_is_called():
    found, value, name = printed("")
    assert (found, name) == ("[True, False]", "scipy.stats")
    assert math.isclose(value, fisher(), rel_tol=1e-9)


def test_what_is_imported_already_is_left_alone():
    """scipy.stats stays where a caller has it; nltk comes as it is then."""
    found, value, name = printed("import scipy.stats")
    assert (found, name) == ("[False, True]", "scipy.stats")
    assert math.isclose(value, fisher(), rel_tol=1e-9)


def test_without_nltk_nothing_stays_behind():
    """The stand-in for scipy.stats goes even where nltk is not installed."""
    program = """
import sys
sys.modules["nltk.metrics"] = None
from tensormt.errors import TensorMTError
from tensormt.text.nltk_import import import_nltk
try:
    import_nltk()
except TensorMTError:
    print("scipy.stats" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


STEMS = """
import sys, threading
{before}
from tensormt.text.rouge_tokens import stem
found = [stem(word) for word in ("relational", "ties", "the", "hopping")]
loaded = "nltk" in sys.modules, "nltk.corpus" in sys.modules
import nltk
from nltk.stem.porter import PorterStemmer
assert found == [PorterStemmer().stem(word) for word in ("relational", "ties", "the", "hopping")]
assert nltk.word_tokenize and nltk.stem.PorterStemmer is PorterStemmer
print(*loaded)
"""


@pytest.mark.parametrize(
    ("before", "whole"),
    [
        ("", False),
        ("import nltk", True),
        # a thread that could see half of nltk
        ("threading.Thread(target=threading.Event().wait, daemon=True).start()", True),
        # another version of nltk
        ("from tensormt.text import nltk_import; nltk_import.ModuleType = lambda name: None", True),
    ],
)
def test_stems_need_no_other_module_of_nltk(before, whole):
    command = [sys.executable, "-c", STEMS.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == [str(whole)] * 2
