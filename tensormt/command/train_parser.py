"""`tensormt train-parser`: train a parser on a treebank, Penn-style brackets or CoNLL-U."""

import argparse
import sys
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from tensormt.command.arguments import choose_device
from tensormt.command.progress import Progress
from tensormt.data.tables import json_text
from tensormt.errors import TensorMTError

DESCRIPTION = "Train a constituency parser (Penn-style brackets) or a dependency parser (CoNLL-U)."
EXAMPLES = """
examples:
  tensormt train-parser --train train.ptb --dev dev.ptb --test test.ptb -o my-parser
  tensormt train-parser --train train.ptb --dev dev.ptb -o my-parser --resume
  tensormt parse text.txt -o text.ptb --parser my-parser
  tensormt train-parser --train de=a.conllu fr=b.conllu --dev de=c.conllu fr=d.conllu -o two
  tensormt parse text.txt -o text.conllu --parser two --lang fr

One bracketing per line trains a constituency parser, CoNLL-U a dependency parser of one or several
languages (LANG=FILE each). After every epoch the folder my-parser contains the best parser so far
(on the development trees); --resume continues a stopped run. F1 excludes tags and the root; UAS and
LAS count all words.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    for name, text, needed in (
        ("train", "training trees", True),
        ("dev", "development trees, for model selection", True),
        ("test", "test trees, for the final scores", False),
    ):
        parser.add_argument(
            f"--{name}", required=needed, nargs="+", default=[], metavar="FILE", help=text
        )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the parser")
    parser.add_argument("--embed", metavar="FILE", help="word vectors, 'word x1 x2 …' per line")
    parser.add_argument(
        "--hyphens", action="store_true", help="the treebank splits at hyphens, 'risk - free'"
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in DIR")
    parser.add_argument("--device", default="cpu", choices=["auto", "cpu", "cuda"])
    parser.add_argument("-q", "--quiet", action="store_true", help="print the final scores only")
    group = parser.add_argument_group("recipe (defaults for brackets / CoNLL-U)")
    for field, defaults in _settings().items():
        entry = defaults[0] or defaults[1]
        assert entry is not None
        known = " / ".join("–" if one is None else str(one.default) for one in defaults)
        text = f"{entry.metadata['help']} ({known})"
        group.add_argument(f"--{field.replace('_', '-')}", type=type(entry.default), help=text)


def _settings() -> dict[str, list[Field[Any] | None]]:
    """The fields of the two recipes by name: [constituency, dependency], None if there is none."""
    from tensormt.parser.recipe import DependencyRecipe, Recipe

    kinds = [{entry.name: entry for entry in fields(kind)} for kind in (Recipe, DependencyRecipe)]
    return {name: [kind.get(name) for kind in kinds] for name in {**kinds[0], **kinds[1]}}


def _recipe(args: argparse.Namespace, kind: int) -> Any:
    """The recipe that the arguments select; kind 0: constituency, 1: dependency."""
    from tensormt.parser.recipe import DependencyRecipe, Recipe

    given = {name: value for name in _settings() if (value := getattr(args, name)) is not None}
    for name in given:
        if _settings()[name][kind] is None:
            raise TensorMTError(
                f"--{name.replace('_', '-')} is for {('CoNLL-U', 'brackets')[kind]} only: omit it"
            )
    return (Recipe, DependencyRecipe)[kind](**given)


def run(args: argparse.Namespace) -> int:
    """Train, then print the scores of the best parser as one JSON object."""
    import torch

    from tensormt.data.tree_files import tree_format
    from tensormt.parser.dependency_fitting import named_file

    torch.set_num_threads(1)  # LSTM steps are too small to benefit from more threads
    given = [*args.train, *args.dev, *args.test]
    forms = {tree_format(str(named_file(text)[1])) == "conllu" for text in given}
    if len(forms) > 1:
        raise TensorMTError("some of the tree files are CoNLL-U and some are not: use one format")
    found = (_dependencies if forms == {True} else _constituents)(args)
    print(json_text(found))
    return 0


class _EpochReport:
    """The progress bar of an epoch, and one line with its scores."""

    def __init__(self, epochs: int, quiet: bool, names: dict[str, str]) -> None:
        self.epochs, self.quiet, self.names = epochs, quiet, names

    def bar(self, epoch: int, sentences: int) -> Progress:
        return Progress(sentences, f"epoch {epoch}/{self.epochs}", "sentences", quiet=self.quiet)

    def report(self, figures: dict[str, float]) -> None:
        if not self.quiet:
            shown = "  ".join(f"{text} {figures[name]:.2f}" for name, text in self.names.items())
            line = f"epoch {figures['epoch']}/{self.epochs}  loss {figures['loss']:.3f}  {shown}"
            print(line, file=sys.stderr, flush=True)


def _constituents(args: argparse.Namespace) -> dict[str, Any]:
    import torch

    from tensormt.parser.fitting import evaluate_file, fit_constituency, read_gold

    recipe = _recipe(args, 0)
    for name in ("train", "dev", "test"):
        if len(getattr(args, name)) > 1:
            raise TensorMTError(
                f"--{name}: expected one file of brackets, got {len(getattr(args, name))}"
            )
    test = Path(args.test[0]) if args.test else None
    if test:
        read_gold(test)
    epochs = _EpochReport(recipe.epochs, args.quiet, {"f1": "dev F1", "tags": "tags"})
    parser = fit_constituency(
        Path(args.train[0]),
        Path(args.dev[0]),
        Path(args.output),
        recipe,
        embed=Path(args.embed) if args.embed else None,
        hyphens=args.hyphens,
        resume=args.resume,
        device=torch.device(choose_device(args.device)),
        epoch_bar=epochs.bar,
        report=epochs.report,
    )
    files = {"dev": Path(args.dev[0]), **({"test": test} if test else {})}
    return {
        "parser": parser.fingerprint,
        **{name: evaluate_file(parser, file) for name, file in files.items()},
    }


def _dependencies(args: argparse.Namespace) -> dict[str, Any]:
    import torch

    from tensormt.parser import dependency_fitting as fitting

    recipe = _recipe(args, 1)
    if args.embed or args.hyphens:
        raise TensorMTError("--embed and --hyphens are for brackets only: omit them")
    train, dev, test = (
        [fitting.named_file(text) for text in given] for given in (args.train, args.dev, args.test)
    )
    gold = {name: fitting.read_files(given) for name, given in (("dev", dev), ("test", test))}
    fitting.check_languages(gold["test"], sorted({lang for lang, _ in train} - {""}))
    epochs = _EpochReport(recipe.epochs, args.quiet, {"uas": "dev UAS", "las": "LAS"})
    parser = fitting.fit_dependency(
        train,
        dev,
        Path(args.output),
        recipe,
        resume=args.resume,
        device=torch.device(choose_device(args.device)),
        epoch_bar=epochs.bar,
        report=epochs.report,
    )
    name = parser(next(iter(gold["dev"]))).name.partition(":")[0]
    figures = {
        part: fitting.evaluate_languages(parser, trees) for part, trees in gold.items() if trees
    }
    return {"parser": name, **figures}
