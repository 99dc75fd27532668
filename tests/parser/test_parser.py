"""Parser: the embedded model from text to TreeBatch."""

import random
import subprocess
import sys

import nltk
import pytest
import torch
from supar_oracle import supar_predict

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.parser import Parser

SENTENCES = [
    "The committee approved the new budget on Monday after a long debate .",
    "She gave him a book .",
    "Stop !",
    "What did the president say about the economy ?",
    "In 1998 , more than 40 % of the workers who had lost their jobs found new ones .",
    "Although it was raining , they walked home because the buses were n't running .",
    "Prices",
    "He said that he would come if he could .",
    "The old man and his dog -LRB- a large one -RRB- were sitting on the bench near the river .",
    '" It is over , " said John Smith , the company \'s chief executive .',
    "There are many reasons to believe that the results will be better next year .",
    "a man a dog a plan which that of to the in quickly",
    "The plan , which the minister announced yesterday , has been criticised by the opposition .",
    "Buy it , read it and tell me what you think .",
    "Scientists have found water on Mars .",
    "hotel nice location food very good staff friendly",
]


@pytest.fixture(scope="module")
def parser():
    return Parser.load("default")


def test_batches_order_and_neighbours_change_nothing(parser):
    generator = random.Random(5)
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    segments = [sentence.split() for sentence in SENTENCES]
    segments += [generator.choices(words, k=generator.randint(1, 40)) for _ in range(60)]
    expected = parser.parse(segments).to_brackets()
    order = list(range(len(segments)))
    generator.shuffle(order)
    for budget in (1, 90, 3000):
        other = Parser(parser.network, "same", hyphens=True, mbr=parser.mbr, batch_tokens=budget)
        assert other.parse([segments[i] for i in order]).to_brackets() == [
            expected[i] for i in order
        ]
    for i in order[:12]:
        assert parser.parse([segments[i]]).to_brackets() == [expected[i]]


def as_ours(tree):
    """supar's tree as our bracketing: no `_` above words, no outer root with one child."""

    def unwrap(node):
        if not isinstance(node[0], nltk.Tree):
            return node
        if node[0].label() == "_":
            return nltk.Tree(node.label(), [node[0][0]])
        return nltk.Tree(node.label(), [unwrap(child) for child in node])

    whole = unwrap(tree)
    return " ".join(str(whole[0] if len(whole) == 1 else whole).split())


@pytest.mark.parametrize("mbr", [True, False])
def test_trees_are_supars_own(parser, monkeypatch, mbr):
    """The same model through supar's `predict`, in its own batches, with either decoding.

    supar knows no mask that keeps tags on words: it is laid on its label scores here.
    """
    model, settings = parser.network.model, parser.network.settings
    narrow = torch.tensor([label in settings["narrow"] for label in settings["labels"]])
    forward = model.forward

    def masked(words, feats):
        spans, labels = forward(words, feats)
        place = torch.arange(spans.shape[1])
        single = (place[None, :] - place[:, None] == 1)[..., None]
        return spans, labels.masked_fill(narrow != single, -1e9)

    segments = [sentence.split() for sentence in SENTENCES]
    ours = Parser(parser.network, "whole", hyphens=True, split=False, mbr=mbr).parse(segments)
    monkeypatch.setattr(model, "forward", masked)
    theirs = supar_predict(parser.network.parser, [list(words) for words in segments], mbr)
    assert ours.to_brackets() == [as_ours(tree) for tree in theirs]


@pytest.mark.parametrize("options", [{}, {"mbr": True}, {"lang": "de"}])
def test_trees_in_a_mixed_precision_context(options):
    """A reward may be computed inside torch.autocast."""
    own = Parser.load("default", **options)
    expected = own.parse(SENTENCES).nodes
    with torch.autocast("cpu", torch.bfloat16):
        found = own.parse(SENTENCES).nodes
    assert torch.equal(found.parent, expected.parent)
    assert torch.equal(found.label, expected.label)


def test_every_word_has_a_tag_and_every_tag_a_word(parser):
    trees = parser.parse(SENTENCES)
    leaf = trees.nodes.arity == 0
    assert torch.equal(leaf, trees.nodes.word >= 0)
    tags = {label.split("::")[-1] for label in parser.network.settings["narrow"]}
    assert {trees.labels[i] for i in trees.nodes.label[leaf].tolist()} <= tags
    words = [trees.words[i] for i in trees.nodes.word[leaf].tolist()]
    assert words == [word for sentence in SENTENCES for word in sentence.split()]
    assert trees.tokens.tolist() == [len(sentence.split()) for sentence in SENTENCES]


def test_round_trip_through_brackets(parser):
    trees = parser.parse([*SENTENCES, "", "One is here. Two are there!"])
    lines = trees.to_brackets()
    again = tm.TreeBatch.from_brackets(lines)
    assert again.to_brackets() == lines
    assert torch.equal(again.parent, trees.parent)
    assert torch.equal(again.lengths, trees.lengths)


def test_some_structure(parser):
    lines = parser.parse(["She gave him a book.", "Scientists have found water."]).to_brackets()
    assert lines[0] == (
        "(S (NP (PRP She)) (VP (VBD gave) (NP (PRP him)) (NP (DT a) (NN book))) (. .))"
    )
    assert lines[1] == (
        "(S (NP (NNS Scientists)) (VP (VBP have) (VP (VBN found) (NP (NN water)))) (. .))"
    )


def test_sentences_are_joined_under_one_root(parser):
    joined, first, second = parser.parse(
        ["It is here. They saw him!", "It is here.", "They saw him!"]
    )
    assert joined.to_brackets() == [f"(TOP {first.to_brackets()[0]} {second.to_brackets()[0]})"]
    whole = Parser(parser.network, "whole", hyphens=True, split=False)
    assert whole.parse(["It is here. They saw him!"]).to_brackets() != joined.to_brackets()
    assert whole.parse(["It is here. They saw him!"]).tokens.tolist() == [7]


ODD = [
    "",
    "   ",
    "a",
    "?",
    "...",
    "😀 👍🏽",
    "狗跑得很快。它累了。",
    "\x00\x01\x1f \x7f",
    "a" * 10_000,
    "word " * 400,
    "( ( ) [ ] { }",
    "\"'`“”‘’",
    "\u200b\ufeff\u00a0x\u3000y",
    "\ud83d",
    "<b>&amp;</b>",
    "-LRB- x -RRB-",
    "::",
    "|<>",
    "<pad> <unk> <bos> <eos>",
    "a\tb\nc\r\nd",
    "1 000 000,50 €",
]


@pytest.mark.filterwarnings("ignore:some sentences are in a script")
@pytest.mark.filterwarnings("error")
def test_odd_input_has_a_tree(parser):
    trees = parser.parse([*ODD, None, [], ["New York", "(", "", " ", "a\nb"]])
    lengths = trees.lengths.tolist()
    assert [length == 0 for length in lengths] == [not text.strip() for text in ODD] + [
        True,
        True,
        False,
    ]
    assert tm.TreeBatch.from_brackets(trees.to_brackets()).lengths.tolist() == lengths
    assert trees[len(ODD) + 2].tokens.tolist() == [3]
    for each in ODD:
        assert len(parser.parse([each])) == 1
    assert len(parser.parse([])) == 0
    assert len(trees.dependencies()) == len(trees)


def test_long_sentences_are_cut_and_counted(parser):
    short = Parser(parser.network, "short", hyphens=True, max_length=5)
    with pytest.warns(UserWarning, match="2 sentences have more than 5 tokens"):
        trees = short.parse(["a b c d e f g h", "a b c d e", "a b , c d e f"])
    assert trees.tokens.tolist() == [8, 5, 7]
    with pytest.raises(TensorMTError, match="max_length is 1, expected a whole number"):
        Parser(parser.network, "none", hyphens=True, max_length=1)


def test_one_string_is_refused(parser):
    with pytest.raises(TensorMTError, match="pass a list"):
        parser.parse("a dog")


def test_progress_hears_every_segment(parser):
    for segments in (["a b. C d!", "", None, "x"], ["", None], []):
        heard = []
        parser.parse(segments, heard.append)
        assert sum(heard) == len(segments)


def test_fingerprint_names_the_weights_and_the_rules(parser):
    assert parser.fingerprint == Parser.load("default").fingerprint
    assert parser.fingerprint.startswith("english-")
    others = {
        Parser.load("default", split=False).fingerprint,
        Parser.load("default", max_length=99).fingerprint,
        Parser.load("default", mbr=True).fingerprint,
        Parser.load("default", batch_tokens=99).fingerprint,
    }
    assert len(others) == 4
    assert parser.fingerprint in others  # the size of batches changes no tree


def test_the_model_says_how_it_decodes():
    """The students take the best tree, the teacher that of least risk, unless asked."""
    names = ("default", "english-small", "english-large")
    assert [Parser.load(name).mbr for name in names] == [False, False, True]
    assert [Parser.load("english", mbr=mbr).mbr for mbr in (True, False)] == [True, False]
    assert Parser.load("english").fingerprint == Parser.load("default").fingerprint
    assert Parser.load("english-large").fingerprint.startswith("english_large-")


def test_table_7_of_liu_and_gildea(parser):
    """Their parser gave HWCM 0.511 with chains of up to two words."""
    hyp = parser.parse(["Diplomats will be aboard the plane to return home ."])
    refs = [
        parser.parse([line])
        for line in (
            "Diplomats are to come back home aboard the fifth plane .",
            "Diplomatic staff would go home in a fifth plane .",
            "Diplomatic staff will take the fifth plane home .",
        )
    ]
    assert float(tm.HWCM(max_length=2)(hyp.dependencies(), [r.dependencies() for r in refs])) == (
        pytest.approx(0.511, abs=0.06)
    )


def test_parser_is_light_until_it_is_loaded():
    code = (
        "import sys, tensormt.parser; "
        "print([m for m in ('supar', 'nltk', 'transformers', 'scipy') if m in sys.modules]); "
        "tensormt.parser.Parser.load().parse(['A dog .']); "
        "print([m for m in ('transformers', 'stanza') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split("\n")[:2] == ["[]", "[]"], result.stdout + result.stderr
