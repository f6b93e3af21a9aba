"""Preprocessor conditions that tell a package's architectures apart.

Machines of one architecture are in one program, so conditions are about architectures only; which
of its machines serves is chosen when a model is opened.
"""

from __future__ import annotations

from collections.abc import Collection

from tvm_megcc.core.machine import ROWS, machine

_NOTHING = """\
#else
typedef int megcc_not_for_this_machine;  // C99 has no file without a declaration
"""


def condition(machines: Collection[str], package: Collection[str]) -> str | None:
    """When code for ``machines`` of a package for ``package`` is compiled; None means always.

    >>> condition(["arm64"], ["arm64", "portable"])
    'defined(__aarch64__)'
    >>> condition(["portable"], ["arm64", "portable"])
    '!defined(__aarch64__)'
    """
    mine, all_ = ({machine(name).arch.name for name in names} for names in (machines, package))
    if mine == all_:
        return None
    if "portable" in mine:
        return " && ".join(f"!{ROWS[a].macro}" for a in sorted(all_ - mine))
    return " || ".join(ROWS[a].macro for a in sorted(mine))


def wrap(text: str, archs: Collection[str], package: Collection[str]) -> str:
    """A file's ``text`` between ``#if`` and ``#endif`` where it is not for all of the package."""
    test = condition(archs, package)
    return text if test is None else f"#if {test}\n{text}{_NOTHING}#endif  // {test}\n"


def chain(parts: dict[str, str], otherwise: str = "") -> str:
    """``#if ... #elif ... #else`` over per-architecture texts; portable comes last.

    ``otherwise`` is the text for machines that the package was not compiled for.
    """
    lines: list[str] = []
    for arch in sorted(a for a in parts if a != "portable"):
        test = ROWS[arch].macro
        lines.append(f"#{'elif' if lines else 'if'} {test}  // {arch}\n{parts[arch]}")
    rest = parts.get("portable", otherwise)
    if not lines:
        return rest
    return "".join(lines) + (f"#else\n{rest}" if rest else "") + "#endif\n"


def within(text: str, package: Collection[str]) -> str:
    """``text`` for the machines of a package alone; all there are where one is portable."""
    archs = {machine(name).arch.name for name in package}
    if "portable" in archs:
        return text
    return f"#if {' || '.join(ROWS[a].macro for a in sorted(archs))}\n{text}#endif\n"


def refusal(archs: Collection[str]) -> str:
    """An ``#error`` that names the architectures of a package and a compiler for the first.

    >>> refusal(["cortexm"]).strip()
    '#error "this package is for cortexm: build it with CC=arm-none-eabi-gcc"'
    """
    names = sorted(archs)
    compiler = next((ROWS[name].compiler for name in names if ROWS[name].compiler), "")
    remedy = f": build it with CC={compiler}" if compiler else ""
    return f'#error "this package is for {", ".join(names)}{remedy}"\n'
