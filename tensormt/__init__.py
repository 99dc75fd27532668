"""tensormt: syntactic and multi-reference evaluation of machine translation on torch tensors."""

from tensormt.errors import TensorMTError
from tensormt.syntax import DSTM, DTKM, HWCM, STM, TKM
from tensormt.trees import TreeBatch
from tensormt.version import __version__

__all__ = ["DSTM", "DTKM", "HWCM", "STM", "TKM", "TensorMTError", "TreeBatch", "__version__"]
