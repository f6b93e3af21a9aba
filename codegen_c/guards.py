"""Preprocessor conditions that tell a package's architectures apart."""

from __future__ import annotations

from collections.abc import Collection

#: Architecture -> condition; "portable" is whatever no other architecture of the package takes.
MACROS = {
    "arm64": "defined(__aarch64__)",
    "armv7": "defined(__arm__)",
    "x86": "(defined(__x86_64__) || defined(__i386__))",
}


def condition(archs: Collection[str], package: Collection[str]) -> str | None:
    """When code for ``archs`` of a package for ``package`` is compiled; None means always.

    >>> condition(["arm64"], ["arm64", "portable"])
    'defined(__aarch64__)'
    >>> condition(["portable"], ["arm64", "portable"])
    '!defined(__aarch64__)'
    """
    if set(archs) == set(package):
        return None
    if "portable" in archs:
        return " && ".join(f"!{MACROS[a]}" for a in sorted(set(package) - set(archs)))
    return " || ".join(MACROS[a] for a in sorted(archs))


def wrap(text: str, archs: Collection[str], package: Collection[str]) -> str:
    """``text`` between ``#if`` and ``#endif`` where it is not for all of the package."""
    test = condition(archs, package)
    return text if test is None else f"#if {test}\n{text}#endif  // {test}\n"


def chain(parts: dict[str, str], otherwise: str) -> str:
    """``#if ... #elif ... #else`` over per-architecture texts; portable comes last.

    ``otherwise`` is what stands for machines that the package was not compiled for.
    """
    lines: list[str] = []
    for arch in sorted(a for a in parts if a != "portable"):
        lines.append(f"#{'elif' if lines else 'if'} {MACROS[arch]}  // {arch}\n{parts[arch]}")
    rest = parts.get("portable", otherwise)
    if not lines:
        return rest
    return "".join(lines) + f"#else\n{rest}#endif\n"
