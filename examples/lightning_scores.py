"""Corpus scores in Lightning's validation loop, with the penalties beside them.

    pip install -c constraints.txt -e '.[test-train]' && python examples/lightning_scores.py

The model has learnt nothing and copies its source: what `copied` is there to show. States are sums,
so that the scores of several processes are those of one.
"""

from typing import Any

import lightning
import torch
from torch.utils.data import DataLoader

from tensormt.train.torchmetrics_wrapper import collection

ROWS = [
    {"source": "Der Hund schläft.", "reference": "The dog sleeps."},
    {"source": "Die Katze saß auf der Matte.", "reference": "The cat sat on the mat."},
]


class Translator(lightning.LightningModule):
    """A model whose validation logs scores."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = collection(["chrf", "stm:balance=f1", "copied", "offtarget"], "default")

    def generate(self, sources: list[str]) -> list[str]:
        """Translate: put your model here."""
        return sources

    def validation_step(self, batch: dict[str, list[str]], number: int) -> None:
        """Add the segments of a batch."""
        texts = self.generate(batch["source"])
        self.scores.update(texts, [[ref] for ref in batch["reference"]], batch["source"])

    def on_validation_epoch_end(self) -> None:
        """Log the corpus scores of all batches and processes."""
        found = {name: value.float() for name, value in self.scores.compute().items()}
        self.log_dict(found)  # BLEU and chrF to 100, the others to 1
        self.scores.reset()

    def configure_optimizers(self) -> torch.optim.Optimizer | None:
        """Nothing is trained here."""
        return None


def run() -> dict[str, float]:
    """The scores that a validation logs."""
    trainer = lightning.Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    rows: Any = ROWS
    found = trainer.validate(Translator(), DataLoader(rows, batch_size=1), verbose=False)
    return dict(found[0])


if __name__ == "__main__":
    print(run())
