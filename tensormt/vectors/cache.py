"""Vectors kept in a folder, so that a text is encoded once for all runs.

The folder has one SQLite file for each encoder and layer (`tensormt.data.sqlite_file`). A text
takes four bytes for each number: with MiniLM some 1.5 kB a piece, which is why vectors are kept
only on request, unlike parses.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from tensormt.data.sqlite_file import open_database, select_by_text, text_key
from tensormt.errors import TensorMTError
from tensormt.vectors.batch import TextVectors
from tensormt.vectors.encoder import Encoder

__all__ = ["encode_cached"]

_TABLE = "vectors (facts BLOB, numbers BLOB)"
_TEXTS = 256  # texts that are encoded and kept at a time: a run that is stopped keeps the others


def encode_cached(
    encoder: Encoder, texts: Sequence[str], folder: str | Path, fingerprint: str
) -> TextVectors:
    """Return the vectors of texts, those in the folder from there; the others are added to it.

    Args:
        encoder: The encoder.
        texts: U texts.
        folder: The folder.
        fingerprint: Encoder and layer.

    Raises:
        TensorMTError: If the folder cannot be used.
    """
    texts = [text.strip() for text in texts]
    try:
        database = open_database(Path(folder), fingerprint, _TABLE)
        try:
            known = _load(database, texts)
            new = [text for text in dict.fromkeys(texts) if text and text not in known]
            for start in range(0, len(new), _TEXTS):
                part = new[start : start + _TEXTS]
                known |= (rows := _split(encoder.encode(part)))
                _store(database, rows)
        finally:
            database.close()
    except (OSError, sqlite3.Error) as error:
        raise TensorMTError(
            f"the folder of vectors {folder} cannot be used: {error}; remove it or choose another"
        ) from None
    return _join(encoder, texts, known)


# facts int32 [n,4]: id, word, first and last character of each piece; vectors float32 [n,D]
_Row = tuple[np.ndarray, np.ndarray]


def _split(found: TextVectors) -> dict[str, _Row]:
    """The rows of texts by text."""
    columns = [found.ids[:, None], found.words[:, None], found.spans]
    facts = torch.cat(columns, 1).to(torch.int32).cpu().numpy()
    vectors, ends = found.vectors.cpu().numpy(), found.lengths.cumsum(0).tolist()
    starts = [0, *ends]
    return {
        text: (facts[low:high], vectors[low:high])
        for text, low, high in zip(found.texts, starts, ends, strict=False)
    }


def _load(database: sqlite3.Connection, texts: Sequence[str]) -> dict[str, _Row]:
    rows = select_by_text(database, "SELECT key, facts, numbers FROM vectors", texts)
    found = {}
    for text, (facts, numbers) in rows.items():
        table = np.frombuffer(facts, np.int32).reshape(-1, 4)
        found[text] = table, np.frombuffer(numbers, np.float32).reshape(len(table), -1)
    return found


def _store(database: sqlite3.Connection, rows: dict[str, _Row]) -> None:
    values = [(text_key(text), *(part.tobytes() for part in row)) for text, row in rows.items()]
    with database:
        database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", values)


def _join(encoder: Encoder, texts: Sequence[str], known: dict[str, _Row]) -> TextVectors:
    """The rows of all texts, one text after the other; a blank text has none."""
    rows = [known[text] for text in texts if text]
    lengths = torch.tensor([len(known[text][0]) if text else 0 for text in texts])
    facts = np.concatenate([np.zeros((0, 4), np.int32), *(table for table, _ in rows)])
    none = np.zeros((0, encoder.size), np.float32)
    vectors = torch.from_numpy(np.concatenate([none, *(numbers for _, numbers in rows)]))
    ids, words, low, high = torch.from_numpy(facts.astype(np.int64)).unbind(1)
    parts = (vectors, lengths.to(torch.int64), ids, words, torch.stack([low, high], 1))
    return TextVectors(texts, *(part.to(encoder.device) for part in parts))
