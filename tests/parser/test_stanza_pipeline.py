"""Stanza pipelines and documents."""

import pickle
from types import SimpleNamespace

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.registry import open_parser


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
