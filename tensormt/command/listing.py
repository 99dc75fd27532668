"""`tensormt list`: the metrics with their options, in words."""

from __future__ import annotations

import argparse

from tensormt.options import format_value
from tensormt.registry import MEANS, metrics


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "list",
        help="metrics with their options",
        description="The metrics with their options and defaults; write them as NAME:option=value.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print a block for each metric: its options with default, meaning and possible values."""
    for name, metric in metrics():
        print(f"{name:5} {metric.summary}")
        for option in metric.options():
            setting = f"{option.name}={format_value(option.default)}"
            print(f"      {setting:21} {option.help}: {option.expected}")
        print()
    for name, mean in MEANS.items():
        print(f"{name:5} the mean that we recommend: {mean}")
    print()
    print("Options are written behind the name: stm:max_depth=3,balance=f1")
    print("Also: a+b the mean of two, queen:a+b QARLA's QUEEN, learned:FILE weights of your own")
    return 0
