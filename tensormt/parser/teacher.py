"""Training of a teacher: a transformer with the CRF heads of the constituency parser.

The pieces of a word are averaged, so that a word has one vector, as in supar's own parsers on
transformers (`crf-con-roberta`); loss, checkpoints and the loop are those of the constituency
parser (`training`, `fitting`). The transformer learns at a lower rate than the heads, which are
new. A teacher is too slow to parse with: its span and label probabilities train a small parser
(`distillation`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.data import files
from tensormt.parser import checkpoint
from tensormt.parser import model as supar_model
from tensormt.parser.batching import SpanBatch, SpanCorpus
from tensormt.parser.encoder import fenceposts
from tensormt.parser.fitting import Training, evaluate_file, read_gold, run_training
from tensormt.parser.model import Settings
from tensormt.parser.network import ConstituencyNetwork
from tensormt.parser.parser import Parser
from tensormt.parser.recipe import TeacherRecipe
from tensormt.parser.training import Trainer, cosine_rate, head_loss, mixed_precision
from tensormt.parser.treebank import narrow_labels, read_treebank, vocabularies

TEACHER_FORMAT = 3


class PieceFeatures:
    """Converts words to the piece ids of a transformer, in place of character ids."""

    def __init__(self, parser: Any) -> None:
        self.field = parser.transform.WORD[0]

    def __call__(self, types: list[str]) -> tuple[Tensor, Tensor]:
        """Return ones int64 [U+2] and pieces int64 [U+2,C], padded with the padding's id.

        The last two rows are the boundaries of a sentence.
        """
        field, vocab = self.field, self.field.vocab
        rows = [[vocab.get(piece, field.unk_index) for piece in field.tokenize(w)] for w in types]
        rows = [(row or [field.unk_index])[: field.fix_len] for row in rows]
        rows += [[field.bos_index], [field.eos_index]]
        width = max(map(len, rows))
        filled = torch.tensor([row + [field.pad_index] * (width - len(row)) for row in rows])
        return torch.ones(len(rows), dtype=torch.int64), filled


class TeacherTrainer(Trainer):
    """Trains a transformer with CRF heads.

    Args:
        settings: Settings of the model.
        recipe: Hyperparameters.
        folder: Folder of the teacher and the checkpoint.
        encoder: Folder of the pretrained transformer.
        device: Device.
    """

    def __init__(
        self,
        settings: Settings,
        recipe: TeacherRecipe,
        folder: Path,
        encoder: Path,
        device: torch.device,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.parser = supar_model.build_transformer(settings, encoder)
        self.pad = self.parser.transform.WORD[0].pad_index
        super().__init__(self.parser.model, settings, recipe, folder, device, beta=0.999)

    def groups(self) -> list[dict[str, Any]]:
        """Return the weights of the transformer, which learn slowly, and those of the heads."""
        slow = {id(weight) for weight in self.model.encoder.bert.parameters()}
        parts = ([w for w in self.weights if (id(w) in slow) is kind] for kind in (True, False))
        scales = (self.recipe.encoder_rate / self.recipe.rate, 1.0)
        return [{"params": p, "scale": s} for p, s in zip(parts, scales, strict=True)]

    def loss(self, batch: SpanBatch) -> Tensor:
        """Return the loss of the constituency parser on the vectors of the transformer."""
        pieces = batch.chars[batch.types].masked_fill(batch.words.eq(0)[:, :, None], self.pad)
        with mixed_precision(batch.words):
            posts = fenceposts(self.model.encode(pieces))
        return head_loss(self.model, posts, batch)

    def rate(self, done: int, batches: int) -> float:
        """Return the rate of a cosine over all epochs."""
        return cosine_rate(self.step, self.recipe.epochs * batches, self.recipe)


def fit_teacher(
    train: Path,
    dev: Path,
    folder: Path,
    encoder: Path,
    recipe: TeacherRecipe,
    *,
    hyphens: bool = False,
    resume: bool = False,
    device: torch.device | None = None,
    epoch_bar: Callable[[int, int], Any] | None = None,
    report: Callable[[dict[str, float]], object] = lambda _: None,
) -> ConstituencyNetwork:
    """Train a teacher.

    Args:
        train: File of training trees, one bracketing per line.
        dev: File of development trees.
        folder: Folder of the teacher.
        encoder: Folder of the pretrained transformer, as Hugging Face saves it.
        recipe: Hyperparameters.
        hyphens: Whether the treebank splits words at hyphens.
        resume: Whether to resume an interrupted run.
        device: Device; None: CPU.
        epoch_bar: As for `fit_constituency`.
        report: Called with the scores of every epoch.

    Returns:
        The teacher of the epoch with the best F1.

    Raises:
        TensorMTError: If a file is invalid, or the folder cannot be used.
    """
    where = torch.device("cpu") if device is None else device

    def prepare() -> Training:
        read_gold(dev)  # its errors are reported before training
        root, examples = read_treebank(train)
        settings = {
            "format": TEACHER_FORMAT,
            "args": recipe.model(),
            "labels": vocabularies(examples)["labels"],
            "narrow": sorted(narrow_labels(examples)),
            "root": root,
        }
        trainer = TeacherTrainer(settings, recipe, folder, encoder, where)
        corpus = SpanCorpus(examples, settings, PieceFeatures(trainer.parser))

        def evaluate() -> dict[str, float]:
            network = ConstituencyNetwork(trainer.parser, settings, where, True)
            return evaluate_file(Parser(network, "training", hyphens=hyphens), dev)

        return trainer, corpus, evaluate

    run_training(prepare, folder, recipe, [train, dev], "f1", resume, epoch_bar, report)
    return load_teacher(folder, encoder, device)


def load_teacher(
    folder: Path, encoder: Path, device: torch.device | None = None
) -> ConstituencyNetwork:
    """Load a teacher.

    Args:
        folder: Folder of the teacher.
        encoder: Folder of the pretrained transformer: its configuration and tokenizer are used.
        device: Device; None: CPU.
    """
    from safetensors.torch import load_file

    settings: Settings = files.json_object(str(folder / checkpoint.SETTINGS))
    parser = supar_model.build_transformer(settings, encoder)
    tensors = load_file(folder / checkpoint.WEIGHTS)
    parser.model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return ConstituencyNetwork(parser, settings, device or torch.device("cpu"), True)
