"""How large a report is, how long it takes to write, and how long to open.

    python bench/report.py [--sizes 1000 10000 100000] [--systems 3] [--trees-for 2000]
                           [--browser PATH]

Made-up segments of about 20 words with their trees (so that no parser is timed), one reference,
metrics bleu, stm and hwcm. Before a time is printed, the corpus scores on the page are compared
with `tm.score`. Build: processor seconds of this process at one thread. Open: from the request to
the first complete drawing, in a headless browser driven by playwright, the best of three, and the
processor seconds of the page's process in that time; left out where no browser is named.
"""

import argparse
import base64
import json
import os
import random
import re
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import torch

import tensormt as tm

METRICS = ["bleu", "stm", "hwcm"]
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking".split()
TAGS = "NN NNS VBD DT JJ IN RB PRP CD".split()
LABELS = "S NP VP PP SBAR ADVP".split()


def template(rng: random.Random, words: int) -> str:
    """A bracketing with a slot for every word."""
    if words == 1:
        return f"({rng.choice(TAGS)} %s)"
    parts = rng.randint(2, min(words, 4))
    cuts = sorted(rng.sample(range(1, words), parts - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, words], strict=True)]
    return f"({rng.choice(LABELS)} {' '.join(template(rng, size) for size in sizes)})"


def corpus(size: int, systems: int) -> tuple[dict[str, list[str]], list[list[str]]]:
    """Trees of systems and of one reference; systems change words and, at times, the tree."""
    rng = random.Random(size)
    pool = [template(rng, words) for words in [rng.randint(8, 32) for _ in range(3000)]]
    vocabulary = [f"w{k}" for k in range(20000)]
    weights = [1 / (k + 10) for k in range(20000)]
    refs, hyps = [], {f"system{k + 1}": [] for k in range(systems)}
    for _ in range(size):
        shape = rng.choice(pool)
        words = rng.choices(vocabulary, weights, k=shape.count("%s"))
        refs.append(shape % tuple(words))
        for number, lines in enumerate(hyps.values()):
            own = [
                w if rng.random() > 0.15 + 0.05 * number else rng.choice(vocabulary) for w in words
            ]
            form = shape if rng.random() < 0.5 else rng.choice(pool)
            own = (own * 5)[: form.count("%s")]
            lines.append(form % tuple(own))
    return hyps, [refs]


def meta(page: str) -> Any:
    """What the page says of itself."""
    block = re.search(r'id="meta">([^<]*)<', page)
    assert block
    return json.loads(zlib.decompress(base64.b64decode(block[1]), -15))


def opened(path: Path, browser: str) -> tuple[float, float]:
    """Seconds until the page is drawn, and processor seconds of its process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=FLAGS)
        times = []
        for _ in range(3):
            page = chromium.new_page()
            wire = page.context.new_cdp_session(page)
            wire.send("Performance.enable", {"timeDomain": "threadTicks"})
            start = time.perf_counter()
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("body[data-done]", timeout=120_000, state="attached")
            times.append((time.perf_counter() - start, spent(wire)))
            page.close()
        chromium.close()
    return min(times)


def spent(wire: Any) -> float:
    """Processor seconds of the page's process so far."""
    found = {
        metric["name"]: metric["value"] for metric in wire.send("Performance.getMetrics")["metrics"]
    }
    return float(found["ProcessTime"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--systems", type=int, default=3)
    parser.add_argument("--trees-for", type=int, default=2000)
    parser.add_argument("--browser", metavar="PATH", help="such as /usr/bin/chromium")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "segments  systems  build s  ms/segment      bytes  bytes/segment  open s  of processor",
        flush=True,
    )
    for size in args.sizes:
        hyps, refs = corpus(size, args.systems)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            start = time.process_time()
            tm.report(hyps, refs, METRICS, path, trees=True, trees_for=args.trees_for)
            seconds = time.process_time() - start
            found = meta(path.read_text(encoding="utf-8"))
            for number, lines in enumerate(hyps.values()):
                expected = tm.score(lines, refs, METRICS, trees=True).corpus
                for metric in found["metrics"]:
                    gap = abs(metric["scores"][number] - expected[metric["name"]])
                    assert gap <= 1e-6 * max(1, abs(expected[metric["name"]]))
            weight = path.stat().st_size
            wait = "      –             –"
            if args.browser:
                wait = "{:7.2f}  {:12.2f}".format(*opened(path, args.browser))
        print(
            f"{size:8,}  {args.systems:7}  {seconds:7.1f}  {1000 * seconds / size:10.2f}"
            f"  {weight:9,}  {weight / size:13,.0f} {wait}",
            flush=True,
        )


if __name__ == "__main__":
    main()
