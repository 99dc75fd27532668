"""Encoder: contextual vectors of texts by a transformer of the library transformers.

This is the only module that imports transformers. Weights and tokeniser are read from a folder
(`tensormt.vectors.folder`); nothing is fetched. Layers above the chosen one are not computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.vectors.batch import TextVectors
from tensormt.vectors.folder import find_folder

__all__ = ["Encoder", "load_encoder"]

_CELLS = 1 << 14  # pieces at a time, with padding
_LONGEST = 1 << 20  # tokenisers without a limit name a larger number
# tokenisers to whose texts bert-score adds a space at the front
_SPACED = ("Roberta", "GPT2")


class Encoder:
    """A transformer encoder with its tokeniser.

    Args:
        folder: Folder with configuration, weights and tokeniser.
        layer: Layer whose output is used, from 1; None: the last.
        device: Device of the encoder and its vectors.
        trusted: Whether weights in a pickle may be loaded.

    Raises:
        TensorMTError: If transformers is missing, the folder has no encoder, or there is no such
            layer.
    """

    def __init__(
        self,
        folder: Path,
        layer: int | None = None,
        device: torch.device | str = "cpu",
        trusted: bool = False,
    ) -> None:
        try:
            import transformers
        except ImportError:
            raise TensorMTError(
                "contextual vectors need transformers: pip install 'tensormt[encoder]'"
            ) from None
        pickles = sorted(path.name for path in folder.glob("*.bin"))
        if not trusted and pickles and not any(folder.glob("*.safetensors")):
            raise TensorMTError(
                f"{folder}: the weights {pickles[0]} are a pickle, which can execute code: convert "
                "them to safetensors, or set trusted if you trust their source"
            )
        logging: Any = transformers.logging
        level = logging.get_verbosity()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **local)
            safe = None if trusted else True
            model = transformers.AutoModel.from_pretrained(folder, use_safetensors=safe, **local)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            cause = " ".join(str(error).split())[:200]
            raise TensorMTError(
                f"{folder} cannot be read as an encoder ({cause}): it needs config.json, "
                "model.safetensors and a tokeniser, as save_pretrained writes them"
            ) from None
        finally:
            logging.set_verbosity(level)
            logging.enable_progress_bar()
        if not self._tokenizer.is_fast:
            raise TensorMTError(
                f"{folder}: the tokeniser is not a fast one: add its tokenizer.json"
            )
        self._cut(model, layer, folder)
        self._model = model.eval().requires_grad_(False).to(device)
        self._space = " " if type(self._tokenizer).__name__.startswith(_SPACED) else ""
        most = getattr(model.config, "max_position_embeddings", None) or _LONGEST
        self._longest = min(int(self._tokenizer.model_max_length), most)

    def _cut(self, model: Any, layer: int | None, folder: Path) -> None:
        """Remove the layers above the chosen one, or remember to read it among all outputs."""
        count = int(getattr(model.config, "num_hidden_layers", 0))
        if layer is not None and not 1 <= layer <= count:
            raise TensorMTError(f"layer is {layer}, but {folder} has {count} layers")
        self._read = None if layer in (None, count) else layer
        stacks = [getattr(model, name, None) for name in ("encoder", "transformer")]
        lists = [getattr(stack, "layer", None) for stack in stacks]
        layers = next((own for own in lists if isinstance(own, torch.nn.ModuleList)), None)
        if self._read is not None and layers is not None and len(layers) == count:
            del layers[self._read :]
            self._read = None

    @property
    def device(self) -> torch.device:
        """The device of the vectors."""
        found: torch.device = self._model.device
        return found

    @property
    def size(self) -> int:
        """The number of dimensions D of the vectors."""
        return int(self._model.config.hidden_size)

    def encode(self, texts: Sequence[str], cells: int = _CELLS) -> TextVectors:
        """Return the vectors of texts; a blank text has none.

        Args:
            texts: U texts; white space around them is removed.
            cells: Pieces at a time, with padding; the vectors differ by rounding only.
        """
        found = self.pieces(texts)
        rows = torch.split(found.ids.cpu(), found.lengths.tolist())
        sizes = [row.shape[0] for row in rows]
        starts = [0, *accumulate(sizes)]
        vectors = torch.zeros(starts[-1], self.size, device=self.device)
        for chosen in _parts(sizes, cells):
            ids, mask = self._padded([rows[k] for k in chosen])
            output = self._forward(ids, mask).float()
            place = torch.cat([torch.arange(starts[k], starts[k] + sizes[k]) for k in chosen])
            vectors[place.to(self.device)] = output[mask]
        return found.with_vectors(vectors)

    def pieces(self, texts: Sequence[str]) -> TextVectors:
        """Return what `encode` does without the network: vectors have no dimension.

        Args:
            texts: U texts; white space around them is removed.
        """
        texts = [text.strip() for text in texts]
        filled = [number for number, text in enumerate(texts) if text]
        coded = self._tokenize([self._space + texts[number] for number in filled])
        sizes = [len(ids) for ids in coded["input_ids"]]
        lengths = torch.zeros(len(texts), dtype=torch.int64)
        lengths[filled] = torch.tensor(sizes, dtype=torch.int64)
        numbers = [
            [-1 if word is None else word for word in coded.word_ids(k)] for k in range(len(filled))
        ]
        shift = len(self._space)
        spans = _flat(coded["offset_mapping"], 2).sub(shift).clamp_min(0)
        parts = (_flat(coded["input_ids"]), _flat(numbers), spans)
        ids, words, spans = (part.to(self.device) for part in parts)
        none = torch.zeros(len(ids), 0, device=self.device)
        return TextVectors(texts, none, lengths.to(self.device), ids, words, spans)

    def _tokenize(self, texts: list[str]) -> Any:
        if not texts:
            return _NoTexts()
        coded = self._tokenizer(
            texts,
            truncation=self._longest < _LONGEST,
            max_length=self._longest if self._longest < _LONGEST else None,
            return_offsets_mapping=True,
        )
        cut = sum(len(ids) == self._longest for ids in coded["input_ids"])
        if cut:
            warnings.warn(
                f"{cut} of {len(texts)} texts have as many pieces as the encoder reads "
                f"({self._longest}) or more: what follows is not compared",
                stacklevel=2,
            )
        return coded

    def _padded(self, rows: list[Tensor]) -> tuple[Tensor, Tensor]:
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
        sizes = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1]) < sizes[:, None]
        return ids.to(self.device), mask.to(self.device)

    @torch.no_grad()
    def _forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        wanted = self._read is not None
        found = self._model(ids, attention_mask=mask.long(), output_hidden_states=wanted)
        output: Tensor = found.hidden_states[self._read] if wanted else found[0]
        return output


class _NoTexts(dict[str, list[Any]]):
    """What the tokeniser gives for no text."""

    def __missing__(self, key: str) -> list[Any]:
        return []


def _flat(rows: Sequence[Sequence[Any]], width: int = 0) -> Tensor:
    flat = [value for row in rows for value in row]
    return torch.tensor(flat, dtype=torch.int64).view(-1, *([width] if width else []))


def _parts(sizes: Sequence[int], cells: int) -> Iterator[list[int]]:
    """Texts of similar length that together have at most so many pieces, without blank ones."""
    order = sorted(filter(sizes.__getitem__, range(len(sizes))), key=sizes.__getitem__)
    low = 0
    while low < len(order):
        high = low + 1
        while high < len(order) and sizes[order[high]] * (high + 1 - low) <= cells:
            high += 1
        yield order[low:high]
        low = high


def load_encoder(
    name: str, layer: int | None = None, device: torch.device | str = "cpu", trusted: bool = False
) -> Encoder:
    """Load an encoder by its name or folder; the last ones that were used stay in memory.

    Raises:
        TensorMTError: If the encoder is missing or cannot be read.
    """
    return _load(find_folder(name), layer, str(device), trusted)


@lru_cache(maxsize=4)
def _load(folder: Path, layer: int | None, device: str, trusted: bool) -> Encoder:
    return Encoder(folder, layer, device, trusted)
