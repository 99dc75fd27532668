"""Language pairs of a WMT folder: what WMT uses is the default, and names are checked first."""

from dataclasses import replace

import pytest
import torch
from metaeval.error_rate_samples import LengthError, LengthScore
from metaeval.wmt_samples import PAIRS, write_folder

from tensormt.data.human_scores import read_scores
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metaeval.config import Config
from tensormt.metaeval.judged_sets import Selection
from tensormt.metaeval.runner import meta_evaluate, pairwise_tests
from tensormt.metaeval.wmt_sets import judged_sets_from_folder
from tensormt.metaeval.wmt_tables import make_table
from tensormt.ngram.bleu import BLEU


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("sets") / "wmt23")


def read(folder, selection=None, languages=None, **options):
    def evaluator_for(language):
        if languages is not None:
            languages.append(language)
        return Evaluator(["bleu"])

    return judged_sets_from_folder(
        str(folder), evaluator_for, selection or Selection(), pairs=PAIRS, **options
    )


def test_what_wmt_uses_is_the_default(folder):
    languages = []
    sets = read(folder, languages=languages, for_table=True)
    assert languages == ["en", "de"]  # once each
    assert [[own.human_name for own in parts] for parts in sets] == [["mqm"]] * 3
    assert {parts[0].name: parts[0].references for parts in sets} == {
        "zh-en": ["refA"],
        "he-en": ["refB"],
        "en-de": ["refA"],
    }
    for [own] in sets:
        assert own.systems == ["s0", "s1", "s2", "s3"]
        other = "refA" if own.references == ["refB"] else "refB"
        assert own.human_outputs == [other, "synthetic_ref"]
        assert own.human.shape == own.metrics[0].segments.shape == (4, 8)
    assert [[metric.name for metric in parts[0].metrics] for parts in sets] == [
        ["bleu", "COMET", "QE"],
        ["bleu", "COMET", "QE"],
        ["bleu", "COMET", "GERMAN", "QE"],
    ]
    he = sets[1][0]
    stored = read_scores(folder / "metric-scores" / "he-en" / "COMET-refB.seg.score")
    assert he.metrics[1].segments.tolist() == [stored[name] for name in he.systems]


def test_every_human_score_where_there_is_no_table(folder):
    sets = read(folder)
    names = [own.human_name for parts in sets for own in parts]
    assert names == [f"{pair}, {human}" for pair in PAIRS for human in ("da-sqm", "mqm")]


def test_references_of_one_pair_and_of_the_others(folder):
    sets = read(folder, references={"he-en": ["refA"], "": ["refB"]}, for_table=True)
    assert [parts[0].references for parts in sets] == [["refB"], ["refA"], ["refB"]]
    sets = read(folder, references={"he-en": ["refA", "refB"]}, for_table=True)
    assert [parts[0].references for parts in sets] == [["refA"], ["refA", "refB"], ["refA"]]
    assert sets[1][0].human_outputs == ["synthetic_ref"]


def test_human_outputs_on_request(folder):
    [zh, he, de] = read(folder, human_outputs=True, for_table=True)
    assert zh[0].systems == ["refB", "s0", "s1", "s2", "s3", "synthetic_ref"]
    assert he[0].systems == ["refA", "s0", "s1", "s2", "s3", "synthetic_ref"]
    assert de[0].human_outputs == []


def test_stored_error_rates_are_negated(folder):
    name = next(metric.name for metric in read(folder)[0][0].metrics if metric.score is None)
    scores = [read(folder, lower_is_better=names)[0][0] for names in ([], [name])]
    [plain, error] = [
        next(metric for metric in own.metrics if metric.name == name) for own in scores
    ]
    assert torch.equal(error.segments, -plain.segments)
    assert torch.equal(error.systems(), -plain.systems())
    assert (error.negated, plain.negated) == (True, False)
    with pytest.raises(TensorMTError, match="there are no scores of 'x' that could be error rates"):
        read(folder, lower_is_better=["x"])


def test_systems_of_some_pairs_can_be_left_out(folder):
    """`synthetic_ref` is left out anyway; refB is an output of two of the pairs."""
    selection = Selection(without=["s1", "synthetic_ref", "refB"])
    sets = read(folder, selection, human_outputs=True, for_table=True)
    assert [parts[0].systems for parts in sets] == [
        ["s0", "s2", "s3"],
        ["refA", "s0", "s2", "s3"],
        ["s0", "s2", "s3"],
    ]
    sets = read(folder, selection, for_table=True)
    assert [parts[0].systems for parts in sets] == [["s0", "s2", "s3"]] * 3
    for parts in sets:
        assert parts[0].metrics[1].segments.shape == (3, 8)


@pytest.mark.parametrize(
    ("selection", "options", "message"),
    [
        ({}, {"stored": ["COMET", "GERMAN"]}, "no scores of 'GERMAN' for zh-en: COMET, QE"),
        ({}, {"references": {"en-de": ["refC"]}}, "no reference 'refC' of en-de"),
        ({}, {"references": {"cs-uk": ["refA"]}}, "references of cs-uk, which is not among"),
        ({"human": ["esa"]}, {}, "no human score 'esa'"),
        ({"without": ["s9"]}, {}, "no system 's9' to leave out: refA, refB, s0"),
    ],
)
def test_names_are_checked_before_any_work(folder, selection, options, message):
    languages = []
    with pytest.raises(TensorMTError, match=message):
        read(folder, Selection(**selection), languages=languages, **options)
    assert languages == []  # no evaluator, and no parser, was made


def test_a_good_error_rate_correlates_positively(folder, tmp_path):
    """Rows, tests, tables and clusters of an error rate are those of its negated scores."""
    metrics = {"error": LengthError(), "score": LengthScore(), "bleu": BLEU()}
    sets = judged_sets_from_folder(
        str(folder),
        lambda language: Evaluator(metrics),
        Selection(),
        pairs=PAIRS,
        stored=["none"],
        write_to=str(tmp_path),
        for_table=True,
    )
    levels = ("segment", "document", "system", "mean")
    config = Config(levels=levels, permutations=20, spa_permutations=20, resamples=10)
    for parts in sets:
        rows = {(r.metric, r.level, r.statistic): r for r in meta_evaluate(parts, config)}
        assert rows["error", "system", "pearson"].value > 0.5  # longer outputs are better here
        for (name, level, statistic), row in rows.items():
            if name == "error":
                other = rows["score", level, statistic]
                assert replace(row, metric="", signature="") == replace(
                    other, metric="", signature=""
                )
        found = pairwise_tests(parts, config)
        assert all(t.difference == 0 for t in found if (t.first, t.second) == ("error", "score"))
        # files for mt-metrics-eval hold scores of which higher is better
        written = read_scores(
            tmp_path / parts[0].name / f"error-{parts[0].references[0]}.seg.score"
        )
        assert max(max(row) for row in written.values()) <= 0
    for kind in ("wmt22", "wmt23", "wmt24"):
        table = make_table([parts[0] for parts in sets], kind, config)
        for task in (table.average, *table.tasks):
            assert task.values[0] == task.values[1]
            assert task.clusters()[0] == task.clusters()[1]
