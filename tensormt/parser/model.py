"""supar's models, fields and checkpoints; the only module that imports supar.

A supar CRF constituency parser (Zhang, Zhou and Li 2020) consists of a model and the fields that
convert words to ids. Both are built here from settings (a JSON object) and tensors with supar's own
classes, so nothing is unpickled; a checkpoint that supar saved is a pickle, which can execute
arbitrary code, and is loaded only if the caller trusts it.

The settings: `args` (of supar's model), `words` and `known` (the number of those with a trained
embedding), `vectors` (size of the external embedding, 0: none), `chars`, `fix_len`, `labels`,
`narrow` (the labels that end in a tag; empty for a model without tags) and `root`. Those of a
biaffine dependency parser (Dozat and Manning 2017): `kind`, `args`, `words`, `chars`, `relations`,
`languages` and `spelling` (see `tensormt.parser.char_features`).
"""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.parser.skip_init import SkipInit
from tensormt.text.nltk_import import import_nltk

Span = tuple[int, int, str]
Settings = dict[str, Any]

SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>")
# arguments that all models of words and characters share; the indices are those of SPECIALS
_FIXED: dict[str, Any] = {
    "feat": ["char"],
    "encoder": "lstm",
    "char_pad_index": 0,
    "pad_index": 0,
    "unk_index": 1,
    "bos_index": 2,
}
KIND = "crf-constituency"
DEPENDENCY = "biaffine-dependency"
ARGS = (
    *("n_embed", "n_pretrained", "n_feat_embed", "n_char_embed", "n_char_hidden"),
    *("n_lstm_hidden", "n_lstm_layers", "n_span_mlp", "n_label_mlp"),
    *("embed_dropout", "encoder_dropout", "mlp_dropout"),
)


def _import_supar() -> None:
    import_nltk()
    try:
        import supar  # noqa: F401
    except ImportError:
        raise TensorMTError("the parser needs supar: pip install supar") from None


def _vocab(strings: list[str], unknown: int) -> Any:
    from supar.utils.vocab import Vocab

    return Vocab(Counter(), 1, strings, unknown)


def build_constituency(settings: Settings, training: bool = False) -> Any:
    """Build a supar CRFConstituencyParser from settings, on the CPU.

    Args:
        settings: Settings of the module docstring.
        training: Whether weights are initialized; otherwise they must be loaded.
    """
    _import_supar()
    from supar.models.const import CRFConstituencyModel
    from supar.parsers.const import CRFConstituencyParser
    from supar.utils import Config
    from supar.utils.field import ChartField, Field, RawField, SubwordField
    from supar.utils.transform import Tree

    pad, unk, bos, eos = SPECIALS
    word = Field("words", pad=pad, unk=unk, bos=bos, eos=eos, lower=True)
    word.vocab = _vocab(settings["words"], 1)
    word.vocab.n_init = settings["known"]
    char = SubwordField("chars", pad=pad, unk=unk, bos=bos, eos=eos, fix_len=settings["fix_len"])
    char.vocab = _vocab(settings["chars"], 1)
    chart = ChartField("charts")
    chart.vocab = _vocab(settings["labels"], 0)
    args = Config(
        **settings["args"],
        n_words=settings["known"],
        n_labels=len(settings["labels"]),
        n_chars=len(settings["chars"]),
        **_FIXED,
        eos_index=3,
        device="cpu",
    )
    with nullcontext() if training else SkipInit():
        model = CRFConstituencyModel(**args)
    if settings["vectors"]:
        model.load_pretrained(torch.zeros(len(settings["words"]), settings["vectors"]))
    transform = Tree(WORD=(word, char, None, None), TREE=RawField("trees"), CHART=chart)
    transform.root = settings["root"]
    return CRFConstituencyParser(args, model, transform)


def build_dependency(settings: Settings, training: bool = False) -> Any:
    """Build a supar BiaffineDependencyModel from settings, as `build_constituency`."""
    _import_supar()
    from supar.models.dep import BiaffineDependencyModel

    with nullcontext() if training else SkipInit():
        return BiaffineDependencyModel(
            **settings["args"],
            n_words=len(settings["words"]),
            n_rels=len(settings["relations"]),
            n_chars=len(settings["chars"]),
            **_FIXED,
        )


def build_transformer(settings: Settings, encoder: Path) -> Any:
    """Build a supar CRFConstituencyParser on a transformer, on the CPU.

    Args:
        settings: `args` (of supar's model), `labels` and `root`.
        encoder: Folder of the transformer and its tokenizer, as Hugging Face saves it.
    """
    _import_supar()
    from supar.models.const import CRFConstituencyModel
    from supar.parsers.const import CRFConstituencyParser
    from supar.utils import Config
    from supar.utils.field import ChartField, RawField, SubwordField
    from supar.utils.transform import Tree

    shared = {"feat": [], "encoder": "bert", "bert": str(encoder), "device": "cpu"}
    args = Config(**settings["args"], n_words=1, n_labels=len(settings["labels"]), **shared)
    model = CRFConstituencyModel(**args)
    pieces = model.encoder.tokenizer
    word = SubwordField(
        "words",
        pad=pieces.pad_token,
        unk=pieces.unk_token,
        bos=pieces.cls_token,
        eos=pieces.sep_token,
        fix_len=20,
        tokenize=pieces.tokenize,
    )
    word.vocab = pieces.get_vocab()
    chart = ChartField("charts")
    chart.vocab = _vocab(settings["labels"], 0)
    transform = Tree(WORD=(word, None, None, None), TREE=RawField("trees"), CHART=chart)
    transform.root = settings["root"]
    return CRFConstituencyParser(args, model, transform)


def open_checkpoint(path: Path, trusted: bool) -> tuple[Any, Settings | None]:
    """Load a parser that supar saved.

    Args:
        path: The checkpoint.
        trusted: Whether the pickle, which can execute arbitrary code, may be loaded.

    Returns:
        supar's parser, and its settings; None: the model needs supar's own encoder (transformers,
        dependencies).

    Raises:
        TensorMTError: If the checkpoint is not trusted or cannot be loaded.
    """
    if not trusted:
        raise TensorMTError(
            f"{path} is a pickle, which can execute arbitrary code when it is loaded: "
            "if you trust its origin, set trusted=True",
            options="trusted",
        )
    import dill  # type: ignore[import-untyped]
    import supar

    try:
        # torch refuses pickles by default since 2.6; the caller trusts this one
        state = torch.load(path, map_location="cpu", pickle_module=dill, weights_only=False)
        name, args = state["name"], state["args"]
    except Exception as error:
        raise TensorMTError(
            f"{path} cannot be read as a checkpoint saved by supar 1.1 ({error})"
        ) from error
    if name not in (KIND, DEPENDENCY):
        raise TensorMTError(
            f"{path} contains a supar {name!r} parser: expected a {KIND!r} or {DEPENDENCY!r} one"
        )
    if not {"char", "bert"}.issuperset(args.feat or ()):
        raise TensorMTError(
            f"{path} needs the features {args.feat}: only words, characters and transformers are "
            "supported"
        )
    args.device = "cpu"
    kind = supar.PARSER[name]
    with torch.random.fork_rng(devices=[]):
        model = kind.MODEL(**args)
    model.load_pretrained(state["pretrained"])
    model.load_state_dict(state["state_dict"], False)
    parser = kind(args, model, state["transform"])
    fused = name == KIND and args.encoder == "lstm" and list(args.feat) == ["char"]
    return parser, _settings(parser) if fused else None


def _settings(parser: Any) -> Settings:
    """The settings of a supar parser of words and characters."""
    word, char, *_ = parser.transform.WORD
    pretrained = getattr(parser.model, "pretrained", None)
    return {
        "args": {name: parser.args[name] for name in ARGS},
        "words": word.vocab.itos,
        "known": word.vocab.n_init,
        "vectors": 0 if pretrained is None else pretrained.embedding_dim,
        "chars": char.vocab.itos,
        "fix_len": char.fix_len,
        "labels": parser.transform.CHART.vocab.itos,
        "narrow": [],
        "root": parser.transform.root,
    }


def supar_encode(parser: Any, sentences: list[list[str]], device: torch.device) -> Tensor:
    """Encode sentences with supar, for models that the fused encoder does not support.

    Returns:
        Vectors float [B,T+2,H].
    """
    form = parser.transform.FORM if parser.NAME == DEPENDENCY else parser.transform.WORD
    columns = [field for field in form if hasattr(field, "vocab")]
    words, *feats = [field.compose(field.transform(sentences)).to(device) for field in columns]
    x: Tensor = parser.model.encode(words, feats)
    return x


def log_partition(scores: Tensor, lengths: Tensor) -> Tensor:
    """Compute the log partition function of supar's CRF: float [B,T+1,T+1], int64 [B] -> [B]."""
    from supar.structs import ConstituencyCRF

    result: Tensor = ConstituencyCRF(scores, lengths).log_partition
    return result


def _wrap(tree: Any) -> Any:
    """`(DT the)` -> `(DT (_ the))`: the tag becomes the label of a span of one word."""
    from nltk import Tree

    if not isinstance(tree[0], Tree):
        if len(tree) > 1:
            raise ValueError("a tag with more than one word")
        return Tree(tree.label(), [Tree("_", [tree[0]])])
    return Tree(tree.label(), [_wrap(child) for child in tree])


def read_tree(line: str) -> tuple[str, list[str], list[Span]]:
    """Read a bracketing: root label, words, and the 2n−1 labeled spans of the binarized tree."""
    import nltk
    from supar.utils.transform import Tree

    tree = _wrap(nltk.Tree.fromstring(line))
    words = tree.leaves()
    if len(tree) > 1:  # several sentences under the root: an inner node without a label
        tree = nltk.Tree(tree.label(), [nltk.Tree("|<>", list(tree))])
        spans = Tree.factorize(Tree.binarize(tree)[0])
        spans = [(i, j, "|<>" if label.startswith("|<>") else label) for i, j, label in spans]
    else:
        spans = Tree.factorize(Tree.binarize(tree)[0])
    return tree.label(), words, spans
