"""The syntactic metrics of Liu & Gildea (2005): STM, TKM, HWCM, DSTM, DTKM."""

from tensormt.syntax.metrics import DSTM, DTKM, HWCM, STM, TKM

__all__ = ["DSTM", "DTKM", "HWCM", "STM", "TKM"]
