"""Memory planning: a pure ``Problem -> Solution``, its validator, and its use on a `Program`."""

from tvm_megcc.memory.below import BelowOrder, addresses, below_order, order, validate_order
from tvm_megcc.memory.place import place, problem_of
from tvm_megcc.memory.portfolio import PLANNERS, DoesNotFit, plan
from tvm_megcc.memory.problem import (
    Gap,
    Interval,
    Problem,
    Solution,
    lower_bound,
    peak_step,
    validate,
)

__all__ = [
    "PLANNERS", "BelowOrder", "DoesNotFit", "Gap", "Interval", "Problem", "Solution", "addresses",
    "below_order", "lower_bound", "order", "peak_step", "place", "plan", "problem_of", "validate",
    "validate_order",
]  # fmt: skip
