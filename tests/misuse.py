"""Every argument of every public function, replaced by what does not belong there.

`calls` lists functions with arguments that work and the kind of each, `VALUES` what is tried
instead. Of each kind it is known which of these values are fine (`FINE`); with all others the only
right answer is one TensorMTError of one sentence. `tried(name)` tries one function and gives what
went wrong. bench/fuzz.py --python tries everything.
"""

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

import tensormt as tm
from tensormt import metaeval, qarla

HYP = ["the dog ran home", "a cat"]
REF = ["the dog ran away", "the cat"]
TREES = ["(S (NP (DT the) (NN dog)) (VP (VBD ran)))", "(NP (DT a) (NN cat))"]
CONLLU = "1\tdogs\t_\t_\t_\t_\t2\t_\t_\t_\n2\trun\t_\t_\t_\t_\t0\t_\t_\t_\n\n"


class Strange:
    """Says that it is a sequence and is none."""

    def __len__(self):
        return -1

    def __repr__(self):
        return "Strange(\n\x1b[31m)"


TOKENS, TREE_BATCH = tm.TokenBatch.from_text(HYP), tm.TreeBatch.from_brackets(TREES)

# fresh each time: generators can be used only once
VALUES = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "huge": lambda: 10**30,
    "0.5": lambda: 0.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "complex": lambda: 1j,
    "''": lambda: "",
    "word": lambda: "x",
    "text": lambda: "a b",
    "surrogate": lambda: "\ud800",
    "zero byte": lambda: "a\0b",
    "bytes": lambda: b"x",
    "[]": list,
    "()": lambda: (),
    "[None]": lambda: [None],
    "[1]": lambda: [1],
    "[nan]": lambda: [float("nan")],
    "[huge]": lambda: [10**30],
    "['a', 1]": lambda: ["a", 1],
    "['a']": lambda: ["a"],
    "['\\ud800', 'b']": lambda: ["\ud800", "b"],
    "[[1]]": lambda: [[1]],
    "[['a']]": lambda: [["a"]],
    "[[['a']]]": lambda: [[["a"]]],
    "[{}]": lambda: [{}],
    "ragged": lambda: [[1, 2], [3]],
    "{}": dict,
    "{'a': 1}": lambda: {"a": 1},
    "set": lambda: {"a"},
    "object": lambda: object(),
    "strange": lambda: Strange(),
    "function": lambda: lambda *a: None,
    "type": lambda: int,
    "class": lambda: tm.BLEU,
    "error": lambda: ValueError("x"),
    "module": lambda: torch,
    "range": lambda: range(2),
    "slice": lambda: slice(None, None, -1),
    "zip": lambda: zip(HYP, strict=True),
    "generator": lambda: (word for word in HYP),
    "numbers": lambda: (number for number in (1, 2)),
    "path": lambda: Path("no/such/file"),
    "tensor []": lambda: torch.tensor(1.5),
    "tensor [0]": lambda: torch.zeros(0),
    "tensor [3]": lambda: torch.tensor([1.0, 2.0, 3.0]),
    "tensor [2,3]": lambda: torch.ones(2, 3, dtype=torch.int64),
    "tensor 5d": lambda: torch.ones(2, 2, 2, 2, 2),
    "tensor nan": lambda: torch.full((2, 7), float("nan")),
    "tensor bool": lambda: torch.ones(2, 3, dtype=torch.bool),
    "tensor complex": lambda: torch.ones(2, 3, dtype=torch.complex64),
    "tensor sparse": lambda: torch.eye(3).to_sparse(),
    "tensor meta": lambda: torch.ones(2, 3, device="meta"),
    "array []": lambda: np.array(1.5),
    "array [2]": lambda: np.array([1.0, 2.0]),
    "array [2,2]": lambda: np.ones((2, 2)),
    "array text": lambda: np.array(HYP),
    "array object": lambda: np.array([None, {}], dtype=object),
    "np.int64": lambda: np.int64(1),
    "np.float64": lambda: np.float64("nan"),
    "metric": lambda: tm.BLEU(),
    "tokens": lambda: TOKENS,
    "trees": lambda: TREE_BATCH,
    "[tokens]": lambda: [TOKENS],
    "[trees]": lambda: [TREE_BATCH],
    "references": lambda: tm.References([TOKENS]),
    "dtype": lambda: torch.float32,
    "device": lambda: torch.device("cpu"),
    "frequencies": lambda: tm.Frequencies(5),
}

TEXTS = {"generator", "array text", "[]", "()", "[None]", "[nan]", "['a']"}
# kind → values that are fine, as far as other arguments go with them; all others must be refused
FINE = {
    "flag": {"True"},
    "flag or none": {"True", "None"},
    "order": {"1", "np.int64"},
    "order or none": {"1", "np.int64", "None"},
    "count": {"1", "np.int64", "0"},
    "seed": {"1", "np.int64", "0"},
    "positive": {"1", "0.5", "np.int64", "True"} - {"True"},
    "share": {"1", "0.5", "0", "np.int64"},
    "name": set(),
    "name or none": {"None"},
    "label": {"''", "word", "text", "surrogate", "zero byte"},
    "lines": TEXTS,
    "binary lines": TEXTS,
    "streams": {"[]", "()", "[['a']]", "zip"},
    "ids of documents": TEXTS
    | {"[1]", "range", "numbers", "array [2]", "zip", "['a', 1]", "['\\ud800', 'b']"},
    "names": TEXTS | {"[1]", "range", "numbers", "array [2]", "['a', 1]", "['\\ud800', 'b']"},
    "ids": {"tensor [2,3]"},
    "lengths": set(),
    "words": {"[]", "()", "[['a']]"},
    "heads": {"[]", "()", "[[1]]", "ragged"},
    "conllu": {"''"},
    "brackets": {"[]", "()", "[None]", "[nan]", "''"},
    "batch": {"tokens", "trees"},
    "tokens": {"tokens"},
    "trees": {"trees"},
    "batches": {"[tokens]", "[trees]", "references", "tokens", "trees"},
    "refs": {"[tokens]", "references"},
    "tree refs": {"[trees]"},
    "statistics": {"tensor nan", "tensor 5d"},
    "device": {"device", "None"},
    "index": {
        "True",
        "0",
        "1",
        "-1",
        "np.int64",
        "[]",
        "()",
        "[1]",
        "range",
        "slice",
        "tensor [2,3]",
    }
    | {"tensor bool", "array [2]", "tensor [0]", "numbers"},
    "counts": {"None", "frequencies"},
    "metrics": {"['a']"} - {"['a']"},
    "metric names": {"[]"} - {"[]"},
    "metric name": {"metric"},
    "similarities": set(),
    "mask": {"None", "tensor bool"},
    "places": {"[]", "()", "{}", "[1]", "range", "numbers", "array [2]"} - {"{}"},
    "scores": set(),
    "row": {"tensor [3]"},
    "rows": {"tensor [3]", "tensor [2,3]", "tensor nan", "tensor 5d", "tensor [0]"},
    "item mask": {"None"},
    "kings": set(),
    "path": {"path", "word", "text", "''"},
    "existing path": set(),
    "parser": {"type", "class", "metric"},  # fails in its own words
    "parser name": set(),
    "any": None,  # whatever it does, it is no bare error
}


def _report(refs, metrics, docs, device):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        return tm.report({"A": HYP, "B": REF}, refs, metrics, path, device=device, docs=docs)


LINES = {"lines": "lines", "tokenize": "name", "lowercase": "flag"}


@cache
def calls():
    """Functions by name, with good arguments and the kind of each."""
    hyp, ref = tm.TokenBatch.from_text(HYP), tm.TokenBatch.from_text(REF)
    trees = tm.TreeBatch.from_brackets(TREES)
    references = tm.References([ref])
    counts = tm.Frequencies(5).add([ref])
    sims = {"am": torch.rand(2, 3, 4, 2), "mm": torch.rand(2, 4, 4, 2)}
    masks = {"model_mask": "mask", "peer_mask": "mask"}
    ways = {"triples": "name", **masks}
    human = torch.randn(4, 6, dtype=torch.float64)
    metrics = human + torch.randn(2, 4, 6, dtype=torch.float64)
    found = {}

    def add(name, function, kinds, /, **good):
        found[name] = (function, good, kinds)

    text = {"tokenize": "13a", "lowercase": False}
    add("TokenBatch.from_text", tm.TokenBatch.from_text, LINES, lines=HYP, **text)
    add(
        "TokenBatch.from_texts",
        tm.TokenBatch.from_texts,
        {**LINES, "streams": "streams"},
        streams=[HYP, REF],
        **text,
    )
    add(
        "TokenBatch.from_ids",
        tm.TokenBatch.from_ids,
        {"ids": "ids", "lengths": "lengths"},
        ids=torch.ones(2, 3, dtype=torch.int64),
        lengths=torch.tensor([1, 3]),
    )
    add("TokenBatch.concat", tm.TokenBatch.concat, {"batches": "batches"}, batches=[hyp, ref])
    add("TokenBatch[]", lambda index: hyp[index], {"index": "index"}, index=1)
    add("TokenBatch.to", lambda device: hyp.to(device), {"device": "device"}, device="cpu")
    add(
        "TreeBatch.from_brackets",
        tm.TreeBatch.from_brackets,
        {"lines": "brackets", "source": "label", "first": "count"},
        lines=TREES,
        source="file ",
        first=1,
    )
    add(
        "TreeBatch.from_heads",
        tm.TreeBatch.from_heads,
        {"words": "words", "heads": "heads"},
        words=[["dogs", "run"]],
        heads=[[2, 0]],
    )
    add(
        "TreeBatch.from_conllu",
        tm.TreeBatch.from_conllu,
        {"text": "conllu", "source": "label"},
        text=CONLLU,
        source="file ",
    )
    add("TreeBatch.from_file", tm.TreeBatch.from_file, {"path": "existing path"}, path="x")
    add("TreeBatch.concat", tm.TreeBatch.concat, {"batches": "batches"}, batches=[trees, trees])
    add("TreeBatch[]", lambda index: trees[index], {"index": "index"}, index=1)
    add("TreeBatch.to", lambda device: trees.to(device), {"device": "device"}, device="cpu")
    add("TreeBatch.chunks", trees.chunks, {"size": "order"}, size=1)
    add("TreeBatch.dependencies", trees.dependencies, {"rules": "name"}, rules="collins")
    heads = trees.dependencies()
    add(
        "TreeBatch.to_conllu",
        heads.to_conllu,
        {"relations": "relations"},
        relations=[["a", "b", "c"], ["d", "e"]],
    )

    order = {"max_order": "order"}
    options = {"tokenize": "name", "lowercase": "flag"}
    syntax = {"max_depth": "order", "max_length": "order", "balance": "name", "rules": "name"}
    syntax |= {"lexical": "flag", "decay": "positive"}
    bleu = {"smooth": "name", "effective_order": "flag or none", "smooth_value": "value"}
    kinds = {**order, **options, **syntax, **bleu, "counts": "counts", "info": "name"}
    kinds |= {"weighting": "name", "recurrence": "name", "char_order": "order"}
    kinds |= {"word_order": "count", "beta": "positive", "whitespace": "flag"}
    kinds |= {"eps_smoothing": "flag", "metrics": "metrics"}
    kinds |= dict.fromkeys(("normalized", "no_punct", "asian_support", "case_sensitive"), "flag")
    kinds |= {"variant": "name", "stem": "flag", "references": "name", "sentences": "name"}
    common = {"max_order": 2, **text}
    add("BLEU", tm.BLEU, kinds, smooth="floor", smooth_value=0.1, effective_order=True, **common)
    add("NIST", tm.NIST, kinds, counts=counts, info="testset", **common)
    weights = {"weighting": "zipf", "recurrence": "references"}
    add("BM", tm.BM, kinds, counts=counts, **weights, **common)
    add("BMA", tm.BMA, kinds, counts=counts, **weights, **common)
    add("NM", tm.NM, kinds, counts=counts, info="segment", **weights, **common)
    chrf = {"char_order": 6, "word_order": 2, "beta": 2, "lowercase": True, "whitespace": True}
    add("ChrF", tm.ChrF, kinds, eps_smoothing=True, **chrf)
    ter = {"normalized": True, "no_punct": True, "asian_support": True, "case_sensitive": True}
    add("TER", tm.TER, kinds, **ter)
    add("WER", tm.WER, kinds, **text)
    add("PER", tm.PER, kinds, **text)
    copied = {"borrowed": "flag", "tokenize": "name", "lowercase": "flag"}
    add("Copied", tm.Copied, copied, borrowed=True, tokenize="13a", lowercase=True)
    add("OffTarget", tm.OffTarget, {"borrowed": "flag"}, borrowed=True)
    bert = {"encoder": "any", "layer": "any", "threshold": "any", "matching": "name"}
    bert |= {"units": "name", "balance": "name", "idf": "flag", "trusted": "flag"}
    words = {"matching": "one_to_one", "units": "words", "balance": "f1"}
    add(
        "BERTScore",
        tm.BERTScore,
        bert,
        encoder="minilm",
        layer=None,
        threshold=0.5,
        idf=True,
        trusted=False,
        **words,
    )
    add("CER", tm.CER, kinds, whitespace=True, lowercase=True)
    rouge = {"variant": "su", "balance": "f1", "stem": True, "references": "best"}
    kinds |= {"max_skip": "any", "weight": "any", "stop_words": "flag"}
    rouge |= {"max_skip": 4, "weight": 1.2, "stop_words": True}
    add("ROUGE", tm.ROUGE, kinds, sentences="lines", tokenize="rouge", **rouge)
    add("STM", tm.STM, kinds, max_depth=2, balance="f1", lexical=True)
    add("DSTM", tm.DSTM, kinds, max_depth=2, balance="f1", rules="collins")
    add("HWCM", tm.HWCM, kinds, max_length=2, balance="f1", rules="collins")
    add("TKM", tm.TKM, kinds, decay=0.5, lexical=True)
    add("DTKM", tm.DTKM, kinds, decay=0.5, rules="collins")
    add(
        "Scores",
        tm.Scores,
        {"name": "any", "scores": "any", "higher_is_better": "any"},
        name="COMET",
        scores=[0.5, None],
        higher_is_better=True,
    )
    add("Mean", tm.Mean, kinds, metrics=[tm.BLEU(), tm.ChrF()])
    add("Queen", tm.Queen, kinds, metrics=[tm.BLEU(), tm.ChrF()])

    tokens = {
        "hyp": "tokens",
        "refs": "refs",
        "ids": "ids of documents",
        "statistics": "statistics",
    }
    tokens |= {"segment": "flag or none"}
    new = tm.TER(), tm.WER(), tm.PER(), tm.ROUGE()
    ngram = tm.BLEU(2), tm.NIST(2), tm.BM(2), tm.NM(2), tm.ChrF(2)
    for metric in (*ngram, *new, tm.STM(2), tm.TKM()):
        reads, own, others = tokens, hyp, [ref]
        if metric.reads_trees:
            reads, own, others = {**tokens, "hyp": "trees", "refs": "tree refs"}, trees, [trees]
        both = {"hyp": own, "refs": others}
        rows = metric.statistics(**both)
        add(f"{metric.name}()", metric, reads, **both)
        add(f"{metric.name}.statistics", metric.statistics, reads, **both)
        add(f"{metric.name}.corpus", metric.corpus, reads, **both)
        add(f"{metric.name}.documents", metric.documents, reads, **both, ids=["a", "b"])
        wide = {2: "two statistics", 3: "three statistics"}.get(metric.width, "statistics")
        wide = {"statistics": wide}
        add(f"{metric.name}.score", metric.score, reads | wide, statistics=rows, segment=True)
    three = [ref, ref, ref]
    for metric in (tm.Mean([tm.BLEU(2), tm.ChrF(2)]), tm.Queen([tm.BLEU(2), tm.ChrF(2)])):
        rows = metric.statistics(hyp, three)
        add(f"{metric.name}()", metric, tokens, hyp=hyp, refs=three)
        wide = {"statistics": "two statistics" if metric.width == 2 else "statistics"}
        add(f"{metric.name}.score", metric.score, tokens | wide, statistics=rows, segment=True)
    add("NIST.fit", lambda refs: tm.NIST(2).fit(refs), {"refs": "refs"}, refs=[ref])
    add("Queen.fit", lambda refs: tm.Queen([tm.NIST(2), tm.NM(2)]).fit(refs), tokens, refs=[ref])

    add("References", tm.References, {"streams": "refs"}, streams=[ref])
    add(
        "References.from_text",
        tm.References.from_text,
        {**LINES, "streams": "streams"},
        streams=[REF],
        **text,
    )
    add("References[]", lambda index: references[index], {"index": "index"}, index=0)
    add("References.to", lambda device: references.to(device), {"device": "device"}, device="cpu")
    for method in ("totals", "spread", "distinct", "diversity", "frequencies"):
        add(f"References.{method}", getattr(references, method), order, max_order=2)
    add("References.rows", references.rows, {"index": "index"}, index=slice(0, 1))
    add("Frequencies", tm.Frequencies, order, max_order=2)
    add("Frequencies.add", lambda refs: tm.Frequencies(2).add(refs), {"refs": "refs"}, refs=[ref])
    add(
        "Frequencies.merge",
        lambda other: tm.Frequencies(2).merge(other),
        {"other": "frequencies"},
        other=counts,
    )
    add("Frequencies.load", tm.Frequencies.load, {"path": "existing path"}, path="x")

    add(
        "score",
        tm.score,
        {"hyps": "lines", "refs": "streams", "metrics": "metric names", "device": "device"}
        | {"docs": "names or none", "parser": "any", "lang": "any"},
        hyps=HYP,
        refs=[REF],
        metrics=["bleu"],
        device="cpu",
        docs=["a", "b"],
        lang=None,
    )
    add(
        "score of columns",
        tm.score,
        {"hyps": "any", "refs": "any", "metrics": "metric names", "data": "any", "rows": "any"},
        hyps="h",
        refs=["r"],
        metrics=["bleu"],
        data={"h": HYP, "r": REF},
        rows=False,
    )
    add(
        "parse",
        tm.parse,
        {"lines": "lines", "parser": "parser", "device": "device", "lang": "any"},
        lines=["a dog"],
        parser="default",
        device="cpu",
        lang=None,
    )
    add(
        "score of trees",
        lambda trees: tm.score(HYP, [HYP], ["stm"], trees=trees),
        {"trees": "trees beside"},
        trees=(TREES, [TREES]),
    )
    add(
        "score by a parser",
        lambda parser: tm.score(HYP, [HYP], ["stm"], parser=parser),
        {"parser": "parser"},
        parser=tm.TreeBatch.from_brackets,
    )
    add(
        "explain",
        lambda metric, hyp, refs, device: tm.explain(metric, hyp, refs, device=device),
        {"metric": "metric name", "hyp": "lines", "refs": "streams", "device": "device"},
        metric="bleu",
        hyp=HYP,
        refs=[REF],
        device="cpu",
    )
    add(
        "rerank",
        tm.rerank,
        {
            "candidates": "words",
            "metric": "metric name",
            "device": "device",
            "weights": "any",
            "pairs": "order",
        },
        candidates=[HYP],
        metric="bleu",
        device="cpu",
        weights=[[1.0] * len(HYP)],
        pairs=10,
    )
    add(
        "diversity",
        tm.diversity,
        {
            "outputs": "words",
            "metrics": "metric names",
            "max_order": "order",
            "device": "device",
            "tokenize": "name or none",
            "pairs": "order",
        },
        outputs=[HYP],
        metrics=["bleu"],
        max_order=2,
        device="cpu",
        tokenize="13a",
        pairs=10,
    )
    add(
        "compare",
        lambda **given: tm.compare({"A": HYP, "B": REF}, **given),
        {
            "refs": "streams",
            "metrics": "metric names",
            "device": "device",
            "test": "name",
            "all_pairs": "flag",
            "samples": "order or none",
            "seed": "seed",
            "sacrebleu_p": "flag",
        },
        refs=[REF],
        metrics=["bleu"],
        device="cpu",
        test="bs",
        all_pairs=False,
        samples=9,
        seed=3,
        sacrebleu_p=False,
    )
    add(
        "report",
        _report,
        {"refs": "streams", "metrics": "metric names", "docs": "names or none", "device": "device"},
        refs=[REF],
        metrics=["bleu"],
        docs=["a", "b"],
        device="cpu",
    )
    add(
        "Parser.load",
        tm.Parser.load,
        {"name": "parser name", "trusted": "flag", "device": "device", "split": "flag"}
        | {"max_length": "length", "mbr": "flag or none", "batch_tokens": "tokens of a batch"},
        name="default",
        trusted=False,
        device="cpu",
        split=True,
        max_length=400,
        mbr=True,
        batch_tokens=1000,
    )

    real = {"am": "similarities", "mm": "similarities", "aa": "similarities", **ways}
    real |= {"leave_one_out": "flag", "include": "places", "exclude": "places", "kings": "kings"}
    way = {"triples": "pairs", "model_mask": None, "peer_mask": None}
    aa = torch.rand(2, 3, 3, 2)
    add("qarla.queen", qarla.queen, real, **sims, **way)
    add("qarla.queen_sets", qarla.queen_sets, real, **sims, **way)
    add("qarla.king", qarla.king, real, **sims, leave_one_out=True, **way)
    add("qarla.king_sets", qarla.king_sets, real, **sims, leave_one_out=True, **way)
    add("qarla.jack", qarla.jack, real, **sims, aa=aa, **way)
    add("qarla.jack_sets", qarla.jack_sets, real, **sims, aa=aa, **way)
    chosen = {"leave_one_out": True, "include": [0], "exclude": [], **way}
    add("qarla.best_set", qarla.best_set, real, **sims, **chosen)
    add("qarla.greedy_set", qarla.greedy_set, real, **sims, **chosen)
    kings = torch.rand(4, dtype=torch.float64)
    add("qarla.best_of", qarla.best_of, real, kings=kings, include=[0], exclude=[])

    tables = {"human": "scores", "metric": "scores", "metrics": "scores", "first": "scores"}
    tables |= {"second": "scores", "statistic": "name", "grouping": "name", "units": "units"}
    tables |= {"least_gap": "gap", "resamples": "order", "seed": "seed", "two_sided": "flag"}
    tables |= {"permutations": "count", "systems": "times", "segments": "times", "mask": "times"}
    tables |= {"scores": "rows", "documents": "documents", "count": "order", "x": "rows"}
    tables |= {"y": "scores", "confidence": "confidence", "level": "confidence", "draw": "draw"}
    tables |= {"times": "times", "pooled": "flag", "cells": "cells"}
    draws = {"resamples": 5, "seed": 1}
    add("metaeval.pearson", metaeval.pearson, tables, x=human, y=metrics[0], mask=None)
    add("metaeval.spearman", metaeval.spearman, tables, x=human, y=metrics[0], mask=None)
    add("metaeval.ranks", metaeval.ranks, tables, x=human, mask=None)
    pair = {"human": human, "metric": metrics[0]}
    for name in "count_pairs tau_a tau_b tau_c tau_wmt10 tau_wmt13 tau_wmt14 accuracy".split():
        add(f"metaeval.{name}", getattr(metaeval, name), tables, **pair, mask=None)
    add(
        "metaeval.calibrated_accuracy",
        metaeval.calibrated_accuracy,
        tables,
        **pair,
        mask=None,
        times=None,
        pooled=False,
    )
    add(
        "metaeval.correlate",
        metaeval.correlate,
        tables,
        **pair,
        statistic="tau_b",
        grouping="segment",
        least_gap=0.5,
        systems=None,
        segments=None,
    )
    add(
        "metaeval.correlate_systems",
        metaeval.correlate_systems,
        tables,
        human=human[:, 0],
        metric=human[:, 1],
        statistic="tau_b",
        least_gap=0.5,
        systems=None,
    )
    add(
        "metaeval.document_means",
        metaeval.document_means,
        tables,
        scores=human,
        documents=torch.tensor([0, 0, 1, 1, 2, 2]),
        count=3,
    )
    add(
        "metaeval.soft_pairwise_accuracy",
        metaeval.soft_pairwise_accuracy,
        tables,
        **pair,
        permutations=10,
        seed=4,
    )
    add(
        "metaeval.pairwise_permutation",
        metaeval.pairwise_permutation,
        tables,
        human=human,
        metrics=metrics,
        statistic="pearson",
        grouping="none",
        units="both",
        least_gap=0.0,
        **draws,
    )
    add(
        "metaeval.permutation",
        metaeval.permutation,
        {**tables, "statistic": "callback"},
        human=human,
        first=metrics[0],
        second=metrics[1],
        statistic=lambda a, b: metaeval.correlate(a, b),
        units="both",
        two_sided=True,
        **draws,
    )
    add(
        "metaeval.bootstrap",
        metaeval.bootstrap,
        {**tables, "statistic": "callback", "systems": "order", "segments": "order"},
        statistic=lambda a, b: torch.zeros(1 if b is None else len(b), dtype=torch.float64),
        systems=4,
        segments=6,
        level=0.95,
        draw=("segments",),
        cells=None,
        **draws,
    )
    rows = {"human": human[:, 0], "metric": human[:, 1]}
    add(
        "metaeval.correlation_test",
        metaeval.correlation_test,
        tables,
        statistic="pearson",
        **rows,
        confidence=0.9,
    )
    add(
        "metaeval.williams",
        metaeval.williams,
        tables,
        human=human[0],
        first=human[1],
        second=human[2],
        two_sided=True,
    )
    return found


FINE |= {
    "two statistics": FINE["statistics"] | {"array [2]", "array [2,2]"},
    "three statistics": FINE["statistics"] | {"tensor [3]", "tensor [2,3]"},
    "relations": {"None"},
    "value": {"None", "0", "1", "0.5", "np.int64", "huge"},
    "units": {"None"},
    "gap": {"0", "1", "0.5", "np.int64", "huge"},
    "times": {"None"},
    "documents": set(),
    "confidence": {"0.5", "1", "np.int64"},
    "draw": set(),
    "cells": {"None", "1", "np.int64"},
    "callback": {"function", "type", "class", "metric", "dtype"},  # fails in its own words
    "frequencies": {"frequencies"},
    "names or none": FINE["names"] | {"None"},
    "trees beside": {"True"},
    "length": set(),
    "tokens of a batch": {"None", "1", "np.int64"},
}


def wrong(error):
    """What is wrong with an answer that is an error; nothing where it is one clear sentence."""
    if not isinstance(error, tm.TensorMTError):
        return f"{type(error).__name__}: {error}"
    if len(str(error)) > 500 or not re.fullmatch("[^\x00-\x1f\x7f-\x9f]+", str(error)):
        return f"no clear sentence: {str(error)!r}"
    return ""


def tried(name, some=tuple(VALUES)):
    """Misuses of one function: their number, and what went wrong with some of them."""
    function, good, kinds = calls()[name]
    faults, count = [], 0
    for argument in good:
        fine = FINE[kinds[argument]]
        for what in some:
            make = VALUES[what]
            if kinds[argument] in ("callback", "parser") and what in fine:
                continue
            count += 1
            value = make()
            try:
                function(**{**good, argument: value})
                fault = "" if fine is None or what in fine else "taken in silence"
            except Exception as error:
                fault = wrong(error)
            if fault:
                faults.append(f"{name}({argument}={what}): {fault}")
    return count, faults
