"""The syntactic metrics of Liu & Gildea (2005): STM, TKM, HWCM, DSTM, DTKM."""

from tensormt.syntax.hwcm import HWCM
from tensormt.syntax.stm import DSTM, STM
from tensormt.syntax.tkm import DTKM, TKM

__all__ = ["DSTM", "DTKM", "HWCM", "STM", "TKM"]
