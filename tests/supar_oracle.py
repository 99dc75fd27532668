"""supar's own `predict`, the reference of the parser's tests and benchmarks."""

import warnings
from collections import Counter

from supar.parsers.dep import BiaffineDependencyParser
from supar.utils import Config
from supar.utils.field import Field, RawField, SubwordField
from supar.utils.transform import CoNLL
from supar.utils.vocab import Vocab


def supar_predict(parser, sentences, mbr=True):
    """Trees of supar's constituency parser, as nltk trees."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.predict(sentences, mbr=mbr, verbose=False).trees


def supar_arcs(parser, sentences):
    """Heads and relations of supar's dependency parser."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = parser.predict(sentences, tree=True, proj=False, verbose=False)
    heads = [[int(head) for head in row] for row in data.arcs]
    return heads, [list(row) for row in data.rels]


def dependency_parser(model, settings, root, characters):
    """supar's parser around a dependency model.

    `root` is the first word of every sentence, `characters` a function from words to characters.
    """
    pad, unk = "<pad>", "<unk>"
    word = Field("words", pad=pad, unk=unk, bos=root, lower=True)
    word.vocab = Vocab(Counter(), 1, settings["words"], 1)
    char = SubwordField(
        "chars", pad=pad, unk=unk, bos=root, fix_len=settings["spelling"] + 1, tokenize=characters
    )
    char.vocab = Vocab(Counter(), 1, settings["chars"], 1)
    arc = Field("arcs", bos=root, use_vocab=False, fn=CoNLL.get_arcs)
    relation = Field("rels", bos=root)
    relation.vocab = Vocab(Counter(), 1, settings["relations"], 0)
    form = (word, RawField("texts"), char, None, None)
    transform = CoNLL(FORM=form, CPOS=None, HEAD=arc, DEPREL=relation)
    return BiaffineDependencyParser(Config(pad_index=0, device="cpu"), model, transform)
