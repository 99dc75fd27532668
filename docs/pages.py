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
    """The pages of the reference by name: one for each package or module with public names.

    `tensormt` itself is a list of its names with links; a name of several packages stands on the
    page of the first, one of no other package on the page of its module.
    """
    pages: dict[str, list[str]] = {}
    home: dict[str, str] = {}  # identifier → page
    top, *others = packages()
    for module in others:
        page = module.__name__
        pages[page] = [f"# {page}", markdown(inspect.getdoc(module) or "")]
        for name, value, place in public(module):
            if inspect.ismodule(value):
                pages[page].append(f"## {name}\nSee [{value.__name__}]({value.__name__}.md).")
            elif place in home:
                link = f"{home[place]}.md#{place}"
                pages[page].append(f"## {name}\nSee [{home[place]}.{name}]({link}).")
            else:
                home[place] = page
                pages[page].append(f"::: {place}")
    rows = ["| name | what it is |", "| --- | --- |"]
    for name, value, place in public(top):
        summary = markdown((inspect.getdoc(value) or "").partition("\n")[0]).strip()
        if inspect.ismodule(value):
            rows.append(f"| [`{name}`]({value.__name__}.md) | {summary} |")
            continue
        if place not in home:
            page = place.rpartition(".")[0]
            pages.setdefault(page, [f"# {page}"]).append(f"::: {place}")
            home[place] = page
        rows.append(f"| [`{name}`]({home[place]}.md#{place}) | {summary} |")
    about = markdown(inspect.getdoc(top) or "")
    pages["tensormt"] = ["# tensormt", about, "\n".join(rows)]
    return {page: "\n\n".join(parts) for page, parts in pages.items()}


def public(module: Any) -> list[tuple[str, Any, str]]:
    """The public names of a module, each with its value and its identifier."""
    found = []
    for name in module.__all__:
        value = getattr(module, name)
        place = f"{module.__name__}.{name}"
        if inspect.isclass(value) or inspect.isroutine(value):
            place = f"{value.__module__}.{value.__qualname__}"
        if not name.startswith("_"):
            found.append((name, value, place))
    return found


def root_file(name: str) -> str:
    """A file of the project's root, with its links as they are on the site."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    # files that are no pages become text
    text = re.sub(r"\[([^\]]+)\]\((?:recipes|tensormt|CITATION)[^)]*\)", r"\1", text)
    for page, source in FILES.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the reference where mkdocs.yml has `Python`."""
    parts = [part for entry in config.nav or [] for part in entry.get("Reference", [])]
    for part in parts:
        if "Python" in part:
            part["Python"] = [{name: f"api/{name}.md"} for name in sorted(reference())]
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
    text = "".join(pieces)
    # indented text is code, but not in sections such as Args: there [B][K] would be a link
    head, section, tail = re.split(r"(?m)^((?:Args|Returns|Raises):$|\Z)", text, maxsplit=1)
    pieces = re.split(r"(?m)(^ *```.*?^ *```$|`[^`\n]+`)", tail, flags=re.DOTALL)
    pieces[::2] = [re.sub(r"\](?=\[)", r"]\\", piece) for piece in pieces[::2]]
    return head + section + "".join(pieces)


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
