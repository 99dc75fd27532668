"""Pages of the site that are made, not written: the start page, and the reference from docstrings.

mkdocs calls `on_config` and `on_files` (mkdocs.yml: hooks), mkdocstrings loads `Docstrings`. Each
package has a page with the names of its `__all__`, so that a new public name appears there.
"""

import importlib
import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import Any

from griffe import Extension
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import tensormt
from tensormt.metric import Metric

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
# modules that users import by name; all else is reached through the packages
MODULES = [
    "tensormt.comparison",
    "tensormt.evaluator",
    "tensormt.inputs",
    "tensormt.metric",
    "tensormt.options",
    "tensormt.registry",
    "tensormt.resampling",
    "tensormt.segments",
    "tensormt.significance",
    "tensormt.statistics",
    "tensormt.train.functional",
    "tensormt.train.torchmetrics_wrapper",
]


def packages() -> list[Any]:
    """The package, its packages and MODULES, as far as they have public names."""
    names = [m.name for m in pkgutil.iter_modules(tensormt.__path__, "tensormt.") if m.ispkg]
    found = [importlib.import_module(name) for name in ["tensormt", *names, *MODULES]]
    return [module for module in found if getattr(module, "__all__", [])]


def reference() -> dict[str, str]:
    """The pages of the reference by name; a name of several packages stands on the first page."""
    pages: dict[str, str] = {}
    home: dict[str, str] = {}  # identifier → page
    for module in packages():
        page = module.__name__
        parts = [f"# {page}", markdown(inspect.getdoc(module) or "")]
        for name in module.__all__:
            value = getattr(module, name)
            place = f"{page}.{name}"
            if inspect.isclass(value) or inspect.isroutine(value):
                place = f"{value.__module__}.{value.__qualname__}"
            if inspect.ismodule(value):
                parts.append(f"## {name}\nSee [{value.__name__}]({value.__name__}.md).")
            elif place in home:
                parts.append(f"## {name}\nSee [{home[place]}.{name}]({home[place]}.md#{place}).")
            elif not name.startswith("_"):
                home[place] = page
                parts.append(f"::: {place}")
        pages[page] = "\n\n".join(parts)
    return pages


def root_file(name: str) -> str:
    """A file of the project's root, with its links as they are on the site."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    for page, source in FILES.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the reference where mkdocs.yml has `Reference`."""
    assert config.nav is not None
    for entry in config.nav:
        if "Reference" in entry:
            entry["Reference"] = [{name: f"api/{name}.md"} for name in sorted(reference())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for page, source in FILES.items():
        files.append(File.generated(config, page, content=root_file(source)))
    for name, text in reference().items():
        files.append(File.generated(config, f"api/{name}.md", content=text))
    return files


def markdown(text: str) -> str:
    """A docstring as Markdown: doctests fenced, shapes such as [B][K] and <tags> as they are."""
    text = re.sub(
        r"(?m)^( *)(>>> .*\n(?:\1\S.*(?:\n|$))*)", r"\n\1```pycon\n\1\2\n\1```\n", text + "\n"
    )
    pieces = re.split(r"(?m)(^ *```.*?^ *```$|`[^`\n]+`|^ {4,}.*$)", text, flags=re.DOTALL)
    for k in range(0, len(pieces), 2):
        pieces[k] = pieces[k].replace("[", r"\[").replace("<", "&lt;").replace("*", r"\*")
    return "".join(pieces)


class Docstrings(Extension):
    """Docstrings as Markdown, before they are rendered; those of metrics lead to what all share."""

    def on_object(self, *, obj: Any, **kwargs: Any) -> None:
        """Called by griffe for everything that it reads."""
        if not obj.docstring:
            return
        text = markdown(inspect.cleandoc(obj.docstring.value))
        if obj.is_class and obj.path in metrics():
            text += "\n\nCalled as every [Metric][tensormt.metric.Metric] is."
        obj.docstring.value = text


@cache
def metrics() -> set[str]:
    """Where the metrics are defined."""
    public = (getattr(module, name) for module in packages() for name in module.__all__)
    kinds = [kind for kind in public if inspect.isclass(kind) and issubclass(kind, Metric)]
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if kind is not Metric}
