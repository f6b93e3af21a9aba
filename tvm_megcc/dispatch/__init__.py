"""Graph dispatch: one function per bucket of sizes, or per listed shape, in one module.

What imports TVM is imported on first use, so that buckets can be read without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tvm_megcc.dispatch.buckets import MAX_BUCKETS
from tvm_megcc.dispatch.dispatchers import log_dispatcher, uniform_dispatcher
from tvm_megcc.dispatch.plan import DispatchPlan, plan_of

if TYPE_CHECKING:
    from tvm_megcc.dispatch.relax_module import FALLBACKS, dispatch, list_shapes

__all__ = [
    "FALLBACKS", "MAX_BUCKETS", "DispatchPlan", "dispatch", "list_shapes", "log_dispatcher",
    "plan_of", "uniform_dispatcher",
]  # fmt: skip

_OF_TVM = ("FALLBACKS", "dispatch", "list_shapes")


def __getattr__(name: str) -> Any:
    if name in _OF_TVM:
        return getattr(import_module(f"{__name__}.relax_module"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
