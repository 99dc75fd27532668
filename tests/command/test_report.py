"""`tensormt report` writes the page."""

from reporting.page_samples import HYPS, REFS, read_page

from tensormt.command.main import main


def test_the_command_writes_the_page(tmp_path, capsys):
    for name, lines in (("r.txt", REFS[0]), ("a.txt", HYPS["A"]), ("b.txt", HYPS["B"])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("r.txt", "a.txt", "b.txt")]
    out = tmp_path / "out.html"
    command = ["report", files[0], "-i", *files[1:], "-m", "bleu", "-o", str(out), "-q"]
    assert main([*command, "--trees-for", "1"]) == 0
    assert "4 segments" in capsys.readouterr().err
    page = read_page(out)
    assert page.meta["systems"] == ["a.txt", "b.txt"]
    assert len(page.cards()) == 1
    assert main([*command, "--trees-for", "some"]) == 2
    assert "--trees-for 'some'" in capsys.readouterr().err
