"""Time is linear in the length of the input: readers, tokenisers and splitters of all languages.

Each is run on n and on 4 n characters of a pattern, and the processor time must grow by less than a
factor of 6. What takes less than `FAST` on 4 n characters is not measured further: the sizes are
such that a quadratic function takes longer.
"""

import gc
import gzip
import json
import time
from contextlib import suppress
from functools import cache

import pytest

from tensormt.data import (
    csv_text,
    files,
    human_scores,
    row_reader,
    shard_reader,
    shards,
    tree_files,
)
from tensormt.data.row_columns import Columns
from tensormt.data.sgml import _Reader
from tensormt.errors import TensorMTError
from tensormt.text import plain_tokens, sentences, tokenizer, words
from tensormt.trees import bracketing, conllu, penn, plain_trees
from tensormt.trees.batch import TreeBatch

pytestmark = pytest.mark.heavy(needs="minutes")

FAST = 0.03  # seconds
LIMIT = 6


def seconds(function, argument):
    """Processor time without garbage collection; to refuse an input must not take longer either."""
    gc.disable()
    try:
        began = time.process_time()
        with suppress(TensorMTError):
            function(argument)
        return time.process_time() - began
    finally:
        gc.enable()


def growth(function, make, size):
    """How much longer 4 n characters take than n; 1 if they are fast."""
    large = make(4 * size)
    slow = seconds(function, large)
    if slow < FAST:
        return 1.0
    small = make(size)
    quick = seconds(function, small)
    for _ in range(3):  # a process beside this one may have taken the cache
        if slow < LIMIT * quick:
            break
        slow, quick = min(slow, seconds(function, large)), max(quick, seconds(function, small))
    return slow / quick


def check(function, patterns, size):
    bad = []
    for pattern, make in patterns.items():
        found = growth(function, make, size)
        if found >= LIMIT:
            bad.append(f"{pattern!r}: {found:.1f} times")
    assert not bad, bad


def test_a_quadratic_function_is_found():
    def quadratic(text):
        return sum(a == b for a in text[::20] for b in text[::20])

    with pytest.raises(AssertionError, match=r"'a': \d+\.\d times"):
        check(quadratic, {"a": lambda n: "a" * n}, 10_000)


# --- text -----------------------------------------------------------------------------------------

UNITS = """
. ... … ! !? ." .) 。 。」 - -- a- a. a... .a a' ' '' " “ l' d’ a@ a@b. @ # #a www. http:// 1. 1,
1.1 1/ a/b & &amp; &#1; < <skipped> ( ) [ = * ` `` ~ $ % _ a_ x X 1 ß 字 가 🙂 Σ İ a:b -t-il s-a
gonna cannot
""".split()
SPACED = """
. ... … ! ?" ." .) U.S. (x.Y) A. Dr. 3. a. a... ." " '' 。 - a- l'a s-a "a" 'b' gonna a,
""".split()
UNITS += [f"{unit} " for unit in SPACED]
UNITS += [
    "(x. Y) ",
    ". ) ",
    '. " ',
    "a. A",
    " ",
    "\t",
    "\u00a0",
    "\u2028",
    "\x1c",
    "\n",
    "-\n",
    "\r",
]
UNITS += ["\u0301", "a\u200d", "http://a ", "a@b.c ", "\ufeff"]


def repeated(unit, before, after):
    return lambda size: before + unit * (size // len(unit)) + after


TEXTS = {
    (before, unit, after): repeated(unit, before, after)
    for unit in UNITS
    for before, after in (("", ""), ("a", " a"))
}
LANGUAGES = [
    "",
    *sorted(
        {*words._KNOWN, *words._ORDINALS, *words._APART, *words._CUT_HYPHENS}
        | {*words._ELISION, *words._HANGING, "ja", "zh", "ar"}
    ),
]


@cache
def check_language(lang):
    check(words.Words(lang).tokens, TEXTS, 2_500)
    check(words.Words(lang).sentences, TEXTS, 5_000)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_words_and_sentences_of_a_language(lang):
    """Of languages that share all rules but their abbreviations one is measured."""
    groups = (words._ORDINALS, words._APART, words._ELISION, {"fr"}, {"ro"})

    def rules(name):
        return words._pattern(name).pattern, [name in group for group in groups]

    check_language(next(name for name in LANGUAGES if rules(name) == rules(lang)))


@pytest.mark.parametrize("hyphens", [True, False])
def test_penn_tokens(hyphens):
    check(lambda text: sentences.tokenize(text, hyphens), TEXTS, 1_500)


@pytest.mark.parametrize("name", [*plain_tokens.NATIVE, "intl", "zh"])
def test_tokenizers(name):
    cut = tokenizer.characters if name in plain_tokens.CHARACTERS else tokenizer.tokenize
    size = 10_000 if name in plain_tokens.NATIVE else 2_500
    check(lambda text: cut([text], name, True), TEXTS, size)
    check(lambda text: plain_tokens.tokenize([text], name, True), TEXTS, size)


def test_tokens_to_sentences():
    rows = {
        unit: (lambda size, unit=unit: unit.split() * size) for unit in ("a", '. "', '" .', ".")
    }
    check(sentences.split_tokens, rows, 50_000)
    check(lambda row: sentences.cut(row, 4), rows, 50_000)


# --- files ----------------------------------------------------------------------------------------

LINES = {
    unit: (lambda size, unit=unit: unit * (size // len(unit))) for unit in ("a", "\n", "\r", "a\n")
}
MARKUP = """
<![CDATA[ <!-- <! <? </ </a <a < <a<b <a/ ]]> --> " ' & &# &#x &#1; &amp <seg> </seg> <seg <!> <a=
<!DOCTYPE <![ <!- <a> <seg/> <seg>a</seg> <!-- --> <![CDATA[a]]> <a"b
""".split()
MARKUP += [
    "<a ",
    '<a b="',
    "<a b='",
    "<a b=",
    "<a / ",
    "<a b = ",
    '<a b="c" ',
    "<!DOCTYPE a [<!-- ",
]
HEADS = ("", "<tstset><doc><seg>", "<!--", '<a b="', "<![CDATA[", "<!DOCTYPE a [", "<a b='")
ROWS = {
    ".jsonl": {
        "one text": lambda n: json.dumps({"hypothesis": "a" * n, "reference": "b"}),
        "references": lambda n: json.dumps({"hypothesis": "a", "references": ["b"] * n}),
        "columns": lambda n: json.dumps(
            {"hypothesis": "a", **{f"reference{k}": "b" for k in range(n)}}
        ),
        "other keys": lambda n: json.dumps({f"key{k}": "b" for k in range(n)}),
        "one key": lambda n: "{" + '"hypothesis": "a", ' * n + '"reference": "b"}',
        "last key": lambda n: json.dumps({f"k{k}": 1 for k in range(n)})[:-1] + ', "k0": 2}',
        "nested": lambda n: '{"hypothesis": ' + "[" * n,
        "digits": lambda n: '{"hypothesis": ' + "1" * n + "}",
        "rows": lambda n: '{"hypothesis": "a", "reference": "b"}\n' * n,
        "bad row": lambda n: '{"hypothesis": "a", "reference": "b"}\n' * n + "x",
    },
    ".tsv": {
        "columns": lambda n: "\t".join(["hypothesis", *(f"reference{k}" for k in range(n))]),
        "cells": lambda n: "hypothesis\treference\n" + "\t" * n,
        "rows": lambda n: "hypothesis\treference\n" + "a\tb\n" * n,
    },
    ".csv": {
        unit: (lambda n, unit=unit: 'hypothesis,reference\n"a' + unit * n)
        for unit in ('"', '""', ",", '",', '","', "\n", '"\n', '"\n"', "a\n", '"a"')
    },
}
SCORES = {
    "rows": lambda n: "a\t1.0\n" * n,
    "systems": lambda n: "".join(f"s{k} 1\n" for k in range(n)),
}


@pytest.fixture
def reading(tmp_path):
    """Makes a function that writes a text to a file of that suffix and reads it."""

    def make(suffix, read):
        path = tmp_path / f"file{suffix}"

        def function(text):
            data = text.encode("utf-8", "surrogatepass")
            path.write_bytes(gzip.compress(data, 1) if suffix.endswith(".gz") else data)
            return read(str(path))

        return function

    return make


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_lines(reading, suffix):
    check(reading(suffix, lambda path: list(files.lines(path, block_size=4096))), LINES, 1_000_000)
    check(reading(suffix, files.count_lines), LINES, 1_000_000)
    check(reading(suffix, files.text), LINES, 1_000_000)


def test_markup():
    texts = {(head, unit): repeated(unit, head, "") for head in HEADS for unit in MARKUP}
    check(lambda text: _Reader("x").read(text), texts, 20_000)


@pytest.mark.parametrize("suffix", ROWS)
def test_rows(reading, suffix):
    def shard_rows(path):
        for shard in shards.cut_files([path], 1 << 20):
            list(shard_reader.read_records(shard, Columns()))

    check(reading(suffix, lambda path: list(row_reader.read_rows(path))), ROWS[suffix], 5_000)
    check(reading(suffix, shard_rows), ROWS[suffix], 5_000)
    if suffix == ".csv":
        check(lambda text: list(csv_text.csv_rows(text.split("\n"), "x")), ROWS[suffix], 20_000)


def test_human_scores(reading):
    check(reading(".seg.score", human_scores.read_scores), SCORES, 10_000)


# --- trees ----------------------------------------------------------------------------------------

BRACKETS = {
    "deep": lambda n: "(S " * n + "(X a)" + ")" * n,
    "deep, a bare word": lambda n: "(S " * n + "a" + ")" * n,
    "deep outer nodes": lambda n: "(ROOT " * n + "(X a)" + ")" * n,
    "deep nameless nodes": lambda n: "( " * n + "(X a)" + ")" * n,
    "deep and empty": lambda n: "(S " * n + "(-NONE- a)" + ")" * n,
    "empty elements": lambda n: "(S" + " (A (-NONE- a))" * n + " (B b))",
    "wide": lambda n: "(S" + " (X a)" * n + ")",
    "different": lambda n: "(S" + "".join(f" (X{k} a{k})" for k in range(n // 8)) + ")",
    "bare words": lambda n: "(S" + " a" * n + ")",
    "bare words on the left": lambda n: "(S a " * n + "b" + ")" * n,
    "bare words on the right": lambda n: "(S " * n + "(X b)" + " a)" * n,
    "function tags": lambda n: "(S (X" + "-A" * n + " a))",
    "white space": lambda n: "(S" + " " * n + "(X a))",
    "opening": lambda n: "(" * n,
    "closing": lambda n: ")" * n,
    "unclosed": lambda n: "(S (X a) " * n,
    "empty pairs": lambda n: "(S" + " ()" * n + ")",
    "several trees": lambda n: "(S (X a)) " * n,
}


def row(word, head):
    return f"{word}\ta\t_\tX\t_\t_\t{head}\tdep\t_\t_\n"


CONLLU = {
    "chain": lambda n: "".join(row(k, k - 1) for k in range(1, n)),
    "chain to the right": lambda n: "".join(row(k, (k + 1) % n) for k in range(1, n)),
    "star": lambda n: "".join(row(k, int(k > 1)) for k in range(1, n)),
    "cycle": lambda n: "".join(row(k, k % (n - 1) + 1) for k in range(1, n)),
    "multi-word tokens": lambda n: "".join(
        f"{k}-{k}\tb" + "\t_" * 8 + "\n" + row(k, k - 1) for k in range(1, n)
    ),
    "comments": lambda n: "# a\n" * n + row(1, 0),
    "empty lines": lambda n: row(1, 0) + "\n" * n,
    "sentences": lambda n: (row(1, 0) + "\n") * n,
    "a long and many short ones": lambda n: (
        "".join(row(k, (k + 1) % n) for k in range(1, n)) + "\n" + (row(1, 0) + "\n") * n
    ),
    "digits": lambda n: row(1, "1" * n),
}


@pytest.mark.parametrize("name", BRACKETS)
def test_brackets(reading, name):
    pattern = {name: BRACKETS[name]}
    check(lambda text: penn.read([text]), pattern, 20_000)
    check(lambda text: plain_trees.read_brackets([text]), pattern, 20_000)
    check(lambda text: TreeBatch.from_brackets([text]).to_brackets(), pattern, 10_000)
    check(lambda text: TreeBatch.from_brackets([text]).dependencies().to_heads(), pattern, 10_000)
    for spread in (str, lambda text: text.replace(" ", "\n ")):
        check(lambda text, spread=spread: bracketing.split(spread(text)), pattern, 20_000)
        check(
            lambda text, spread=spread: reading(".mrg", tree_files.read_trees)(spread(text)),
            pattern,
            20_000,
        )


@pytest.mark.parametrize("name", CONLLU)
def test_conllu(reading, name):
    pattern = {name: CONLLU[name]}
    check(conllu.read, pattern, 3_000)
    check(lambda text: conllu.read(text, "", True), pattern, 3_000)
    check(lambda text: TreeBatch.from_conllu(text).to_heads(), pattern, 3_000)

    def joined(text):
        found = conllu.read(text)
        return conllu.join(found, [len(found.words)])

    check(joined, pattern, 3_000)
    for rule in ("sentence", "blank", "newdoc"):
        check(
            reading(".conllu", lambda p, rule=rule: tree_files.read_trees(p, rule)), pattern, 3_000
        )
