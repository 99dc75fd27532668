"""The example does what it says: minimum risk beats likelihood alone, also in a short run."""

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minimum_risk.py"


def test_minimum_risk_beats_likelihood():
    found = runpy.run_path(str(EXAMPLE))["train"](warm=250, more=150)
    assert found["minimum risk"] > found["likelihood"] + 10
    assert found["minimum risk"] > found["more likelihood"] + 10
