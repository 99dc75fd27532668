"""Dependency trees of a spaCy pipeline: `--parser spacy:de_core_news_sm`, or a folder.

The pipeline cuts text into tokens and sentences itself. Tokens that are white space are left out;
what would hang on one hangs on its head. Parts that trees do not need (names, lemmas) are not run.
"""

from pathlib import Path
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.parser import checkpoint
from tensormt.parser.external import ForeignParser, Segment
from tensormt.trees.conllu import Sentences

_UNUSED = ("ner", "entity_linker", "entity_ruler", "lemmatizer", "attribute_ruler", "textcat")


class SpacyParser(ForeignParser):
    """A spaCy pipeline with a dependency parser, by the name of its package or its folder."""

    def __init__(self, model: str) -> None:
        self.model = model
        try:
            import spacy
        except ImportError:
            raise TensorMTError(
                f"the parser spacy:{model} needs spaCy: pip install 'tensormt[spacy]'"
            ) from None
        if not model:
            raise TensorMTError(
                "the parser spacy needs the name of a pipeline: write spacy:de_core_news_sm"
            )
        try:
            self._pipeline = spacy.load(model)
        except (OSError, ValueError, ImportError) as error:
            cause = " ".join(str(error).split())[:200]
            raise TensorMTError(
                f"spaCy has no pipeline {model!r} that it can load ({cause}): bring it with "
                f"'python -m spacy download {model}', or give its folder"
            ) from None
        parts = self._pipeline.pipe_names
        if "parser" not in parts:
            raise TensorMTError(
                f"the spaCy pipeline {model!r} has no dependency parser (it has "
                f"{', '.join(parts) or 'no parts'}): take one that has"
            )
        for name in set(parts).intersection(_UNUSED):
            self._pipeline.disable_pipe(name)
        meta = self._pipeline.meta
        files = sorted(path for path in Path(model).rglob("*") if path.is_file())
        own = f"-{checkpoint.digest(*files)}" if Path(model).is_dir() else ""
        name = f"{meta['lang']}_{meta['name']}-{meta['version']}{own}"
        self._fingerprint = f"spacy:{name}+spacy-{spacy.__version__}"

    @property
    def fingerprint(self) -> str:
        """Pipeline, its version, spaCy's version; a hash where the pipeline is a folder."""
        return self._fingerprint

    def analyse(self, segments: list[Segment]) -> list[Any]:
        """The sentences of segments, in spaCy's own batches."""
        from spacy.tokens import Doc

        def document(segment: Segment) -> Any:
            if isinstance(segment, str):
                return segment
            words = [word for word in segment if word and not word.isspace()]
            return Doc(self._pipeline.vocab, words=words)

        return [_sentences(doc) for doc in self._pipeline.pipe(map(document, segments))]

    def __reduce__(self) -> Any:
        """For pickling: by its name."""
        return SpacyParser, (self.model,)


def _sentences(document: Any) -> Sentences:
    """The sentences of one document without its white space."""
    found = Sentences.none()
    for sentence in document.sents:
        tokens = [token for token in sentence if not token.is_space]
        place = {token.i: number for number, token in enumerate(tokens, 1)}
        if not tokens:
            continue
        heads = [place.get(_head(token), 0) for token in tokens]
        names = [token.dep_ or "dep" for token in tokens]
        found.add([token.text for token in tokens], _one_root(heads), names, [])
    return found


def _head(token: Any) -> int:
    """The nearest head that is a word; -1 at the root."""
    while token.head.i != token.i:
        token = token.head
        if not token.is_space:
            return int(token.i)
    return -1


def _one_root(heads: list[int]) -> list[int]:
    """Heads with the roots after the first hung on that one (a root may have been white space)."""
    root = heads.index(0) + 1
    return [head or (0 if number == root else root) for number, head in enumerate(heads, 1)]
