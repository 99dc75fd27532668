"""nltk, imported without scipy.stats, which takes a second and serves one test of collocations."""

from __future__ import annotations

import sys
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


def _fisher_exact(*args: Any, **kwargs: Any) -> Any:
    from scipy.stats import fisher_exact

    return fisher_exact(*args, **kwargs)
