"""Materialised Relax -> `Program`: the last place that knows TVM.

Enters: a module as `tvm_megcc.passes.pipeline` leaves it. Leaves: a `Program` without addresses;
``memory.place`` gives them.

Example
-------
>>> program = lower(mod, "arm64", "model", ["x"], ["y"])  # doctest: +SKIP
"""

from tvm_megcc.lower.lowering import lower, symbols_in

__all__ = ["lower", "symbols_in"]
