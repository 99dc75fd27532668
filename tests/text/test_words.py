"""words: the tokens of Universal Dependencies, language by language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.text.words import Words, letters_of

# as the treebanks of the languages write them
TOKENS = [
    ("de", "Dr. Maier kam am 3. Mai um 10.30 Uhr.", "Dr. Maier kam am 3. Mai um 10.30 Uhr ."),
    ("de", "EU-Staat (z.B. Polen) zahlt 1,50 €!", "EU - Staat ( z.B. Polen ) zahlt 1,50 € !"),
    ("de", "Das war im Jahr 1990.", "Das war im Jahr 1990 ."),
    ("en", "I don't know well-known facts.", "I don't know well - known facts ."),
    ("en", "See http://a.org/b?c=1, mail a.b@c.de", "See http://a.org/b?c=1 , mail a.b@c.de"),
    ("fr", "L'homme d’hier a-t-il dit aujourd'hui ?", "L' homme d’ hier a -t-il dit aujourd'hui ?"),
    ("fr", "Saint-Denis, c'est-à-dire ici", "Saint-Denis , c' est-à-dire ici"),
    ("it", "Dell'acqua c'è.", "Dell' acqua c' è ."),
    ("es", "¿Qué? Costó 3,5 millones...", "¿ Qué ? Costó 3,5 millones ..."),
    ("ro", "S-a dus; dă-i Anglo-Saxon", "S- a dus ; dă -i Anglo-Saxon"),
    ("tr", "Ankara'da 5'te", "Ankara'da 5'te"),
    ("fi", "EU:n maa- ja metsätalous", "EU:n maa- ja metsätalous"),
    ("cs", "Např. prof. Novák", "Např . prof . Novák"),
    ("hi", "वह हिन्दी बोलता है।", "वह हिन्दी बोलता है ।"),
    ("ko", "'한국'은 나라다.", "' 한국 ' 은 나라다 ."),
    ("uk", "м'яч та 5-й", "м'яч та 5-й"),
    ("", "Hello--world!! «oui»", "Hello -- world !! « oui »"),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "text", "tokens"), TOKENS)
def test_tokens(lang, text, tokens):
    assert Words(lang).tokens(text) == tokens.split()


@pytest.mark.parametrize(
    ("lang", "text", "count"),
    [
        ("de", "Am 3. Mai kam Dr. Maier. Er blieb.", 2),
        ("en", "It was 3. May came.", 2),
        ("de", "Das war 1990. Danach kam er bzw. Sie.", 2),
        ("ru", "Это было в 1990 г. Потом он ушёл.", 1),
        ("hi", "वह गया। वह आया।", 2),
        ("fr", "M. Dupont est là. Oui !", 2),
    ],
)
def test_sentences(lang, text, count):
    assert len(Words(lang).sentences(text)) == count


@given(st.sampled_from(["de", "fr", "ro", "ko", "xx", ""]), st.text(max_size=60))
def test_tokens_hold_every_character_once(lang, text):
    tokens = Words(lang).tokens(text)
    spelt = "".join(text.encode("utf-8", "replace").decode().split())
    assert "".join(tokens) == spelt
    assert all(token and not token.isspace() for token in tokens)


def test_scripts():
    assert [letters_of(word) for word in ("Hund", "«собака»", "है", "犬", "12", "한", "ю1")] == [
        "LATIN", "CYRILLIC", "DEVANAGARI", "CJK", "", "HANGUL", "CYRILLIC",
    ]  # fmt: skip


def test_codes_of_languages():
    from tensormt.text.words import language_code

    assert [language_code(name) for name in ("english", "en-US", "Deutsch", "fra")] == [
        "en",
        "en",
        "de",
        "fr",
    ]
    assert [language_code(name) for name in ("", "xx", "klingon")] == ["", "", ""]
