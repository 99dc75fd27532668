"""Start-up: processor time of small commands, beside `sacrebleu --help` and `import torch`.

    python bench/startup.py [--runs 5] [--json]

Each command runs in a process of its own, the peers between ours; the smallest processor time (user
and system) of the runs is shown, in seconds. What is printed is checked first. One thread.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
TENSORMT = [sys.executable, "-m", "tensormt"]


def commands(folder: Path) -> dict[str, tuple[list[str], str]]:
    """Command lines by name, and what each must print."""
    for name, text in (("hyp", "the cat sat\non the\nmat\n"), ("ref", "a cat sat\non the\nmat\n")):
        (folder / name).write_text(text)
    files = [str(folder / "ref"), "-i", str(folder / "hyp"), "-m", "bleu"]
    return {
        "python -c pass": ([sys.executable, "-c", ""], ""),
        "import torch": ([sys.executable, "-c", "import torch"], ""),
        "sacrebleu --help": ([sys.executable, "-m", "sacrebleu", "--help"], "usage"),
        "sacrebleu ref -i hyp": ([sys.executable, "-m", "sacrebleu", *files], "BLEU"),
        "tensormt --help": ([*TENSORMT, "--help"], "usage"),
        "tensormt --version": ([*TENSORMT, "--version"], "tensormt "),
        "tensormt list": ([*TENSORMT, "list"], "chrf"),
        "tensormt score --help": ([*TENSORMT, "score", "--help"], "usage"),
        "tensormt score -m bleu": ([*TENSORMT, "score", *files], "BLEU|order:4"),
    }


def seconds(command: list[str], expected: str) -> float:
    """Processor time of a command whose output begins as it should."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert expected in result.stdout, (command, result.stdout[:200])
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(args.runs):
            for title, (command, expected) in commands(Path(name)).items():
                took = seconds(command, expected)
                times[title] = min(took, times.get(title, took))
    over = times["tensormt score -m bleu"] - times["import torch"]
    if args.json:
        print(json.dumps({**times, "score over import torch": over}, indent=1))
        return 0
    for title, took in times.items():
        print(f"{title:24} {took:6.2f} s")
    print(f"{'score - import torch':24} {over:6.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
