"""`tensormt list`: the metrics with their options."""

from __future__ import annotations

import argparse

from tensormt.registry import METRICS, options

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
    """Print one metric a block."""
    for name, metric in METRICS.items():
        summary = (metric.__doc__ or "").strip().partition("\n")[0]
        settings = ",".join(f"{key}={value}" for key, value in options(name).items())
        print(f"{name:5} {summary}\n      {name}:{settings}")
    return 0
