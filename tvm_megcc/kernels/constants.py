"""Numbers that C code names: codes of functions and modes, sizes of blocks.

Enters: the text of a C file or header. Leaves: the value of every ``#define`` in it, and in the
headers that it includes, which is a number or stands for one, and of every ``enum { NAME = 64 };``.
So a number that C and the compiler both need is written once, in C.

Example
-------
>>> of_text("#define BLOCK 96\\n#define HALF 48  // half of it\\n#define SIZE BLOCK\\n")
{'BLOCK': 96, 'HALF': 48, 'SIZE': 96}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from tvm_megcc.codegen_c.sources import headers

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\w+)[ \t]*(?://.*)?$", re.MULTILINE)
_ENUM = re.compile(r"^[ \t]*enum[ \t]*\{[ \t]*(\w+)[ \t]*=[ \t]*(\w+)[ \t]*\};", re.MULTILINE)
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)")


def of_text(
    text: str, without: Iterable[str] = (), given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The constants of a C text, without those that have several values, and without some names.

    A macro that an ``#if`` gives one value or another is no constant: the compiler does not know
    which one holds. What `given` says holds in place of the text.
    """
    rows = {row for part in (text, *headers([text]).values()) for row in _defines(part)}
    values: dict[str, set[str]] = {}
    for name, value in rows:
        values.setdefault(name, set()).add(value)
    single = {name: next(iter(found)) for name, found in values.items() if len(found) == 1}
    for name in without:
        single.pop(name, None)
    single |= {name: str(value) for name, value in (given or {}).items()}
    numbers = ((name, _number(name, single)) for name in sorted(single))
    return {name: number for name, number in numbers if number is not None}


@cache
def _defines(text: str) -> tuple[tuple[str, str], ...]:
    return (*_DEFINE.findall(text), *_ENUM.findall(text))


def _number(name: str, defines: dict[str, str]) -> int | None:
    """The number behind a macro, through macros that stand for others."""
    seen: set[str] = set()
    while name in defines and name not in seen:
        seen.add(name)
        name = defines[name]
    return int(name, 0) if _NUMBER.fullmatch(name) else None
