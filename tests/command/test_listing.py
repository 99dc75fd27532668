"""`tensormt list`."""

from tensormt.command.main import main
from tensormt.registry import METRICS


def test_every_metric_with_its_options(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert {line.split()[0] for line in out.splitlines() if line[:1].strip()} >= set(METRICS)
    assert "max_order=4" in out
    assert "stm:max_depth=3,balance=f1" in out
