"""Our errors keep their types where TVM calls us, as it calls a pass.

TVM makes a ``RuntimeError`` of an error that it does not know on its way through C++.
"""

from __future__ import annotations

from tvm_ffi import register_error

from tvm_megcc import errors


def register() -> None:
    """Make our errors known to TVM. To call it again does nothing."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.MegccError):
            register_error(f"tvm_megcc.{kind.__name__}", kind)
