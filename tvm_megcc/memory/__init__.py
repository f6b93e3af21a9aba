"""Memory planning: a pure ``Problem -> Solution``, its validator, and its use on a `Program`."""

from tvm_megcc.memory.place import place, plan, problem_of
from tvm_megcc.memory.problem import Interval, Problem, Solution, lower_bound, validate

__all__ = [
    "Interval", "Problem", "Solution", "lower_bound", "place", "plan", "problem_of", "validate",
]  # fmt: skip
