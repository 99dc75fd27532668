"""A WMT test set of three language pairs in the layout of mt-metrics-eval."""

import numpy as np

PAIRS = ("zh-en", "he-en", "en-de")
WORDS = {
    "en": "the a cat dog sat ran on in mat house day night it was all long".split(),
    "de": "der die eine Katze Hund lief auf in Haus Tag Nacht es war alles lang".split(),
}
SEGMENTS = 8


def write_folder(root):
    """Write the test set: systems s0 to s3 of rising quality, two references and human outputs."""
    random = np.random.default_rng(0)
    for pair in PAIRS:
        words = WORDS[pair.split("-")[1]]

        def sentence(length, words=words):
            return " ".join(random.choice(words, length))

        refs = {name: [sentence(9) for _ in range(SEGMENTS)] for name in ("refA", "refB")}
        outputs = {
            f"s{s}": [
                " ".join(ref.split()[: 3 + 2 * s]) + " " + sentence(2) for ref in refs["refA"]
            ]
            for s in range(4)
        }
        outputs |= refs | {"synthetic_ref": [sentence(9) for _ in range(SEGMENTS)]}
        scores = {
            name: [len(name) + float(name[-1].isdigit() and int(name[-1])) + random.random()
                   for _ in range(SEGMENTS)]
            for name in outputs
        }  # fmt: skip
        files = {
            f"documents/{pair}.docs": [f"news\td{i // 2}" for i in range(SEGMENTS)],
            f"human-scores/{pair}.mqm.seg.score": rows(scores),
            f"human-scores/{pair}.da-sqm.seg.score": rows(
                {name: [-x for x in row] for name, row in scores.items()}
            ),
            f"metric-scores/{pair}/QE-src.seg.score": rows(scores),
        }
        for name in refs:
            files[f"references/{pair}.{name}.txt"] = refs[name]
            files[f"metric-scores/{pair}/COMET-{name}.seg.score"] = rows(
                {system: [x + (name == "refB") for x in row] for system, row in scores.items()}
            )
        if pair == "en-de":
            files[f"metric-scores/{pair}/GERMAN-refA.seg.score"] = rows(scores)
        files |= {f"system-outputs/{pair}/{name}.txt": lines for name, lines in outputs.items()}
        for name, lines in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def rows(scores):
    """Lines of a score file."""
    return [f"{name}\t{score}" for name, row in scores.items() for score in row]
