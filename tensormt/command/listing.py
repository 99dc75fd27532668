"""`tensormt list`: the metrics with their options."""

from __future__ import annotations

import argparse

from tensormt.options import format_value
from tensormt.registry import MEANS, metrics

DESCRIPTION = "List the metrics with their options and defaults, written as NAME:option=value."
EXAMPLES = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command: there are none."""


def run(args: argparse.Namespace) -> int:
    """Print every metric and its options with default, description and possible values."""
    for name, metric in metrics():
        print(f"{name:5} {metric.summary}")
        for option in metric.options():
            setting = f"{option.name}={format_value(option.default)}"
            print(f"      {setting:21} {option.help}: {option.expected}")
        print()
    for name, mean in MEANS.items():
        print(f"{name:5} the recommended mean: {mean}")
    print()
    print("Options follow the name: stm:max_depth=3,balance=f1")
    print("Also: a+b (mean of two metrics), queen:a+b (QARLA's QUEEN), learned:FILE (own weights)")
    return 0
