"""`tensormt train-parser`: a constituency parser from any treebank in Penn-style brackets."""

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from tensormt.command.options import choose_device
from tensormt.command.progress import Progress
from tensormt.data.tables import json_text

EXAMPLES = """
examples:
  tensormt train-parser --train train.ptb --dev dev.ptb --test test.ptb -o my-parser
  tensormt train-parser --train train.ptb --dev dev.ptb -o my-parser --resume
  tensormt parse text.txt -o text.ptb --parser my-parser

One bracketing a line. The folder my-parser is a parser after every epoch (the best so far on the
development trees); a run that was stopped goes on with --resume. F1 leaves out tags and the root.
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    from tensormt.parser.recipe import Recipe

    parser = subparsers.add_parser(
        "train-parser",
        help="train a parser on a treebank",
        description="Train a constituency parser on Penn-style brackets.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--train", required=True, metavar="FILE", help="trees to learn from")
    parser.add_argument("--dev", required=True, metavar="FILE", help="trees to choose by")
    parser.add_argument("--test", metavar="FILE", help="trees for the final figures")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where it is made")
    parser.add_argument("--embed", metavar="FILE", help="word vectors, 'word x1 x2 …' a line")
    parser.add_argument(
        "--hyphens", action="store_true", help="the treebank cuts words at hyphens, 'risk - free'"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in DIR")
    parser.add_argument("--device", default="cpu", choices=["auto", "cpu", "cuda"])
    parser.add_argument("-q", "--quiet", action="store_true", help="print the final figures only")
    group = parser.add_argument_group("recipe")
    for entry in fields(Recipe):
        name = "--" + entry.name.replace("_", "-")
        text = f"{entry.metadata['help']} ({entry.default})"
        group.add_argument(name, type=type(entry.default), default=entry.default, help=text)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train, then print the figures of the best parser as one JSON object."""
    import torch

    from tensormt.parser.fitting import fit, read_gold, score
    from tensormt.parser.recipe import Recipe

    torch.set_num_threads(1)  # LSTM steps are too small to share: more threads lose time
    recipe = Recipe(**{entry.name: getattr(args, entry.name) for entry in fields(Recipe)})
    device = torch.device(choose_device(args.device))
    if args.test:
        read_gold(Path(args.test))

    def bar(epoch: int, sentences: int) -> Progress:
        title = f"epoch {epoch}/{recipe.epochs}"
        return Progress(sentences, title, "sentences", quiet=args.quiet)

    def report(figures: dict[str, float]) -> None:
        if not args.quiet:
            print(
                f"epoch {figures['epoch']}/{recipe.epochs}  loss {figures['loss']:.3f}  "
                f"dev F1 {figures['f1']:.2f}  tags {figures['tags']:.2f}",
                file=sys.stderr,
                flush=True,
            )

    parser = fit(
        Path(args.train),
        Path(args.dev),
        Path(args.output),
        recipe,
        embed=Path(args.embed) if args.embed else None,
        hyphens=args.hyphens,
        resume=args.resume,
        device=device,
        epoch_bar=bar,
        report=report,
    )
    files = {"dev": args.dev, **({"test": args.test} if args.test else {})}
    figures = {name: score(parser, Path(file)) for name, file in files.items()}
    print(json_text({"parser": parser.fingerprint, **figures}))
    return 0
