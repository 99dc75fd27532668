"""text: sentences, Penn tokens, long sentences, and input that nobody expects."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer

from tensormt.text import sentences as splitting
from tensormt.text.sentences import Penn, cut, escape, prepare, split_text, split_tokens, tokenize

SENTENCES = [
    ("", []),
    ("   ", []),
    ("One sentence", ["One sentence"]),
    ("He left. She stayed.", ["He left.", "She stayed."]),
    ("Did he leave? Yes! He did.", ["Did he leave?", "Yes!", "He did."]),
    (
        "Mr. Smith met Dr. J. Doe in the U.S. Senate.",
        ["Mr. Smith met Dr. J. Doe in the U.S. Senate."],
    ),
    ("It cost 3.50 dollars. Cheap.", ["It cost 3.50 dollars.", "Cheap."]),
    ("He paused... and went on.", ["He paused... and went on."]),
    ("He paused... Then he left.", ["He paused...", "Then he left."]),
    ('"Go away." He left.', ['"Go away."', "He left."]),
    ("(He left.) She stayed.", ["(He left.)", "She stayed."]),
    ("the man left . he slept .", ["the man left .", "he slept ."]),
    ('he said " no . " she left .', ['he said " no . "', "she left ."]),
    ('he left . " no , " she said .', ["he left .", '" no , " she said .']),
    ("The end. . . !", ["The end. . . !"]),
    ("... Hello there.", ["... Hello there."]),
    ("他走了。她留下了！好", ["他走了。", "她留下了！", "好"]),
    ("So did I. He left.", ["So did I.", "He left."]),
]


@pytest.mark.parametrize(("text", "sentences"), SENTENCES)
def test_sentences_of_text(text, sentences):
    assert split_text(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("he left . she stayed .", ["he left .", "she stayed ."]),
        ("he left", ["he left"]),
        ("( he left . ) she stayed .", ["( he left . )", "she stayed ."]),
        ('he said " no . " she left .', ['he said " no . "', "she left ."]),
        ('he left . " no " , she said', ["he left .", '" no " , she said']),
        ("what ? ! he left . . .", ["what ? !", "he left . . ."]),
        (". he left", [". he left"]),
    ],
)
def test_sentences_of_tokens(text, sentences):
    assert [" ".join(tokens) for tokens in split_tokens(text.split())] == sentences


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's a dog.", "It 's a dog ."),
        ("It’s John’s, isn’t it?", "It ’s John ’s , is n’t it ?"),
        ("I can't; they cannot.", "I ca n't ; they can not ."),
        ('He said, "no."', 'He said , " no . "'),
        ("“Yes” (maybe) [1]", "“ Yes ” -LRB- maybe -RRB- [ 1 ]"),
        ("It cost $3.50, or 10,000%!", "It cost $ 3.50 , or 10,000 % !"),
        ("a well-known, risk-free plan", "a well - known , risk - free plan"),
        ("a non-profit co-founder re-elected", "a non-profit co-founder re-elected"),
        (
            "state-of-the-art and/or pre-war-style",
            "state - of - the - art and / or pre-war - style",
        ),
        ("1914-18, 9/11 and a-b@c.org", "1914-18 , 9/11 and a-b @ c.org"),
        ("see https://a-b.org/c-d now", "see https : //a-b.org/c-d now"),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens.split()


def test_hyphens_stay_where_the_model_wants_them():
    assert tokenize("a well-known plan", hyphens=False) == ["a", "well-known", "plan"]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abcA N'.,!?$%&;:-10()[]{}<>*@#", max_size=40))
def test_tokens_are_nltks(text):
    """nltk writes quotes in its own way; all else must be its tokens, spelt as in the text."""
    expected = NLTKWordTokenizer().tokenize(text)
    if "''" not in text and "''" not in expected:
        expected = [token.replace("(", "-LRB-").replace(")", "-RRB-") for token in expected]
        assert tokenize(text, hyphens=False) == expected


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60), st.booleans())
def test_no_character_is_lost(text, split):
    """Whatever the text, its visible characters come out in order, once."""
    safe = text.encode("utf-8", "replace").decode()
    tokens = [t for s in prepare([text], split, Penn(True), 400).tokens for t in s]
    plain = "".join(tokens).replace("-LRB-", "(").replace("-RRB-", ")")
    source = "".join(safe.split()).replace("-LRB-", "(").replace("-RRB-", ")")
    if '"' not in text and "''" not in text and "``" not in text:
        assert plain.replace("_", "") == source.replace("_", "")
    assert all(token and not any(c.isspace() or c in "()" for c in token) for token in tokens)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab \"'`.“”‘’", max_size=25))
def test_any_quotes(text):
    for sentence in prepare([text], True, Penn(True), 400).tokens:
        assert sentence
        assert all(sentence)


def test_escape():
    assert escape("a(b)") == "a-LRB-b-RRB-"
    assert escape("New York") == "New_York"
    assert escape("a\u3000b\tc") == "a_b_c"
    assert escape("\ud800x") == "?x"


def test_long_sentences_are_cut_after_punctuation():
    tokens = ["w"] * 7 + [","] + ["w"] * 9
    assert [len(part) for part in cut(tokens, 10)] == [8, 9]
    assert [len(part) for part in cut(["w"] * 25, 10)] == [10, 10, 5]
    assert [token for part in cut(tokens, 3) for token in part] == tokens


def test_segments_keep_their_place():
    got = prepare(["It is. They do.", None, "", ["x", "", "y"], "z " * 30], True, Penn(True), 20)
    assert got.segment == [0, 0, 3, 4, 4]
    assert got.tokens[:3] == [["It", "is", "."], ["They", "do", "."], ["x", "y"]]
    assert (got.segments, got.cut) == (5, 1)
    whole = prepare(["It is. They do."], False, Penn(True), 20)
    assert len(whole.tokens) == 1


@example('He said "no. "', True)
@example("He said no. ”", False)
@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    " ",
                    " ",
                    "\t",
                    '"',
                    "''",
                    "``",
                    "cannot",
                    "gonna",
                    "wanna",
                    "'tis",
                    "D'ye",
                    "U.S.",
                ]
            ),
            st.text(
                "aBz09.,;:'()[]{}<>-–/!?…@#$%&*_“”‘’«»„\"`~^+=é½²\u00a0\x1c", min_size=1, max_size=4
            ),
        ),
        max_size=12,
    ).map("".join),
    st.booleans(),
)
def test_tokens_remembered_are_those_of_the_whole_sentence(text, hyphens):
    assert splitting.tokenize(text, hyphens) == splitting._cut_whole(text, hyphens)
