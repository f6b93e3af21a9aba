"""Every pass of this package under one name, as ``tvm.relax.transform`` has TVM's.

Example
-------
>>> import tvm_megcc
>>> tvm.transform.Sequential([..., tvm_megcc.transform.PlanMemory(), ...])(mod)  # doctest: +SKIP
"""

from tvm_megcc import passes as _passes
from tvm_megcc.passes import *  # noqa: F403
from tvm_megcc.passes.plan_memory import PlanMemory

__all__ = ["PlanMemory", *(name for name in _passes.__all__ if name != "PlanMemory")]
