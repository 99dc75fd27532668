"""nltk, imported without what takes long and is not used here.

All of it without scipy.stats, which takes a second and serves one test of collocations; the Porter
stemmer without the other modules of nltk, which take ten times as long (a quarter of a second, more
than the rest of a small job on the command line).
"""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from tensormt.errors import TensorMTError


def import_nltk() -> None:
    """Import nltk without scipy.stats; its one test of collocations imports it when called.

    Raises:
        TensorMTError: If it is not installed.
    """
    if sys.modules.get("nltk") is not None or "scipy.stats" in sys.modules:
        return
    sys.modules["scipy.stats"] = None  # type: ignore[assignment]
    try:
        from nltk.metrics import association
    except ImportError:
        raise TensorMTError(
            "parsing and stems need nltk, and the parser supar: pip install nltk supar"
        ) from None
    finally:
        del sys.modules["scipy.stats"]
    association.fisher_exact = _fisher_exact


def porter_stemmer() -> Any:
    """Return nltk's Porter stemmer.

    Raises:
        TensorMTError: If nltk is not installed.
    """
    # no other thread may see the packages that stand for nltk meanwhile
    if "nltk" not in sys.modules and threading.active_count() == 1:
        try:
            return _stemmer_alone()
        except (ImportError, AttributeError):  # its modules have changed
            pass
    import_nltk()
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def _stemmer_alone() -> Any:
    """The Porter stemmer, with packages of the same names in the place of nltk and nltk.stem."""
    found = find_spec("nltk")
    if found is None or found.origin is None:
        raise ImportError("nltk is not installed")
    folder = Path(found.origin).parent
    for name, path in (("nltk", folder), ("nltk.stem", folder / "stem")):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    try:
        from nltk.stem.porter import PorterStemmer

        return PorterStemmer()
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]


def _fisher_exact(*args: Any, **kwargs: Any) -> Any:
    from scipy.stats import fisher_exact

    return fisher_exact(*args, **kwargs)
