"""Names as they are shown: nothing invisible in them, and different ones stay different."""

import random

import pytest

from tensormt.data.names import shown_name
from tensormt.data.tables import format_table, printable

LETTERS = [
    "a",
    "\\",
    "x1b",
    "\x1b",
    "n",
    "\n",
    " ",
    "\u202e",
    "u202e",
    "\xa0",
    "\x20",
    "\u200b",
    "é",
]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("newstest.ref", "newstest.ref"),
        ("é 犬", "é 犬"),
        ("C:\\data", "C:\\data"),
        ("a\x1b", "a\\x1b"),
        ("a\\x1b", "a\\\\x1b"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066"),
        ("a  b ", "a\\x20 b\\x20"),
        ("a\nb", "a\\nb"),
        ("\ud800", "\\ud800"),
    ],
)
def test_names(name, shown):
    assert shown_name(name) == shown


def test_different_names_stay_different_in_every_table():
    draw = random.Random(1)
    names = {"".join(draw.choices(LETTERS, k=draw.randint(0, 5))) for _ in range(20_000)}
    shown = [shown_name(name) for name in names]
    assert len(set(shown)) == len(names)
    assert all(name.isprintable() and printable(name) == name for name in shown)
    for form in ("text", "tsv"):
        table = format_table([["system", "x"], *([name, "1"] for name in shown)], form)
        lines = table.split("\n")[1:]
        assert len({line.rstrip("1").rstrip() for line in lines}) == len(names)
