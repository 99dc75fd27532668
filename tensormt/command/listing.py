"""`tensormt list`: the metrics with their options."""

from __future__ import annotations

import argparse
import json
from typing import Any

from tensormt.command.arguments import add_format
from tensormt.options import format_value
from tensormt.registry import ALIASES, MEANS, find, metrics, parse_spec

DESCRIPTION = "List the metrics with their options and defaults, written as NAME:option=value."
EXAMPLES = """
examples:
  tensormt list
  tensormt list stm
  tensormt list -f json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these metrics")
    add_format(parser, ("text", "json"))


def run(args: argparse.Namespace) -> int:
    """Print metrics and their options with default, description and possible values."""
    named = dict.fromkeys(
        parse_spec(ALIASES.get(name, name))[0] for name in args.names or () if name not in MEANS
    )
    chosen = [(name, find(name)) for name in named] if args.names else list(metrics())
    means = {name: mean for name, mean in MEANS.items() if not args.names or name in args.names}
    if args.format == "json":
        found: dict[str, Any] = {name: _as_json(metric) for name, metric in chosen}
        found |= {name: {"mean_of": mean} for name, mean in means.items()}
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return 0
    for name, metric in chosen:
        print(f"{name:5} {metric.summary}")
        for option in metric.options():
            setting = f"{option.name}={format_value(option.default)}"
            print(f"      {setting:21} {option.help}: {option.expected}")
        print()
    for name, mean in means.items():
        print(f"{name:5} the recommended mean: {mean}")
    if args.names:
        return 0
    for name, spec in ALIASES.items():
        print(f"{name:5} short for {spec}")
    print()
    print("Options follow the name: stm:max_depth=3,balance=f1")
    print("Also: a+b (mean of two metrics), queen:a+b (QARLA's QUEEN), learned:FILE (own weights)")
    return 0


def _as_json(metric: Any) -> dict[str, Any]:
    return {
        "summary": metric.summary,
        "scale": metric.scale,
        "higher_is_better": metric.higher_is_better,
        "options": {
            option.name: {
                "default": option.default,
                "help": option.help,
                "expected": option.expected,
            }
            for option in metric.options()
        },
    }
