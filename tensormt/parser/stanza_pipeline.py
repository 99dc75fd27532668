"""Trees of a Stanza pipeline: parser `stanza:de`, or `stanza:de:FOLDER` with the models in FOLDER.

`stanza:` gives dependency trees over Stanza's words (multi-word tokens are split),
`stanza-constituency:` constituency trees, for languages that have them. The pipeline does
tokenization and sentence splitting; nothing is downloaded.
"""

from typing import Any

from tensormt.devices import resolve_device
from tensormt.errors import TensorMTError
from tensormt.parser import checkpoint
from tensormt.parser.external import ExternalParser, Segment
from tensormt.trees.conllu import Sentences


class StanzaParser(ExternalParser):
    """A Stanza pipeline.

    Args:
        model: LANG or LANG:FOLDER, the language and the folder of its models.
        device: Device.
        kind: Kind of the trees, "dependency" or "constituency".

    Raises:
        TensorMTError: If Stanza or the models are missing.
    """

    def __init__(self, model: str, device: Any = None, kind: str = "dependency") -> None:
        self.model, self.kind = model, kind
        self._device = resolve_device(device).type
        self._lang, _, self._folder = model.partition(":")
        self._pipeline = self._load()
        last = "depparse" if kind == "dependency" else "constituency"
        path = self._pipeline.processors[last].config["model_path"]
        self._digest = checkpoint.digest(path)

    def _load(self) -> Any:
        name = "stanza" if self.kind == "dependency" else "stanza-constituency"
        try:
            import stanza
            from stanza.resources.common import load_resources_json
        except ImportError:
            raise TensorMTError(
                f"the parser {name}:{self.model} needs Stanza: pip install 'tensormt[stanza]'"
            ) from None
        more = {"dir": self._folder} if self._folder else {}
        try:
            known = load_resources_json(self._folder or stanza.resources.common.DEFAULT_MODEL_DIR)
            parts = known[self._lang]["default_processors"]
            wanted = ["tokenize", "mwt", "pos", "lemma", "depparse"]
            if self.kind == "constituency":
                wanted = ["tokenize", "mwt", "pos", "constituency"]
            return stanza.Pipeline(
                self._lang,
                processors=",".join(part for part in wanted if part in parts or part != "mwt"),
                download_method=None,
                use_gpu=self._device == "cuda",
                verbose=False,
                **more,
            )
        except Exception as error:  # Stanza raises many types of errors for a missing model
            folder = f", model_dir={self._folder!r}" if self._folder else ""
            cause = " ".join(str(error).split())[:200]
            raise TensorMTError(
                f"Stanza cannot load its models of {self._lang!r} ({cause}): download them with "
                f'python -c "import stanza; stanza.download({self._lang!r}{folder})"'
            ) from None

    @property
    def fingerprint(self) -> str:
        """Language, a hash of the model, Stanza's version."""
        import stanza

        kind = "" if self.kind == "dependency" else "-constituency"
        return f"stanza{kind}:{self._lang}-{self._digest}+stanza-{stanza.__version__}"

    def analyze(self, segments: list[Segment]) -> list[Any]:
        """Return the sentences of segments."""
        from stanza.models.common.doc import Document

        texts = [s if isinstance(s, str) else " ".join(s) for s in segments]
        documents = self._pipeline([Document([], text=text) for text in texts]) if texts else []
        read = sentences_of if self.kind == "dependency" else brackets_of
        return [read(document) for document in documents]

    def __reduce__(self) -> Any:
        """Pickle the name of the pipeline only."""
        return StanzaParser, (self.model, self._device, self.kind)


def sentences_of(document: Any) -> Sentences:
    """Return words, heads and relations of a Stanza document."""
    found = Sentences.none()
    for sentence in document.sentences:
        words = sentence.words
        texts, heads = [word.text for word in words], [word.head for word in words]
        found.add(texts, heads, [word.deprel or "dep" for word in words], [])
    return found


def brackets_of(document: Any) -> str:
    """Return the bracketing of a Stanza document, its sentences under one root."""
    trees = [str(sentence.constituency) for sentence in document.sentences]
    return trees[0] if len(trees) == 1 else f"(TOP {' '.join(trees)})"
