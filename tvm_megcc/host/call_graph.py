"""The stack that a program needs, by what gcc says of its functions (``-fcallgraph-info=su``).

Enters: the files ``.ci`` of all objects, which have each function's frame and calls. Leaves: bytes
of the deepest chain of calls. A call by pointer is one of those that the runtime makes: of a
handler of an instruction, or of a kernel.

Example
-------
>>> graph = read(['node: { title: "f" label: "f\\\\na.c:1:1\\\\n8 bytes (static)" }'])
>>> graph.deepest("f", ())
8
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes \((\w+)', re.M)
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.M)
_POINTER = "__indirect_call"

#: Bytes that a function of libgcc or of the C library takes, of which there is no file: their
#: arithmetic pushes some registers.
LIBRARY = 16


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Frames in bytes and callees, by function; a static function's name begins with its file's."""

    frames: dict[str, int] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)

    def deepest(self, function: str, kernels: Collection[str]) -> int:
        """Bytes of stack below the caller of a function."""
        return self._deepest(function, frozenset(kernels), frozenset(), {})

    def _deepest(
        self,
        function: str,
        kernels: frozenset[str],
        above: frozenset[str],
        known: dict[str, int],
    ) -> int:
        if function in known:
            return known[function]
        if function not in self.frames:
            return LIBRARY
        above |= {function}
        below = [
            self._deepest(callee, kernels, above, known)
            for callee in self._callees(function, kernels)
            if callee not in above
        ]
        known[function] = self.frames[function] + max(below, default=0)
        return known[function]

    def _callees(self, function: str, kernels: frozenset[str]) -> Iterator[str]:
        for callee in self.calls.get(function, ()):
            if callee != _POINTER:
                yield callee
            elif "megcc_op_call" in function or function == "megcc_call":
                yield from kernels & self.frames.keys()
            elif function == "megcc_run":
                yield from self._handlers("run")
            elif function == "megcc_model_open" or "megcc_model.c:" in function:
                yield from self._handlers("check")
            else:  # a kernel's own: functions of its file
                file = function.rpartition(":")[0]
                yield from (f for f in self.frames if file and f.startswith(f"{file}:"))

    def _handlers(self, name: str) -> Iterator[str]:
        return (f for f in self.frames if re.fullmatch(rf".*megcc_op_\w+\.c:{name}", f))


def read(texts: Iterable[str]) -> CallGraph:
    """The graph of a program of several files."""
    graph = CallGraph()
    for text in texts:
        for name, size, _ in _NODE.findall(text):
            graph.frames[name] = int(size)
        for caller, callee in _EDGE.findall(text):
            graph.calls.setdefault(caller, set()).add(callee)
    return graph
