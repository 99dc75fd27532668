"""The script of letters."""

import pytest

from tensormt.text.scripts import script, script_counts


@pytest.mark.parametrize(
    ("characters", "expected"),
    [
        ("aßéŁＡﬁª", "LATIN"),
        ("жЁ", "CYRILLIC"),
        ("λΣ", "GREEK"),
        ("漢のカｶ々ー", "CJK"),
        ("한", "HANGUL"),
        ("عب", "ARABIC"),
        ("अ", "DEVANAGARI"),
        ("7 .!٣\u0301€", ""),
    ],
)
def test_scripts(characters, expected):
    assert {c: script(c) for c in characters} == dict.fromkeys(characters, expected)


def test_counts_have_letters_only():
    assert script_counts("BBC, 3 новости!") == {"LATIN": 3, "CYRILLIC": 7}
    assert not script_counts("12 :-)")
