"""`tensormt list`: the metrics with their options, in words."""

from __future__ import annotations

import argparse

from tensormt.options import format_value
from tensormt.registry import ENTRIES, MEANS

__all__ = ["add", "run"]


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "list",
        help="metrics with their options",
        description="The metrics with their options and defaults; write them as NAME:option=value.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print one metric a block: an option a line, with its default, its values and its meaning."""
    for name, entry in ENTRIES.items():
        print(f"{name:5} {entry.summary}")
        for option in entry.options:
            setting = f"{option.name}={format_value(option.default)}"
            print(f"      {setting:21} {option.meaning}: {option.words}")
        print()
    for name, mean in MEANS.items():
        print(f"{name:5} the mean that we recommend: {mean}")
    print()
    print("Options are written behind the name: stm:max_depth=3,balance=f1")
    print("Also: a+b the mean of two, queen:a+b QARLA's QUEEN, learned:FILE weights of your own")
    return 0
