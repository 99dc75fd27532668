"""Trees: readers, head rules, batches.

`TreeBatch` is loaded when it is first asked for, so that plain trees need no torch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensormt.trees.batch import TreeBatch

__all__ = ["TreeBatch"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name != "TreeBatch":
        raise AttributeError(f"module 'tensormt.trees' has no attribute {name!r}")
    from tensormt.trees.batch import TreeBatch

    return TreeBatch
