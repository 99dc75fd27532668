"""The package layout: imports point one way, and each concern stands in one place."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensormt.version import __version__

ROOT = Path(__file__).resolve().parent.parent / "tensormt"

# from the bottom up: a module may import modules of its own layer and of layers above in this list
LAYERS = [
    ["version", "errors", "options", "formulas", "plain", "devices", "figures", "segments"],
    ["kernels"],
    ["validation"],
    ["data"],
    ["text"],
    ["trees"],
    ["vectors"],
    ["inputs", "explanation"],
    ["metric"],
    ["stored_scores"],
    ["syntax", "ngram", "edit", "rouge", "contextual"],
    ["combined"],
    ["registry"],
    ["parser"],
    ["prepared"],
    ["statistics"],
    ["text_warnings"],
    ["evaluator"],
    ["result", "corrections"],
    ["resampling"],
    ["scoring", "significance"],
    ["comparison"],
    ["metaeval"],
    ["qarla"],
    ["train"],
    ["nbest"],
    ["integrations"],
    ["reporting", "scale"],
    ["command", "devcheck"],
    ["__main__"],
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
# module → the only one that may import it
OWNERS = {
    "supar": "parser.model",
    "matplotlib": "figures",
    "torchmetrics": "train.torchmetrics_wrapper",
    "ray": "scale.ray_engine",
    "spacy": "parser.spacy_pipeline",
    "stanza": "parser.stanza_pipeline",
    "lm_eval": "integrations.lm_eval",
    "inspect_ai": "integrations.inspect_ai",
    "evaluate": "integrations.hf_evaluate",
    "transformers": "vectors.encoder",
    "triton": "kernels.triton_charts",
}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


def imports(path):
    """Modules that a module imports when it runs: what is imported for types alone is left out."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield node.module
            if node.module == "tensormt":
                yield from (f"tensormt.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda p: str(p))
def test_imports_point_down(name, path):
    part = name.split(".")[0]
    if not part:
        return  # the package itself exports the public names
    assert part in LEVEL, f"{name}: give {part} a place in LAYERS"
    for target in imports(path):
        parts = target.split(".")
        if parts[0] == "tensormt" and len(parts) > 1 and parts[1] in LEVEL:
            assert LEVEL[parts[1]] <= LEVEL[part], f"{name} imports {target}, which lies above it"
        owner = OWNERS.get(parts[0])
        assert owner in (None, name), f"{name} imports {parts[0]}: only {owner} may"


def test_import_is_light():
    heavy = [
        "supar",
        "transformers",
        "nltk",
        "stanza",
        "spacy",
        "torchmetrics",
        "scipy",
        "matplotlib",
    ]
    code = f"import sys, tensormt; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


def test_measures_of_text_need_no_parser_libraries(tmp_path):
    """What the documents say about a small install: none of supar's dependencies is needed."""
    code = """
import sys
for name in ("supar", "nltk", "transformers", "stanza", "dill"):
    sys.modules[name] = None  # as if it were not installed
from tensormt.command.main import main
files = "examples/ref1.txt examples/ref2.txt -i examples/sysA.txt examples/sysB.txt -q".split()
assert main(["score", *files, "-m", "bleu", "chrf", "ter", "wer", "nist", "bm"]) == 0
assert main(["compare", *files, "-m", "bleu", "chrf", "--samples", "100"]) == 0
assert main(["score", *files, "-m", "stm"]) == 2
"""
    root, new = ROOT.parent, {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}  # no parses are kept
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, env=new)
    assert run.returncode == 0, run.stderr
    assert run.stderr.endswith(
        "parsing and stems need nltk, and the parser supar: pip install nltk supar\n"
    )


def calls(path):
    """Names of functions and methods that a module calls, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            target = node.func
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            yield name, node


def test_files_of_users_are_read_in_data_only():
    """No `open`, `read_text`, `read_bytes` or `splitlines` outside data/."""
    for name, path in modules():
        if name.split(".")[0] == "data":
            continue
        for called, node in calls(path):
            owner = getattr(getattr(node.func, "value", None), "id", "")
            assert called not in {"open", "read_text", "read_bytes", "splitlines"} or owner in (
                "os",
                "gzip",
            ), f"{name}, line {node.lineno}: {called}() of input belongs into data/"


def test_only_the_backend_tests_the_device_of_a_tensor():
    """No `device.type`, `.is_cpu` or `.is_cuda` outside kernels/backend.py.

    The parser chooses its batch size and the random state to fork by the kind of device.
    """
    allowed = {
        "kernels.backend",
        "parser.parser",
        "parser.training",
    }
    pattern = re.compile(r"\bdevice\.type\b|\.is_cpu\b|\.is_cuda\b")
    for name, path in modules():
        if name in allowed:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not pattern.search(line), f"{name}, line {number}: use tensormt.kernels.backend"


def test_nobody_asks_for_the_class_of_a_metric():
    """Outside ngram/ and syntax/ metrics are asked what they read, never which class they are."""
    from tensormt.metric import Metric

    def below(kind):
        return {kind.__name__}.union(*map(below, kind.__subclasses__()))

    kinds = below(Metric) - {"Metric"}
    for name, path in modules():
        if name.split(".")[0] in ("ngram", "syntax"):
            continue
        for called, node in calls(path):
            if called == "isinstance":
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not asked & kinds, f"{name}, line {node.lineno}: isinstance of {asked}"


def test_heavy_tests_are_run_somewhere():
    script = (ROOT.parent / ".ci" / "run").read_text()
    listed = re.findall(r'^  "(\w+): ', script, re.MULTILINE)
    for path in sorted((ROOT.parent / "tests").rglob("test_*.py")):
        for needs in re.findall(r"pytest\.mark\.heavy\b(?:\(needs=\"(\w+)\"\))?", path.read_text()):
            assert needs, f'{path}: write mark.heavy(needs="…")'
            assert needs in listed, f"{path}: say in .ci/run how {needs} is installed"


def test_runs_as_a_module():
    command = [sys.executable, "-m", "tensormt", "--version"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, f"tensormt {__version__}\n"), result.stderr


def strings(path):
    """String constants of a module that are no docstrings, with their line."""
    tree = ast.parse(path.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in documents:
            yield text, node.lineno


def test_messages_of_the_library_name_no_command_line_option():
    """The command line adds its own options (`TensorMTError.options`)."""
    for name, path in modules():
        if name.split(".")[0] in ("command", "devcheck", "__main__"):
            continue
        for text, line in strings(path):
            assert not re.search(r"(?<![-\w])--[a-z]", text), f"{name}, line {line}: {text!r}"


def test_nothing_is_set_on_an_object_from_outside():
    """`evaluator.trees = …` belongs into a constructor; results that a module fills are its own."""
    own = {"self", "cls", "new"}
    for name, path in modules():
        if name.split(".")[0] in ("parser", "text", "command"):
            continue  # objects of supar and nltk; the interpreter's hooks
        for node in ast.walk(ast.parse(path.read_text())):
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                for part in ast.walk(target) if target is not None else ():
                    if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                        owner = getattr(part.value, "id", "")
                        assert owner in own, f"{name}, line {node.lineno}: {ast.unparse(part)} ="


def test_references_are_transposed_in_one_function():
    """Rows of references become streams in `reference_streams`, and nowhere else."""
    ragged = re.compile(r"if \w+ < len\(\w+(\.refs)?\) else None|zip_longest\(\*(?!streams)")
    for name, path in modules():
        found = ragged.findall(path.read_text())
        allowed = {"segments": 1, "data.coercion": 1}  # the latter in the advice of an error
        assert len(found) <= allowed.get(name, 0), f"{name}: use Segments.from_rows"


def test_nobody_asks_for_the_class_of_an_input():
    """Outside inputs.py an input is asked for its batches, never for its class."""
    kinds = {"Tokens", "Trees", "CompositeInput"}
    for name, path in modules():
        if name.split(".")[0] in ("ngram", "syntax", "combined", "inputs"):
            continue
        for called, node in calls(path):
            if called == "isinstance":
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not asked & kinds, f"{name}, line {node.lineno}: isinstance of {asked}"


# folders, and modules of the package itself (""), in which modules without a test of their name are
# still allowed: shorten this list, never lengthen it
UNTESTED = ["", "combined", "ngram", "syntax", "trees"]
# modules that have nothing to test
DATA_ONLY = {"version", "__main__", "qarla.stopwords"}


def test_every_module_has_a_test_of_its_name():
    """tests/FOLDER/test_MODULE.py, so that the tests of a module are found beside each other."""
    tests = ROOT.parent / "tests"
    for name, path in modules():
        folder, _, module = name.rpartition(".")
        if path.name == "__init__.py" or name in DATA_ONLY or folder in UNTESTED:
            continue
        expected = tests / folder / f"test_{module}.py"
        assert expected.exists(), f"{name}: write {expected.relative_to(ROOT.parent)}"


def test_no_test_changes_a_size_of_the_package():
    """Sizes are arguments with a default: a test passes a small one instead of patching it."""
    pattern = re.compile(r"setattr\(\s*[\w.]+,\s*[\"']_?[A-Z][A-Z_]+[\"']")
    for path in sorted((ROOT.parent / "tests").rglob("test_*.py")):
        if path.parent.name not in UNTESTED and path.parent != ROOT.parent / "tests":
            found = pattern.search(path.read_text())
            assert not found, f"{path}: {found[0]} …"
