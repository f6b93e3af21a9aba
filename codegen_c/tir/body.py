"""The C text of one function as it grows: its lines, fresh names, and temporaries."""

from __future__ import annotations

from dataclasses import dataclass, field

import tvm

from . import c_sizes
from .c_exprs import ExprPrinter

_ALIGNMENT = 64


@dataclass
class Workspace:
    """Temporaries of the workspace in the order of their first declaration."""

    lines: list[str] = field(default_factory=list)
    fixed: int = 0
    #: Sizes that depend on symbolic dims, rounded up: in Python and in C.
    symbolic: list[tuple[str, str]] = field(default_factory=list)

    def place(self, name: str, ctype: str, extent: c_sizes.Size, item: int) -> None:
        """Reserve `extent` elements for the pointer `name`."""
        offset = " + ".join([str(self.fixed), *(c for _, c in self.symbolic)])
        start = f"(void *)((unsigned char *)workspace + {offset})"
        self.lines.append(f"{ctype} *restrict {name} = ({ctype} *){start};")
        if extent.value is not None:
            self.fixed += -(-extent.value * item // _ALIGNMENT) * _ALIGNMENT
        else:
            python, c = (
                f"({text} * {item} + {_ALIGNMENT - 1}) {slash} {_ALIGNMENT} * {_ALIGNMENT}"
                for text, slash in ((extent.text, "//"), (extent.c, "/"))
            )
            self.symbolic.append((python, c))


class Body:
    """The lines of one function; ``symbols`` are the C names of its symbolic sizes."""

    def __init__(self, exprs: ExprPrinter, symbols: dict[tvm.ir.Var, str]) -> None:
        self.exprs = exprs
        self.symbols = symbols
        self.workspace = Workspace()
        self.lines: list[str] = []
        self.indent = 1
        self._counters: dict[str, int] = {}

    def fresh(self, kind: str) -> str:
        """The next canonical name: ``i0, i1, ...`` for loops, ``v`` values, ``t`` buffers."""
        n = self._counters.get(kind, 0)
        self._counters[kind] = n + 1
        return f"{kind}{n}"

    def put(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)
