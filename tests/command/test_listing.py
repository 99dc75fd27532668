"""`tensormt list`."""

import json

from tensormt.command.main import main
from tensormt.registry import METRICS


def test_every_metric_with_its_options(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert {line.split()[0] for line in out.splitlines() if line[:1].strip()} >= set(METRICS)
    assert "max_order=4" in out
    assert "stm:max_depth=3,balance=f1" in out


def test_some_metrics(capsys):
    assert main(["list", "BLEU", "blend"]) == 0
    out = capsys.readouterr().out
    assert {line.split()[0] for line in out.splitlines() if line[:1].strip()} == {"bleu", "blend"}
    assert main(["list", "blu"]) == 2
    assert "did you mean bleu?" in capsys.readouterr().err


def test_json(capsys):
    assert main(["list", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(METRICS) < set(found)
    assert found["bleu"]["options"]["max_order"]["default"] == 4
    assert found["bleu"]["scale"] == 100
    assert found["bleu"]["higher_is_better"] is True
    assert "rouge" in found["blend"]["mean_of"]
