"""Parsers of other libraries: names, missing libraries and models; spaCy and Stanza for real."""

import builtins
import pickle
from types import SimpleNamespace

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.cache import CachedParser
from tensormt.parser.external import ExternalParser
from tensormt.parser.registry import open_parser
from tensormt.parser.tree_source import tree_source
from tensormt.trees.conllu import Sentences


class Flat(ExternalParser):
    """Every word hangs on the first one; two sentences where there is a bar."""

    fingerprint = "flat:1"

    def analyze(self, segments):
        self.seen = getattr(self, "seen", []) + segments
        found = []
        for segment in segments:
            own = Sentences.none()
            for part in segment.split("|"):
                words = part.split()
                own.add(
                    words, [0, *[1] * (len(words) - 1)], ["root", *["dep"] * (len(words) - 1)], []
                )
            found.append(own)
        return found


def test_segments_become_trees_of_their_sentences():
    parser, told = Flat(), []
    trees = parser.parse(["a b", "", None, "c d | e f", "  "], told.append)
    assert parser.seen == ["a b", "c d | e f"]
    assert trees.to_heads() == (
        [["a", "b"], [], [], ["c", "d", "e", "f"], []],
        [[0, 1], [], [], [0, 1, 1, 3], []],
    )
    assert trees.to_relations()[3] == ["root", "dep", "parataxis", "dep"]
    assert sum(told) == 5
    assert parser.parse([]).to_heads() == ([], [])


def test_foreign_parsers_have_a_memory():
    parser = Flat()
    source = tree_source(parser)
    assert isinstance(source, CachedParser)
    result = tm.score(["a b", "a b"], [["a b", "a c"]], ["hwcm"], source)
    assert parser.seen == ["a b", "a c"]
    assert "|parser:flat:1|" in result.signatures["hwcm"]
    assert "rules" not in result.signatures["hwcm"]
    with pytest.raises(TensorMTError, match="parser is int: expected 'default', 'ud:de'"):
        tree_source(3)


@pytest.mark.parametrize("name", ["spacy:xx_none", "stanza:xx", "stanza-constituency:xx"])
def test_a_missing_library_says_what_to_install(name, monkeypatch):
    library = name.partition(":")[0].partition("-")[0]
    real = builtins.__import__

    def absent(wanted, *rest, **more):
        if wanted.partition(".")[0] == library:
            raise ImportError(wanted)
        return real(wanted, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(TensorMTError, match=rf"pip install 'tensormt\[{library}\]'"):
        open_parser(name)
    with pytest.raises(TensorMTError, match="has its own language"):
        open_parser(name, lang="de")


def test_languages_in_names():
    with pytest.raises(TensorMTError, match="disagree"):
        open_parser("ud:de", lang="fr")


@pytest.fixture
def pipeline(tmp_path):
    """A spaCy pipeline that was trained on a dozen trees, in a folder."""
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    nlp = spacy.blank("de")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    rows = [
        ("Der Hund lief .", [1, 2, 2, 2], ["det", "nsubj", "ROOT", "punct"]),
        ("Die Katze schlief .", [1, 2, 2, 2], ["det", "nsubj", "ROOT", "punct"]),
        ("Ein Kind sah Hunde .", [1, 2, 2, 2, 2], ["det", "nsubj", "ROOT", "obj", "punct"]),
    ]
    examples = [
        Example.from_dict(nlp.make_doc(text), {"words": text.split(), "heads": heads, "deps": deps})
        for text, heads, deps in rows
    ]
    spacy.util.fix_random_seed(1)
    nlp.initialize(lambda: examples)
    for _ in range(60):
        nlp.update(examples)
    nlp.to_disk(tmp_path / "pipeline")
    return tmp_path / "pipeline"


@pytest.mark.heavy(needs="spacy")
def test_spacy_for_real(pipeline, tmp_path):
    import spacy

    parser = open_parser(f"spacy:{pipeline}")
    text = ["Der Hund lief .", "", "Ein  Kind sah\nHunde .", None]
    trees = parser.parse(text)
    words, heads = trees.to_heads()
    assert words == ["Der Hund lief .".split(), [], "Ein Kind sah Hunde .".split(), []]
    assert heads[0] == [2, 3, 0, 3]
    assert trees.to_relations()[0] == ["det", "nsubj", "ROOT", "punct"]
    assert [row.count(0) for row in heads] == [1, 0, 1, 0]
    theirs = spacy.load(pipeline)("Der Hund lief .")
    assert [0 if t.head == t else t.head.i + 1 for t in theirs] == heads[0]
    assert parser.parse([["Der", "Hund", "lief", "."]]).to_heads()[1] == [heads[0]]
    again = pickle.loads(pickle.dumps(parser))
    assert again.fingerprint == parser.fingerprint
    assert parser.fingerprint.endswith(f"+spacy-{spacy.__version__}")
    assert parser.fingerprint.startswith("spacy:de_pipeline-0.0.0-")
    cached = CachedParser(again, tmp_path / "cache")
    assert cached(text).to_heads() == (words, heads)
    fresh = CachedParser(again, tmp_path / "cache")
    assert fresh(text).to_relations() == trees.to_relations()
    assert fresh.parsed == 0
    result = tm.score(text[:1], [text[:1]], ["hwcm", "dstm"], f"spacy:{pipeline}")
    assert result.corpus == {"hwcm": 1.0, "dstm": 1.0}


@pytest.mark.heavy(needs="spacy")
def test_spacy_models_that_are_not_there(tmp_path):
    import spacy

    with pytest.raises(TensorMTError, match="python -m spacy download xx_none_sm"):
        open_parser("spacy:xx_none_sm")
    with pytest.raises(TensorMTError, match="needs the name of a pipeline"):
        open_parser("spacy:")
    spacy.blank("de").to_disk(tmp_path / "blank")
    with pytest.raises(TensorMTError, match=r"no dependency parser \(it has no parts\)"):
        open_parser(f"spacy:{tmp_path / 'blank'}")


@pytest.mark.heavy(needs="stanza")
def test_stanza_documents():
    from stanza.models.common.doc import Document
    from stanza.models.constituency.tree_reader import read_trees

    from tensormt.parser.stanza_pipeline import brackets_of, sentences_of

    def word(number, text, head, name):
        return {"id": number, "text": text, "head": head, "deprel": name}

    document = Document(
        [
            [
                word(1, "Ich", 2, "nsubj"),
                word(2, "gehe", 0, "root"),
                {"id": (3, 4), "text": "zum"},
                word(3, "zu", 5, "case"),
                word(4, "dem", 5, "det"),
                word(5, "Haus", 2, "obl"),
            ],
            [word(1, "Ja", 0, "root"), word(2, "(", 1, "punct")],
        ]
    )
    found = sentences_of(document)
    assert found.words == [["Ich", "gehe", "zu", "dem", "Haus"], ["Ja", "("]]
    assert found.heads == [[2, 0, 5, 5, 2], [0, 1]]
    assert found.relations[0] == ["nsubj", "root", "case", "det", "obl"]
    trees = read_trees(
        "(ROOT (S (NP (PRP Ich)) (VP (VBP gehe)))) (ROOT (FRAG (UH Ja) (-LRB- -LRB-)))"
    )
    for sentence, tree in zip(document.sentences, trees, strict=True):
        sentence.constituency = tree
    batch = tm.TreeBatch.from_brackets([brackets_of(document)])
    assert batch.tokens.tolist() == [4]
    document.sentences.pop()
    assert brackets_of(document) == "(ROOT (S (NP (PRP Ich)) (VP (VBP gehe))))"


@pytest.mark.heavy(needs="stanza")
def test_stanza_pipelines(tmp_path, monkeypatch):
    """A pipeline of real documents in place of the downloads; without them, how to get them."""
    import stanza
    from stanza.models.common.doc import Document

    from tensormt.parser import stanza_pipeline

    with pytest.raises(TensorMTError, match=rf"stanza.download\('de', model_dir='{tmp_path}'\)"):
        open_parser(f"stanza:de:{tmp_path}")
    model = tmp_path / "depparse.pt"
    model.write_bytes(b"weights")

    class Pipeline:
        def __init__(self):
            self.processors = {"depparse": SimpleNamespace(config={"model_path": model})}

        def __call__(self, documents):
            return [
                Document(
                    [
                        [
                            {"id": k, "text": text, "head": k - 1, "deprel": "dep"}
                            for k, text in enumerate(part.split(), 1)
                        ]
                        for part in document.text.split("|")
                    ]
                )
                for document in documents
            ]

    monkeypatch.setattr(stanza_pipeline.StanzaParser, "_load", lambda self: Pipeline())
    parser = open_parser(f"stanza:de:{tmp_path}")
    assert parser.fingerprint.endswith(f"+stanza-{stanza.__version__}")
    assert parser.fingerprint.startswith("stanza:de-")
    trees = parser.parse(["a b | c", "", ["d", "e"]])
    assert trees.to_heads() == ([["a", "b", "c"], [], ["d", "e"]], [[0, 1, 1], [], [0, 1]])
    assert parser.parse([""]).to_heads() == ([[]], [[]])
    assert pickle.loads(pickle.dumps(parser)).fingerprint == parser.fingerprint
