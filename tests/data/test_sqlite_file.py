"""Results kept by text in SQLite files."""

import os
import stat

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
