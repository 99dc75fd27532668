"""What the documents say is so: examples run, names exist, and public names have docstrings.

The ```python blocks of a document run in order in one namespace and a folder that has nothing but
the examples. A plain block after a line that ends in «prints» is what the block before it must
print: python, or `tensormt` commands in a ```sh block, which run for this only (in the tutorial:
all of them). A block with the comment `<!-- not run: needs … -->` above it is left out. Doctests
are found in all modules of the package; a module whose extra is not installed is skipped.
"""

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

import tensormt
from tensormt.command.main import main
from tensormt.registry import MEANS

ROOT = Path(__file__).resolve().parent.parent
OWN = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
DOCUMENTS = [*(ROOT / name for name in OWN), *sorted(ROOT.glob("docs/**/*.md"))]
MODULES = ["tensormt", *(m.name for m in pkgutil.walk_packages(tensormt.__path__, "tensormt."))]
MODULES.remove("tensormt.__main__")

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """A fenced block of a document, and the last line of text before it."""

    language: str
    text: str
    line: int  # of the fence
    before: str


def blocks(document):
    for match in FENCE.finditer(document):
        before = document[: match.start()]
        last = before.rstrip().rpartition("\n")[2]
        yield Block(match[1], match[2], before.count("\n") + 1, last)


def run_commands(text):
    """What `tensormt` commands print, one on each line (or several with a backslash)."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for line in text.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "tensormt", line
            assert main(arguments) == 0, line
    return out.getvalue()


def run(document, name):
    """Run the python blocks of a document; the line of the first that prints something else."""
    namespace, printed, commands = {"__name__": name}, "", ""
    for block in blocks(document):
        if block.language == "sh" and not block.before.startswith("<!-- not run: needs "):
            printed, commands = "", block.text
            if name.endswith("tutorial.md") and commands.startswith("tensormt "):
                printed, commands = run_commands(commands), ""
        if block.language == "python" and not block.before.startswith("<!-- not run: needs "):
            code = compile("\n" * block.line + block.text, name, "exec")  # tracebacks show the line
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)
            printed, commands = out.getvalue(), ""
        elif not block.language and re.search(r"\bprints:?$", block.before):
            printed = run_commands(commands) if commands else printed
            assert printed == block.text, f"{name}, line {block.line}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_documents_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    run(path.read_text(encoding="utf-8"), str(path))


def test_a_document_that_went_stale_fails():
    page = "```python\nprint(1 + 1)\n```\nprints\n```\n{}\n```\n"
    run(page.format(2), "page")
    with pytest.raises(AssertionError, match="page, line 5"):
        run(page.format(3), "page")
    with pytest.raises(NameError):
        run("```python\nabsent\n```\n", "page")
    run("<!-- not run: needs a GPU -->\n```python\nabsent\n```\n", "page")
    command = "```sh\ntensormt list blend\n```\nprints\n```\n{}\n```\n"
    run(command.format(f"blend the recommended mean: {MEANS['blend']}"), "page")
    with pytest.raises(AssertionError, match="page, line 5"):
        run(command.format("something else"), "page")
    with pytest.raises(AssertionError, match="rm -r"):
        run(command.replace("tensormt list", "rm -r"), "page")


def test_the_version_is_one():
    """In the package, the citation and the head of the changelog."""
    version = re.escape(tensormt.__version__)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {version}$", citation, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"\A# Changelog\n.*?^## {version} ", changelog, re.MULTILINE | re.DOTALL)


def exists(name):
    try:
        return bool(pkgutil.resolve_name(name))
    except ModuleNotFoundError as error:
        return "tensormt" not in str(error)  # it needs an extra
    except (ImportError, AttributeError):
        return False


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_names_and_files_that_documents_mention_exist(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`(tensormt(?:\.\w+)+)`", FENCE.sub("", text)):
        assert exists(name), f"{path.name} mentions {name}, which is not there"
    for name in re.findall(
        r"\b((?:tensormt|tests|bench|experiments|examples|docs)/[\w/.-]*\w/?)", text
    ):
        assert (ROOT / name).exists(), f"{path.name} mentions {name}, which is not there"
    for target in re.findall(r"\]\((?![a-z]+:|#)([^)#]+)", text):
        assert (path.parent / target).exists(), f"{path.name} links to {target}, which is not there"


def load(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tensormt"):
            raise
        pytest.skip(f"{name} needs {error.name}")


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder(exclude_empty=True).find(load(name)):
        report = []
        runner.run(example, out=report.append, clear_globs=False)
        assert not runner.failures, "".join(report)


def public(module):
    """The names of `__all__`, or else what the module itself defines without an underscore."""
    if hasattr(module, "__all__"):
        return {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


def methods(kind):
    """The public methods and properties that a class itself defines."""
    wrappers = (property, classmethod, staticmethod, functools.cached_property)
    for name, value in vars(kind).items():
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, wrappers)):
            yield name


def undocumented(module):
    """Public functions, classes, methods without a docstring; an override leaves it to its base."""
    if not module.__doc__:
        yield module.__name__
    for name, value in public(module).items():
        where = f"{module.__name__}.{name}"
        if inspect.isclass(value):
            # dataclasses and named tuples write their signature where no docstring is
            if not value.__doc__ or value.__doc__.startswith(f"{value.__name__}("):
                yield where
            for method in methods(value):
                versions = (vars(base).get(method) for base in value.__mro__)
                if not any(version.__doc__ for version in versions if version is not None):
                    yield f"{where}.{method}"
        elif inspect.isroutine(value) and not inspect.getdoc(value):
            yield where


@pytest.mark.parametrize("name", MODULES)
def test_public_names_have_docstrings(name):
    missing = list(undocumented(load(name)))
    assert not missing, f"without a docstring: {', '.join(missing)}"


def test_missing_docstrings_are_found():
    class Base:
        """A class."""

        def told(self):
            """One."""

    class Kind(Base):
        def told(self):
            return 1

        def untold(self):
            return 2

        @property
        def field(self):
            return 3

        def _private(self):
            return 4

    module = type(re)("made", "A module.")
    module.Kind, module.Record = Kind, dataclass(type("Record", (), {"__module__": "made"}))
    Kind.__module__ = "made"
    assert list(undocumented(module)) == [
        "made.Kind",
        "made.Kind.untold",
        "made.Kind.field",
        "made.Record",
    ]
