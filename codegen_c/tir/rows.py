"""The operands of which a unit of a kernel's work touches a part of its own, side by side.

Enters: a flat function whose outermost loop is the kernel's work range. Leaves: for each operand,
the elements ``S`` of a unit where unit ``u`` touches none but ``[u * S, (u + 1) * S)``, else 0. So
the range ``[u, v)`` of the work computes the part ``[u * S, v * S)`` of the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod

import tvm
from tvm import tirx
from tvm.ir import Call, TensorLoad
from tvm.sym import Analyzer

from .aliasing import aliases
from .walk import children, name_of, variables, walk


def unit_elements(func: tirx.PrimFunc, buffers: Sequence[tvm.ir.Var]) -> tuple[int, ...]:
    """Elements of a unit of the work for each of `buffers`, 0 where units share elements.

    The empty tuple where sizes are not fixed, no loop is the work range, or units write elsewhere
    than in their part of the last buffer.
    """
    loop = _work_loop(func)
    sizes = [_elements(buffer) for buffer in buffers]
    if loop is None or None in sizes or not buffers:
        return ()
    finder = _Finder(loop, aliases(func))
    finder.visit(loop.body)
    found = tuple(finder.unit(b, size or 0) for b, size in zip(buffers, sizes, strict=True))
    written = [any(buffer.same_as(w) for w in finder.written) for buffer in buffers]
    return found if found[-1] and written == [*[False] * (len(buffers) - 1), True] else ()


def _work_loop(func: tirx.PrimFunc) -> tirx.For | None:
    """The only statement of the function beside declarations, where it is a parallel loop."""
    body = func.body
    parts = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    rest = [p for p in parts if not isinstance(p, tirx.DeclBuffer)]
    if len(rest) != 1 or not isinstance(rest[0], tirx.For):
        return None
    (loop,) = rest
    fixed = isinstance(loop.min, tirx.IntImm) and isinstance(loop.extent, tirx.IntImm)
    if not fixed or loop.min.value != 0 or loop.step is not None:
        return None
    return loop if loop.kind == tirx.ForKind.PARALLEL and loop.extent.value > 0 else None


def _elements(buffer: tvm.ir.Var) -> int | None:
    shape = buffer.ty.shape
    fixed = all(isinstance(extent, tirx.IntImm) for extent in shape)
    return prod(int(extent.value) for extent in shape) if fixed else None


class _Finder:
    """Looks at each access of a work loop's body, in the ranges of its loops.

    Attributes
    ----------
    written : list of Var
        Buffers that are stored to, under their first names.
    """

    def __init__(self, loop: tirx.For, alias: dict[tvm.ir.Var, tvm.ir.Var]) -> None:
        self.loop, self.alias = loop, alias
        self.analyzer = Analyzer()
        self.analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
        self.written: list[tvm.ir.Var] = []
        self._apart: dict[tvm.ir.Var, bool] = {}  # whether all accesses so far are units' own

    def unit(self, buffer: tvm.ir.Var, size: int) -> int:
        """Elements of a unit in `buffer`, 0 where it is not touched, or by units in common."""
        return self._unit(size) if self._apart.get(buffer, False) else 0

    def _unit(self, size: int) -> int:
        units = int(self.loop.extent.value)
        return size // units if size % units == 0 else 0

    def visit(self, node: object) -> None:
        """Note the accesses of `node` and of what it holds."""
        match node:
            case tirx.For():
                self.analyzer.bind(
                    node.loop_var, tvm.ir.Range.from_min_extent(node.min, node.extent)
                )
            case tirx.Bind() if not _reads(node.value):
                self.analyzer.bind(node.var, node.value)
            case tirx.IfThenElse():
                self._choose(node.condition, node.then_case, node.else_case)
                return
            case Call() if name_of(node) == "if_then_else":
                self._choose(*node.args)
                return
            case tirx.Evaluate():
                self._spoil(node.value)  # calls take buffers by their address
            case Call() if name_of(node) in ("address_of", "tvm_access_ptr"):
                self._spoil(node)
            case TensorLoad():
                self._access(node.source, node.indices)
            case tirx.BufferStore():
                self.written.append(self._owner(node.buffer))
                self._access(node.buffer, node.indices)
        for child in children(node):
            self.visit(child)

    def _choose(self, condition: tvm.ir.Expr, then: object, other: object) -> None:
        self.visit(condition)
        with self._where(condition):
            self.visit(then)
        if other is not None:
            with self._where(tirx.Not(condition)):
                self.visit(other)

    def _where(self, condition: tvm.ir.Expr) -> AbstractContextManager[object]:
        """Take a condition on loop variables for granted."""
        if any(_reads(part) or "float" in str(part.ty.dtype) for part in _exprs(condition)):
            return nullcontext()
        return self.analyzer.constraint_scope(condition)  # type: ignore[no-any-return]

    def _owner(self, buffer: tvm.ir.Var) -> tvm.ir.Var:
        return self.alias.get(buffer, buffer)

    def _spoil(self, node: object) -> None:
        for var in variables(node):
            self._apart[self._owner(var)] = False

    def _access(self, buffer: tvm.ir.Var, indices: Sequence[tvm.ir.Expr]) -> None:
        owner = self._owner(buffer)
        size = _elements(owner)
        mine = self._apart.get(owner, True) and len(indices) == 1 and size is not None
        self._apart[owner] = mine and self._is_own(indices[0], self._unit(size or 0))

    def _is_own(self, index: tvm.ir.Expr, unit: int) -> bool:
        """Whether an index is always within the part of `unit` elements of its turn."""
        if unit == 0 or _reads(index):
            return False
        dtype = str(index.ty.dtype)
        turn = tirx.Cast(dtype, self.loop.loop_var)
        rest = self.analyzer.simplify(index - turn * tirx.const(unit, dtype), 4)
        bound = self.analyzer.const_int_bound(rest)
        return bool(bound.min_value >= 0 and bound.max_value < unit)


def _reads(node: object) -> bool:
    """Whether an expression reads elements of tensors."""
    return any(isinstance(part, TensorLoad) for part in walk(node))


def _exprs(node: tvm.ir.Expr) -> Iterator[tvm.ir.Expr]:
    return (part for part in walk(node) if hasattr(part, "ty") and hasattr(part.ty, "dtype"))
