"""The steps of a recipe: each has a folder, is skipped once it is complete, and can be resumed."""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tensormt.errors import TensorMTError
from tensormt.parser import Parser, checkpoint

DONE = "done.json"


class Steps:
    """Runs the steps of a recipe in the folders of a work folder.

    Args:
        work: Work folder.
    """

    def __init__(self, work: Path) -> None:
        self.work = work

    def __call__(self, name: str, settings: Any, run: Callable[[Path], Any]) -> Any:
        """Run a step unless it is complete, and return its result, a JSON value.

        Args:
            name: Name of the step and of its folder.
            settings: The settings that the step depends on.
            run: Function of the folder; it may find files of an interrupted run there.

        Raises:
            TensorMTError: If the step was completed with other settings.
        """
        folder = self.work / name
        done = folder / DONE
        settings = json.loads(json.dumps(settings))
        if done.exists():
            found = json.loads(done.read_text(encoding="utf-8"))
            if found["settings"] != settings:
                raise TensorMTError(
                    f"{folder} was made with other settings: remove it and the steps after it, or "
                    "choose another work folder"
                )
            say(f"{name}: complete since {found['when']}")
            return found["result"]
        folder.mkdir(parents=True, exist_ok=True)
        say(f"{name}: started")
        start = time.process_time()
        result = run(folder)
        row = {
            "settings": settings,
            "seconds": round(time.process_time() - start),
            "result": result,
        }
        row["when"] = time.strftime("%Y-%m-%d %H:%M")
        done.write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        say(f"{name}: done after {row['seconds']} s of CPU time")
        return result


def say(text: str) -> None:
    """Print a line of the log."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def report(scores: dict[str, float]) -> None:
    """Print the scores of an epoch."""
    say("  ".join(f"{k} {v:.4g}" for k, v in scores.items() if "_" not in k))


def can_resume(folder: Path) -> bool:
    """Return whether a training was interrupted in a folder."""
    return (folder / "checkpoint.pt").exists()


def checksum(folder: Path) -> str:
    """Return the SHA-256 of weights and settings of a parser, as the model cards give it."""
    total = hashlib.sha256()
    for name in (checkpoint.WEIGHTS, checkpoint.SETTINGS):
        total.update((folder / name).read_bytes())
    return total.hexdigest()


def export(source: Path, folder: Path, **changes: Any) -> str:
    """Copy a parser with changed settings and return its checksum."""
    settings = {**checkpoint.load_settings(source), **changes}
    (folder / checkpoint.WEIGHTS).write_bytes((source / checkpoint.WEIGHTS).read_bytes())
    text = json.dumps(settings, ensure_ascii=False)
    (folder / checkpoint.SETTINGS).write_text(f"{text}\n", encoding="utf-8")
    return checksum(folder)


def speed(parser: Parser, sentences: list[list[str]], seconds: float = 2.0) -> float:
    """Return sentences per second of CPU time, the median of runs of `seconds` in all."""
    parser.parse_sentences(sentences[:20])
    times: list[float] = []
    while sum(times) < seconds:
        start = time.process_time()
        parser.parse_sentences(sentences)
        times.append(time.process_time() - start)
    return len(sentences) / sorted(times)[len(times) // 2]


def table(head: list[str], rows: list[list[Any]]) -> str:
    """Return rows as a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in lines)


def arguments(text: str, here: Path) -> argparse.ArgumentParser:
    """Return the arguments that all recipes have."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the treebanks")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="work folder")
    own = here / "settings.json"
    parser.add_argument("--settings", type=Path, default=own, metavar="FILE", help="settings")
    parser.add_argument("--until", metavar="STEP", help="last step that is run")
    return parser


def main(run: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser) -> int:
    """Run a recipe; bad input is one sentence and status 2."""
    args = parser.parse_args()
    try:
        run(args)
    except TensorMTError as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 2
    return 0
