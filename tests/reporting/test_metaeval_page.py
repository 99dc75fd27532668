"""The page of a meta-evaluation has the numbers of the command."""

import json

import pytest
from reporting.metaeval_samples import judged
from reporting.page_samples import HYPS, REFS, read_page

from tensormt.command.main import main
from tensormt.metaeval.config import Config
from tensormt.metaeval.runner import meta_evaluate
from tensormt.metaeval.spa import soft_pairwise_accuracy
from tensormt.metaeval.wmt_tables import make_table
from tensormt.reporting.metaeval_page import write_metaeval_page


def test_columns_are_the_rows_of_the_meta_evaluation(tmp_path):
    sets = [judged(), judged("en-de", 4, 2)]
    config = Config(resamples=20, spa_permutations=50)
    rows = meta_evaluate(sets[:1], config)
    path = write_metaeval_page(tmp_path / "page.html", sets, config, rows)
    first, second = read_page(path).meta["sets"]
    assert [column["name"] for column in first["columns"]][:2] == [
        "segment: pearson",
        "segment: spearman",
    ]
    for row in rows:
        [column] = [c for c in first["columns"] if c["name"] == f"{row.level}: {row.statistic}"]
        place = [metric["name"] for metric in first["metrics"]].index(row.metric)
        for part, value in (("values", row.value), ("low", row.low), ("high", row.high)):
            assert column[part][place] == pytest.approx(value, abs=1e-6)
    assert second["title"] == "en-de: mqm"
    for own, metric in zip(sets[0].metrics, first["metrics"], strict=True):
        spa = soft_pairwise_accuracy(sets[0].human, own.segments, permutations=50)
        assert metric["spa"] == pytest.approx(float(spa), abs=1e-6)
        assert len(metric["p"]) == len(metric["pHuman"]) == 15


def test_a_table_brings_its_clusters(tmp_path):
    config = Config(permutations=60, spa_permutations=50)
    table = make_table([judged()], "wmt24", config)
    path = write_metaeval_page(tmp_path / "page.html", [judged()], config, table=table)
    found = read_page(path).meta["table"]
    assert [task["name"] for task in found["tasks"]] == ["average", *(t.name for t in table.tasks)]
    for task, own in zip(found["tasks"], (table.average, *table.tasks), strict=True):
        assert task["clusters"] == own.clusters()
        assert task["values"] == pytest.approx(own.values.tolist(), abs=1e-6)


def test_the_command_writes_the_page(tmp_path, capsys):
    data, page = tmp_path / "data.jsonl", tmp_path / "page.html"
    rows = []
    for i in range(4):
        systems = {
            name: {"hyp": lines[i], "scores": {"fluency": float(len(lines[i]) + i)}}
            for name, lines in HYPS.items()
        }
        rows.append(json.dumps({"refs": [REFS[0][i]], "sys": systems}))
    data.write_text("\n".join(rows))
    arguments = ["metaeval", str(data), "-m", "bleu", "chrf", "--report"]
    assert main([*arguments, str(page), "-q"]) == 0
    meta = read_page(page).meta
    assert meta["title"] == "tensormt metaeval: data.jsonl"
    assert [metric["name"] for metric in meta["sets"][0]["metrics"]] == ["bleu", "chrf"]
    capsys.readouterr()
    assert main([*arguments, str(data), "-q"]) == 2  # it would overwrite its input
    assert "data.jsonl" in capsys.readouterr().err
    assert data.read_text().startswith("{")
