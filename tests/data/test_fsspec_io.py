"""Files on disk and in another file system: bytes come back, and a file is whole or not there."""

import gzip
import random
import uuid

import fsspec
import pytest

from tensormt.data import fsspec_io
from tensormt.data.fsspec_io import (
    BLOCK,
    atomic_upload,
    filesystem,
    local_copy,
    move_into_place,
    open_input,
)
from tensormt.errors import TensorMTError

BYTES = random.Random(1).randbytes(BLOCK + 12_345)


@pytest.fixture(params=["disk", "memory"])
def place(request, tmp_path):
    """A folder that is there, as a prefix of paths, with what lies in it."""
    if request.param == "disk":
        yield str(tmp_path / "data")
        return
    folder = f"/{uuid.uuid4().hex}"
    yield f"memory:/{folder}/data"
    fsspec.filesystem("memory").rm(folder, recursive=True)


def put(path, data):
    with fsspec.open(path, "wb", auto_mkdir=True) as file:
        file.write(data)


def lying(folder):
    """Every file below a folder → its bytes, without the package."""
    system, inner = fsspec.core.url_to_fs(folder)
    found = system.find(inner)
    return {path[len(inner) :].lstrip("/"): system.cat_file(path) for path in found}


def test_bytes_are_read_and_unpacked(place):
    """In odd steps, seeks included; what is packed only where the name says so."""
    put(f"{place}/not.gz.bin", BYTES)
    put(f"{place}/packed.gz", gzip.compress(BYTES[:99_999]))
    for name, expected in (("not.gz.bin", BYTES), ("packed.gz", BYTES[:99_999])):
        with open_input(f"{place}/{name}") as file:
            parts = list(iter(lambda file=file: file.read(70_001), b""))
            file.seek(500)
            again = file.read(10)
        assert b"".join(parts) == expected
        assert again == expected[500:510]


def test_trouble_is_one_sentence_that_names_the_file(place):
    put(f"{place}/cut.gz", gzip.compress(BYTES)[:-9])
    put(f"{place}/not.gz", b"plain words")
    for name in ("cut.gz", "not.gz", "absent"):
        path = f"{place}/{name}"
        with pytest.raises(TensorMTError) as caught, open_input(path) as file:
            file.read()
        assert str(caught.value).startswith(f"{path} cannot be read: ")
        assert "\n" not in str(caught.value)
    with pytest.raises(TensorMTError, match=r"^nowhere://a cannot be opened: .*nowhere"):
        filesystem("nowhere://a")
    with pytest.raises(TensorMTError, match="line 3"), open_input(f"{place}/not.gz"):
        raise TensorMTError("line 3")  # the reader's own sentence stays


def test_a_stored_file_is_there_whole_or_not_at_all(place):
    """Its folders are made; until it is whole, and after a failure, there is what was before."""
    path = f"{place}/deep/er/file"
    before = {}
    for number, fails in enumerate((True, False, True, False)):
        try:
            with atomic_upload(path) as local:
                local.write_bytes(b"half")
                shown = {k: v for k, v in lying(place).items() if not k.endswith(".tmp/file")}
                assert shown == before
                if fails:
                    raise KeyboardInterrupt
                local.write_bytes(BYTES[number:])
            before = {"deep/er/file": BYTES[number:]}
        except KeyboardInterrupt:
            assert fails
        assert lying(place) == before
    assert before == {"deep/er/file": BYTES[3:]}


def test_a_file_that_cannot_be_stored(tmp_path):
    (tmp_path / "file").write_text("in the way")
    path = str(tmp_path / "file" / "below")
    with pytest.raises(TensorMTError) as caught, atomic_upload(path) as local:
        local.write_text("")
    assert str(caught.value).startswith(f"{path} cannot be written: ")


def test_a_fetched_file_is_local(place):
    put(f"{place}/file", BYTES)
    with local_copy(f"{place}/file") as local:
        assert local.read_bytes() == BYTES
        copied = str(local) != f"{place}/file"
    assert copied == place.startswith("memory")  # nothing here is copied, nothing copied is kept
    assert local.exists() != copied
    with pytest.raises(TensorMTError, match=r"^memory://absent cannot be read: "):
        local_copy("memory://absent").__enter__()


def test_the_first_of_two_replaces_for_both(place):
    """Whoever comes second finds the fresh file gone and the target there: done."""
    put(f"{place}/fresh", b"new")
    put(f"{place}/target", b"old")
    system, inner = fsspec.core.url_to_fs(place)
    for _ in range(2):
        move_into_place(system, f"{inner}/fresh", f"{inner}/target")
        assert lying(place) == {"target": b"new"}
    system.rm(f"{inner}/target")
    with pytest.raises(FileNotFoundError):
        move_into_place(system, f"{inner}/fresh", f"{inner}/target")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("http://host/a.jsonl", "http"),
        ("ftp://host/a.jsonl", "ftp"),
        ("github://a:b@c/a.jsonl", "github"),
        ("data:text/plain,a.jsonl", "data"),
        ("reference:///a.jsonl", "reference"),
        ("simplecache::s3://bucket/a.jsonl", "simplecache"),
        ("zip://a.jsonl::http://host/a.zip", "zip"),
        ("memory://a::http://host/a", "http"),
        ("nothing://a", "nothing"),
    ],
)
def test_other_protocols_are_not_opened(path, name):
    with pytest.raises(
        TensorMTError, match=f"cannot be opened: the protocol '{name}' is"
    ) as caught:
        filesystem(path)
    assert path in str(caught.value)
    assert caught.value.options == "protocols"


def test_protocols_that_are_allowed(monkeypatch, tmp_path):
    monkeypatch.setattr(fsspec_io, "_allowed", set(fsspec_io.PROTOCOLS))
    for path in ("memory://a", "file:///a", "local:///a", "/a", "a", "C://a", str(tmp_path)):
        fsspec_io.check_protocol(path)
    with pytest.raises(TensorMTError, match="'dir' is not one of"):
        filesystem("dir::memory://folder")
    fsspec_io.allow_protocols(["dir"])
    fsspec_io.check_protocol("dir::memory://folder")
    with pytest.raises(TensorMTError, match="fsspec knows no protocol 'nothing'"):
        fsspec_io.allow_protocols(["nothing"])
