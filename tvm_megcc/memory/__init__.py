"""Memory planning: a pure ``Problem -> Solution``, its validator, and its use on a `Program`."""

from tvm_megcc.memory.below import BelowOrder, addresses, below_order, validate_order
from tvm_megcc.memory.block import Gap, Interval
from tvm_megcc.memory.lifetimes import problem_of
from tvm_megcc.memory.place import place
from tvm_megcc.memory.pools import PoolSolution, check_pools, plan_pools, validate_pools
from tvm_megcc.memory.portfolio import PLANNERS, DoesNotFit, check_planner, order, plan
from tvm_megcc.memory.problem import (
    Problem,
    Solution,
    live_bytes,
    lower_bound,
    peak_step,
    validate,
)
from tvm_megcc.memory.stacking import arena_bytes, stack

__all__ = [
    "PLANNERS", "BelowOrder", "DoesNotFit", "Gap", "Interval", "PoolSolution", "Problem",
    "Solution", "addresses", "arena_bytes", "below_order",
    "check_planner", "check_pools", "live_bytes", "lower_bound", "order",
    "peak_step", "place", "plan", "plan_pools", "problem_of", "stack", "validate",
    "validate_order", "validate_pools",
]  # fmt: skip
