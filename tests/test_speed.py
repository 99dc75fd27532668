"""The figures of README.md are those that bench/all.py wrote, and of docs/speed.md too."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = json.loads((ROOT / "docs" / "speed.json").read_text())


def rows(text):
    """The rows of the first table of a text, without its head, as lists of cells."""
    first = text.partition("\n## ")[0]
    lines = [line for line in first.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def recorded(shown):
    return [
        [row["job"], row["peer"], f"{row['batch']:,}"]
        + [f"{row[key]:,.1f}" for key in ("ours_us", "peer_us")] * shown
        + [row["ratio"]]
        for row in RECORD["rows"]
    ]


def test_the_ratios_of_the_record_are_those_of_its_times():
    for row in RECORD["rows"]:
        ratio = row["peer_us"] / row["ours_us"]
        assert abs(float(row["ratio"]) - ratio) <= max(0.05, 0.051 * ratio), row


def test_the_readme_shows_what_was_measured():
    text = (ROOT / "README.md").read_text()
    found = rows(re.search(r"<!-- speed -->(.*)<!-- end of speed -->", text, re.DOTALL)[1])
    assert found
    assert [row for row in found if row not in recorded(False)] == []
    jobs = {row[0] for row in found}
    # all peers of a job that is shown: none is left out because it is faster
    assert found == [row for row in recorded(False) if row[0] in jobs]


def test_the_table_is_the_record():
    text = (ROOT / "docs" / "speed.md").read_text()
    assert rows(text) == recorded(True)
    assert RECORD["machine"] in text


def test_there_are_no_other_ratios_in_the_section():
    text = (ROOT / "README.md").read_text()
    section = re.search(r"^## Speed\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)[1]
    rest = re.sub(r"<!-- speed -->.*<!-- end of speed -->", "", section, flags=re.DOTALL)
    assert not re.search(r"\d+(\.\d+)? times|segments a second", rest)
