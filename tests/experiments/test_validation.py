"""experiments/validation.py on small made-up sets: every experiment runs and fills its tables."""

import argparse
import importlib.util
import json
import random
from pathlib import Path

import pytest

from tensormt.trees.batch import TreeBatch

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "validation.py"
WORDS = "the a cat dog sat ran on in mat house day night it was all long".split()
SETS = {
    "webnlg20": (3, ["s1", "s2", "s3", "s4"], ["fluency", "correctness"]),
    "wmt23_zhen_mqm": (1, ["s1", "s2", "s3", "s4"], ["fluency", "mqm"]),
    "e2e17": (5, ["dangnt", "forge1", "forge3", "tr2", "tuda", "x", "y"],
              ["naturalness_z", "quality_z"]),
    "summeval": (11, ["Lead-3", "NEUSUM", "BanditSum", "RNES", "T5", "BART", "Human-H"],
                 ["relevance", "fluency"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def validation():
    spec = importlib.util.spec_from_file_location("validation", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)  # where qarla_draws.py stands
        spec.loader.exec_module(module)
    module.DRAWS = 20
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    source = random.Random(0)

    def text():
        return " ".join(source.choices(WORDS, k=source.randrange(4, 9)))

    root = tmp_path_factory.mktemp("sets")
    for name, (references, systems, scores) in SETS.items():
        rows = []
        for i in range(20):
            outputs = {
                system: {"hyp": text(), "scores": {key: source.random() for key in scores}}
                for system in systems
            }
            refs = [text() for _ in range(references)]
            rows.append(json.dumps({"doc": str(i), "refs": refs, "sys": outputs}))
        (root / name).mkdir()
        (root / name / "segments.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return root


def flat(lines):
    """A stand-in for the parser: one root over all words, split in the middle."""
    trees = []
    for line in lines:
        leaves = [f"(X {word})" for word in line.split()]
        half = len(leaves) // 2
        left, right = " ".join(leaves[:half]), " ".join(leaves[half:])
        trees.append(f"(S (NP {left}) (VP {right}))" if half else "")
    return TreeBatch.from_brackets(trees)


@pytest.mark.parametrize(
    ("name", "parse", "tables", "titles"),
    [
        ("liu_gildea", flat, 2 * 13 + 3, ["webnlg20, balance", "e2e17, balance"]),
        ("liu_gildea", None, 2 * 10, ["wmt23_zhen_mqm, corpus level over 4 systems, overall"]),
        ("qin_specia", None, 2 * 4, ["webnlg20, 3 references: segment level, mean over systems"]),
        ("qarla", flat, 2 * 4, ["summeval: KING (Figure 5), 20 cases"]),
    ],
)
def test_every_experiment_fills_its_tables(validation, folder, name, parse, tables, titles):
    args = argparse.Namespace(data=folder, plots=None)
    found = getattr(validation, name)(args, parse)
    assert len(found) == tables
    assert {table.title for table in found} >= set(titles)
    for table in found:
        assert len({len(row) for row in [table.header, *table.rows]}) == 1
        assert table.markdown().startswith(f"**{table.title}**\n\n| ")
