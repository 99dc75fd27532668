"""spaCy pipelines."""

import pickle

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser.cache import CachedParser
from tensormt.parser.registry import open_parser


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
    with pytest.raises(TensorMTError, match=r"no dependency parser \(it has no components\)"):
        open_parser(f"spacy:{tmp_path / 'blank'}")
