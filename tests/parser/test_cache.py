"""cache: private to the user, and never in the way of a run.

(What it holds, several processes and damaged rows: tests/test_scoring.py.)
"""

import sqlite3
import stat
import warnings

import pytest

import tensormt as tm
from tensormt.command.main import main
from tensormt.parser import cache, checkpoint, clear_parsers


class Flat:
    """A stand-in for a parser: a sentence is S over its words; it counts its work."""

    fingerprint = "flat"

    def __init__(self):
        self.calls = 0

    def parse(self, segments, progress=None):
        self.calls += len(segments)
        return tm.TreeBatch.from_brackets([tree(text) for text in segments])


def tree(text):
    return f"(S {' '.join(f'(T {word})' for word in text.split())})" if text else ""


def goes_on(folder, **options):
    """A run with this cache ends well, with one warning."""
    source = cache.CachedParser(Flat(), folder, strict=False, **options)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for lines in (["a b", "c"], ["c", "d"], ["e"]):
            assert source(lines).to_brackets() == [tree(line) for line in lines]
    assert len(heard) == 1, [str(warning.message) for warning in heard]
    assert str(heard[0].message).startswith("continuing without a parse cache: the parse cache")
    assert source.parser.calls == 4  # nothing twice: the memory works without the folder
    assert source.folder is None
    return str(heard[0].message)


def test_files_are_private(tmp_path):
    folder = tmp_path / "new" / "parses"
    source = cache.CachedParser(Flat(), folder)
    source(["a b"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_file_that_others_could_read_becomes_private(tmp_path):
    cache.CachedParser(Flat(), tmp_path)(["a b"])
    (file,) = tmp_path.glob("*.sqlite")
    file.chmod(0o644)
    cache.CachedParser(Flat(), tmp_path)(["a b"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_damaged(tmp_path):
    cache.CachedParser(Flat(), tmp_path)(["a"])
    for file in tmp_path.iterdir():
        file.write_bytes(b"this is no database" * 100)
    assert "not a database" in goes_on(tmp_path)


def test_locked(tmp_path):
    """Another program has locked the database."""
    source = cache.CachedParser(Flat(), tmp_path)
    source(["a"])
    source._database.close()
    (file,) = tmp_path.glob("*.sqlite")
    other = sqlite3.connect(file)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    assert "locked" in goes_on(tmp_path, timeout=0.05)
    other.rollback()


def connected(monkeypatch, *statements):
    """Let every connection begin with some statements."""
    connect = cache.open_database

    def opened(*given):
        database = connect(*given)
        for statement in statements:
            database.execute(statement)
        return database

    monkeypatch.setattr(cache, "open_database", opened)


def test_full(tmp_path, monkeypatch):
    """The error of SQLite where there is no room for another page."""
    connected(monkeypatch, "PRAGMA max_page_count=1", "PRAGMA page_size")
    monkeypatch.setattr(cache, "text_key", lambda text, key=cache.text_key: key(text) * 1000)
    assert "full" in goes_on(tmp_path)


def test_read_only(tmp_path, monkeypatch):
    connected(monkeypatch, "PRAGMA query_only=ON")
    assert "readonly" in goes_on(tmp_path)


def test_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    goes_on(tmp_path / "file" / "parses")


def test_a_cache_that_was_asked_for_is_an_error(tmp_path, monkeypatch):
    """One that the user has named does not vanish in silence."""
    connected(monkeypatch, "PRAGMA query_only=ON")
    with pytest.raises(tm.TensorMTError, match="choose another one, or disable the cache"):
        cache.CachedParser(Flat(), tmp_path)(["a"])


def test_a_fully_cached_run_does_not_load_the_parser(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "h.txt").write_text("The dog ran home .\n")
    (tmp_path / "r.txt").write_text("A dog ran home .\n")
    score = ["score", tmp_path / "r.txt", "-i", tmp_path / "h.txt", "-m", "stm", "hwcm"]
    assert main([str(part) for part in score]) == 0
    first = capsys.readouterr().out

    def load(*args):
        raise AssertionError("the weights were read")

    monkeypatch.setattr(checkpoint, "load_model", load)
    clear_parsers()
    assert main([str(part) for part in score]) == 0
    assert capsys.readouterr().out == first
    (tmp_path / "h.txt").write_text("Something else .\n")
    with pytest.raises(AssertionError, match="the weights were read"):
        main([str(part) for part in score])


def test_the_command_goes_on_without_its_own_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "r.txt"))
    (tmp_path / "h.txt").write_text("The dog ran home .\n")
    (tmp_path / "r.txt").write_text("A dog ran home .\n")
    score = ["score", tmp_path / "r.txt", "-i", tmp_path / "h.txt", "-m", "stm"]
    assert main([str(part) for part in score]) == 0
    out, err = capsys.readouterr()
    assert "STM" in out.upper()
    assert err.count("\n") == 1
    assert err.startswith("tensormt: continuing without a parse cache")


def test_a_planted_link_is_not_followed(tmp_path):
    folder, victim = tmp_path / "parses", tmp_path / "victim"
    cache.CachedParser(Flat(), folder)(["a"])
    (path,) = folder.glob("*.sqlite")
    for each in folder.iterdir():
        each.unlink()
    path.symlink_to(victim)  # to a file that does not exist yet
    with pytest.raises(tm.TensorMTError, match="the parse cache cannot be used"):
        cache.CachedParser(Flat(), folder)
    assert not victim.exists()
    victim.write_text("mine")
    victim.chmod(0o644)
    goes_on(folder)
    assert (victim.read_text(), stat.S_IMODE(victim.stat().st_mode)) == ("mine", 0o644)
