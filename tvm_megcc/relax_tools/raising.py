"""Registration of our errors with TVM, which turns unknown ones into ``RuntimeError`` in C++."""

from __future__ import annotations

from tvm_ffi import register_error

from tvm_megcc import errors


def register() -> None:
    """Make our errors known to TVM; further calls do nothing."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.MegccError):
            register_error(f"tvm_megcc.{kind.__name__}", kind)
