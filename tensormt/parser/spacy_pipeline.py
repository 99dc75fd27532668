"""Dependency trees of a spaCy pipeline: parser `spacy:de_core_news_sm`, or a folder.

The pipeline does tokenization and sentence splitting. White-space tokens are removed, and their
children are attached to their heads. Components that are not needed (entities) are disabled.
"""

from pathlib import Path
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.parser import checkpoint
from tensormt.parser.external import ExternalParser, Segment
from tensormt.trees.conllu import Sentences

_UNUSED = ("ner", "entity_linker", "entity_ruler", "lemmatizer", "attribute_ruler", "textcat")


class SpacyParser(ExternalParser):
    """A spaCy pipeline with a dependency parser.

    Args:
        model: Name of the pipeline's package, or its folder.

    Raises:
        TensorMTError: If spaCy or the pipeline is missing, or the pipeline has no parser.
    """

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
                "the parser spacy needs the name of a pipeline: use e.g. spacy:de_core_news_sm"
            )
        try:
            self._pipeline = spacy.load(model)
        except (OSError, ValueError, ImportError) as error:
            cause = " ".join(str(error).split())[:200]
            raise TensorMTError(
                f"spaCy cannot load the pipeline {model!r} ({cause}): install it with "
                f"'python -m spacy download {model}', or use the path of its folder"
            ) from None
        parts = self._pipeline.pipe_names
        if "parser" not in parts:
            raise TensorMTError(
                f"the spaCy pipeline {model!r} has no dependency parser (it has "
                f"{', '.join(parts) or 'no components'}): use another pipeline"
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
        """Pipeline, its version, spaCy's version; and a hash if the pipeline is a folder."""
        return self._fingerprint

    def analyze(self, segments: list[Segment]) -> list[Any]:
        """Return the sentences of segments."""
        from spacy.tokens import Doc

        def document(segment: Segment) -> Any:
            if isinstance(segment, str):
                return segment
            words = [word for word in segment if word and not word.isspace()]
            return Doc(self._pipeline.vocab, words=words)

        return [_sentences(doc) for doc in self._pipeline.pipe(map(document, segments))]

    def __reduce__(self) -> Any:
        """Pickle the name of the pipeline only."""
        return SpacyParser, (self.model,)


def _sentences(document: Any) -> Sentences:
    """The sentences of one document, without white-space tokens."""
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
    """The nearest head that is not white space; -1: root."""
    while token.head.i != token.i:
        token = token.head
        if not token.is_space:
            return int(token.i)
    return -1


def _one_root(heads: list[int]) -> list[int]:
    """Heads in which later roots are attached to the first (a root may have been white space)."""
    root = heads.index(0) + 1
    return [head or (0 if number == root else root) for number, head in enumerate(heads, 1)]
