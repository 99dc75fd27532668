"""Hostile input to every command, and kills at random moments: what was tried, what was wrong.

    python bench/fuzz.py --minutes 10 [--seed 1] [--inputs 10000] [--parse]     random inputs
    python bench/fuzz.py --kill [--kills 100] [--seed 1]                        kill -9, --resume
    python bench/fuzz.py --python                                               misuse of the API

Inputs (tests/hostile.py) run in this process. Each must end with status 2 and one sentence, or with
status 0 and a right result: BLEU of proper text is compared with sacrebleu's. A traceback, a minute
of processor time, more than one sentence or a control character is printed with its command line,
and the run ends with status 1. `--parse` adds the commands that load the parser. With `--kill`,
runs that write segment files of every form are killed at random moments, start-up included, and go
on with `--resume`; the file must be byte for byte that of an undisturbed run. With `--python`,
every argument of every public function is replaced by what does not belong there
(tests/misuse.py): each misuse must give one TensorMTError of one sentence, or be known to be none.
One thread.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import sacrebleu

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import hostile  # noqa: E402
import torch  # noqa: E402

from tensormt.command.main import main as command  # noqa: E402

SECONDS = 60  # of processor time, after which a command counts as hanging
WAITING = 900  # seconds of any time


def bleu(hyps: list[str], refs: list[list[str]]) -> float:
    """The BLEU of sacrebleu; an empty or blank reference is absent."""
    streams = [[ref if ref.strip() else None for ref in stream] for stream in refs]
    return sacrebleu.corpus_bleu(hyps, streams).score


def too_long(number: int, frame: object) -> None:
    """A command takes more than its time."""
    raise RuntimeError(f"no result after {SECONDS} s")


def inputs(args: argparse.Namespace) -> int:
    """Random inputs until the time or the number is over."""
    rng = random.Random(args.seed)
    tally: Counter[str] = Counter()
    statuses: Counter[int] = Counter()
    faults = 0
    begin = time.monotonic()
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, too_long)
    number = 0
    while number < args.inputs and time.monotonic() - begin < 60 * args.minutes:
        number += 1
        seed = rng.getrandbits(48)
        with tempfile.TemporaryDirectory() as name:
            case = hostile.case(random.Random(seed), Path(name), parse=args.parse)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(WAITING)
            status, out, err = hostile.run(command, case.arguments)
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            wrong = hostile.verdict(case, status, out, err, bleu)
        tally.update(case.seen)
        statuses[status] += 1
        if wrong:
            faults += 1
            print(
                f"input {seed}: {wrong}\n  tensormt {' '.join(case.arguments)[:500]}\n{err[-1500:]}"
            )
    took = time.monotonic() - begin
    print(
        f"{number} inputs in {took:.0f} s: {faults} faults; status {dict(sorted(statuses.items()))}"
    )
    print("tried: " + ", ".join(f"{name} {count}" for name, count in tally.most_common()))
    return int(faults > 0)


def kills(args: argparse.Namespace) -> int:
    """Kill -9 at random moments, then --resume."""
    rng = random.Random(args.seed)
    moments: Counter[str] = Counter()
    done = rounds = 0
    took = 0.0  # by an undisturbed run
    expected = b""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("ref1.txt", "sysA.txt", "sysB.txt"):
            (folder / file).write_text((ROOT / "examples" / file).read_text() * 150)
        (folder / "docs").write_text("x\ny\nz\n" * 600)
        base = [sys.executable, "-m", "tensormt", "score", "ref1.txt", "-i", "sysA.txt", "sysB.txt"]
        base += ["--docs", "docs", "--documents", "-m", "bleu", "nist", "bm", "-f", "json"]
        base += ["--chunk", "20"]

        def score(out: str, *more: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*base, "--segments", out, *more],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )

        while done < args.kills:
            kind = ("jsonl", "tsv", "parquet")[rounds % 3]
            rounds += 1
            whole, out = folder / f"whole.{kind}", folder / f"out.{kind}"
            if not whole.exists():
                begin = time.monotonic()
                expected = score(whole.name).communicate()[0]
                took = time.monotonic() - begin
            out.unlink(missing_ok=True)
            for _ in range(min(rng.randint(1, 8), args.kills - done)):
                process = score(out.name, "--resume")
                limit = time.monotonic() + rng.random() * took
                while time.monotonic() < limit and process.poll() is None:
                    time.sleep(0.005)
                if process.poll() is None:
                    state = folder / f"{out.name}.state"
                    moments["at work" if state.exists() else "at start or end"] += 1
                    done += 1
                process.kill()
                process.communicate()
            result, complaint = score(out.name, "--resume").communicate()
            same = out.read_bytes() == whole.read_bytes() if out.exists() else False
            left = [p.name for p in folder.iterdir() if p.name.startswith("out.") and p != out]
            left = [name for name in left if name.startswith(out.name)]
            if not same or result != expected or left:
                print(
                    f"{kind}, after {done} kills: not the same; left {left}; {complaint.decode()}"
                )
                return 1
    print(f"{done} kills -9 ({dict(moments)}) in {rounds} runs: all byte-identical after --resume")
    return 0


def misuses() -> int:
    """Every wrong argument of every public function."""
    import misuse

    tried, faults = 0, []
    for name in misuse.calls():
        count, wrong = misuse.tried(name)
        tried, faults = tried + count, faults + wrong
    print(*faults, sep="\n" if faults else "", end="\n" if faults else "")
    print(f"{tried} misuses of {len(misuse.calls())} functions: {len(faults)} faults")
    return int(bool(faults))


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--inputs", type=int, default=10**9, help="stop after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parse", action="store_true", help="parse and train-parser too")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--python", action="store_true", help="misuse of the Python API")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.python:
        return misuses()
    return kills(args) if args.kill else inputs(args)


if __name__ == "__main__":
    sys.exit(main())
