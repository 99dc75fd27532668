"""Text tables of a meta-evaluation."""

import math

from tensormt.metaeval import format
from tensormt.metaeval.config import PairwiseTest, Row


def test_tables():
    rows = [
        Row("BLEU-1", "", "fluency", "segment", "pearson", 0.1261),
        Row("BLEU-2", "", "fluency", "segment", "pearson", 0.132, 0.1, 0.2),
        Row("STM-2", "", "fluency", "segment", "pearson", math.nan),
        Row("TKM", "", "fluency", "segment", "pearson", 0.065),
    ]
    assert format.tables_by_order(rows).split("\n") == [
        "fluency, segment level, pearson                  BLEU  STM    TKM",
        "1                                               0.126",
        "2                                0.132 [0.100, 0.200]    –",
        "no order                                                    0.065",
    ]
    assert format.tables_by_metric(rows).split("\n")[:2] == [
        "fluency, segment level               pearson",
        "BLEU-1                                 0.126",
    ]
    test = PairwiseTest("A", "B", "fluency", "segment", "pearson", 0.25, 0.001, None, "pooled")
    assert format.format_pairwise_tests([test]).split("\n")[1].split() == [
        "A", "-", "B", "fluency", "segment", "pooled", "pearson", "+0.250", "0.0010",
    ]  # fmt: skip


def test_heads_say_what_is_compared():
    heads = {
        ("segment", "segment"): "f, segment level, grouped by segment",
        ("document", "segment"): "f, document level, grouped by document",
        ("segment", "system"): "f, segment level, grouped by system",
        ("segment", "pooled"): "f, segment level, pairs of all segments together",
        ("segment", "none"): "f, segment level, all outputs together",
        ("system", None): "f, system level",
    }
    for (level, grouping), head in heads.items():
        row = Row("bleu-1", "", "f", level, "tau_b", 0.5, grouping=grouping)
        assert format.tables_by_metric([row]).split("  ")[0] == head
        assert format.tables_by_order([row]).split("  ")[0] == f"{head}, tau_b"


def test_no_value_is_a_dash():
    row = Row("A", "", "f", "system", "pearson", math.nan, math.nan, math.nan, 0.5, 0.1)
    assert format.tables_by_metric([row]).split()[-1] == "–"
    assert format.tables_by_metric([row]).count("–") == 1


def test_corrected_p_values_have_their_own_column():
    tests = [
        PairwiseTest("A", "B", "f", "system", "pearson", -0.1, 0.02, 0.04),
        PairwiseTest("A", "C", "f", "system", "pearson", math.nan, math.nan, math.nan),
    ]
    head, first, second = format.format_pairwise_tests(tests).split("\n")
    assert head.endswith("p (corrected)")
    assert first.split()[-3:] == ["-0.100", "0.0200", "0.0400"]
    assert second.split()[-3:] == ["–", "–", "–"]
