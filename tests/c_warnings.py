"""What compilers are asked to say of our C: nothing of it is left in a package.

``-Wfloat-equal`` is among them although floats are compared: ``megcc_kernel.h`` says that it is
meant.
"""

from __future__ import annotations

from pathlib import Path

#: What a stranger's build may turn into errors.
STRICT = (
    "-Wall", "-Wextra", "-Wpedantic", "-Wmissing-prototypes", "-Wcast-align", "-Wfloat-equal",
    "-Werror",
)  # fmt: skip
#: Of conversions that lose something, and names that hide others.
CONVERSIONS = ("-Wconversion", "-Wsign-conversion", "-Wshadow")
_GCC = ("-fstrict-aliasing", "-Wstrict-aliasing=1", "-Wcast-align=strict")


def strict(compiler: str) -> tuple[str, ...]:
    """Options of a compiler: `STRICT`, and what gcc alone has."""
    return (*STRICT, *(() if "clang" in Path(compiler).name else _GCC))
