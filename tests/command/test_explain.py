"""`tensormt explain` prints what was matched."""

import json

from reporting.page_samples import TREES

from tensormt.command.main import main


def test_explain_prints_what_was_matched(tmp_path, capsys):
    for name, lines in (("r.ptb", TREES[:1]), ("h.ptb", TREES[1:])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["explain", str(tmp_path / "r.ptb"), "-i", str(tmp_path / "h.ptb"), "--trees", "-q"]
    assert main([*command, "-m", "stm:max_depth=2", "tkm", "--all"]) == 0
    out = capsys.readouterr().out
    assert "reference 1: the dog ran" in out
    assert "h.ptb: I have the dog" in out
    assert "    + NP  [1]" in out  # one of two
    assert "    - (VP VBP NP)" in out
    assert main([*command, "-m", "stm", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["systems"]["h.ptb"]["stm"]
    assert found["kind"] == "subtree"
    assert found["items"][0]["text"] == "S"
    assert main([*command, "--segment", "2"]) == 2
    assert "from 1 to 1" in capsys.readouterr().err
