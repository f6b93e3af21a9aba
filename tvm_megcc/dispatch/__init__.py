"""Graph dispatch: one function per bucket of sizes, or per listed shape, in one module."""

from tvm_megcc.dispatch.buckets import MAX_BUCKETS
from tvm_megcc.dispatch.dispatchers import log_dispatcher, uniform_dispatcher
from tvm_megcc.dispatch.plan import DispatchPlan, plan_of
from tvm_megcc.dispatch.relax_module import FALLBACKS, dispatch, list_shapes

__all__ = [
    "FALLBACKS", "MAX_BUCKETS", "DispatchPlan", "dispatch", "list_shapes", "log_dispatcher",
    "plan_of", "uniform_dispatcher",
]  # fmt: skip
