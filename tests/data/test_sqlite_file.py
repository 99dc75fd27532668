"""Results kept by text in SQLite files."""

import os
import stat
import subprocess
import sys

import pytest

from tensormt.data.sqlite_file import open_database, select_by_text, text_key


def test_rows_are_found_by_text(tmp_path):
    folder = tmp_path / "kept"
    texts = [f"text {k}" for k in range(1200)]  # more than a query takes
    with open_database(folder, "one", "things (left TEXT, right BLOB)") as database:
        rows = [(text_key(text), text.upper(), text.encode()) for text in texts[::2]]
        database.executemany("INSERT INTO things VALUES (?, ?, ?)", rows)
    database.close()
    database = open_database(folder, "one", "things (left TEXT, right BLOB)")
    found = select_by_text(database, "SELECT key, left, right FROM things", texts)
    assert found == {text: (text.upper(), text.encode()) for text in texts[::2]}
    assert select_by_text(database, "SELECT key, left FROM things", []) == {}
    database.close()
    other = open_database(folder, "two", "things (left TEXT, right BLOB)")
    assert select_by_text(other, "SELECT key, left FROM things", texts) == {}
    other.close()
    assert len(list(folder.glob("*.sqlite"))) == 2
    if os.name == "posix":
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.sqlite")}
        assert modes == {0o600}


def test_keys_of_lone_surrogates():
    assert text_key("\ud800") != text_key("\ud801")


TRY_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # SQLite's shared lock
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX locks")
def test_a_second_connection_keeps_the_locks_of_the_first(tmp_path):
    """Without its locks, another process takes the file for unused and may destroy it."""
    first = open_database(tmp_path, "one", "things (left TEXT)")
    first.execute("SELECT * FROM things").fetchall()
    (path,) = tmp_path.glob("*.sqlite")

    def locked():
        command = [sys.executable, "-c", TRY_LOCK, str(path)]
        found = subprocess.run(command, capture_output=True, text=True)
        return found.returncode != 0 and "BlockingIOError" in found.stderr

    assert locked()
    second = open_database(tmp_path, "one", "things (left TEXT)")
    second.close()
    assert locked()
    first.close()
    assert not locked()
