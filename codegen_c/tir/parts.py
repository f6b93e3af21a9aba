"""Parts of a generated kernel's operands that no two parts of its work share.

Enters: a flat function whose outermost loop is the kernel's work range. Leaves: for each operand,
the elements ``E`` of the smallest part that some of the work's units have to themselves: the
operand and the work are as many parts, and part ``k`` of the work touches, of the operand, none but
``[k * E, (k + 1) * E)``. An operand without such parts has 0.
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

_DIVISIONS = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)


def part_elements(func: tirx.PrimFunc, buffers: Sequence[tvm.ir.Var]) -> tuple[int, ...]:
    """Elements of the smallest part of each of `buffers`, 0 for one without parts.

    The empty tuple where sizes are not fixed, no loop is the work range, the last buffer has no
    parts, or another one is written.
    """
    loop = _work_loop(func)
    sizes = [_elements(buffer) for buffer in buffers]
    if loop is None or None in sizes or not buffers:
        return ()
    finder = _Finder(loop, aliases(func))
    finder.visit(loop.body)
    found = tuple(map(finder.part, buffers))
    others = any(buffer.same_as(w) for buffer in buffers[:-1] for w in finder.written)
    return found if found[-1] and not others else ()


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
    steps : tuple of int
        Units of a part that are tried, the least first: those by which indices divide.
    """

    def __init__(self, loop: tirx.For, alias: dict[tvm.ir.Var, tvm.ir.Var]) -> None:
        self.loop, self.alias = loop, alias
        self.analyzer = Analyzer()
        self.analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
        self.written: list[tvm.ir.Var] = []
        units = int(loop.extent.value)
        divisors = {int(d) for d in _divisors(loop.body) if 0 < d < units and units % d == 0}
        self.steps = (1, *sorted(divisors - {1}))
        #: The steps of which all accesses so far keep to their parts.
        self._kept: dict[tvm.ir.Var, tuple[int, ...]] = {}

    def part(self, buffer: tvm.ir.Var) -> int:
        """Elements of the smallest part of `buffer`, 0 if it has none or is not touched."""
        kept = self._kept.get(buffer, ())
        return self._size(buffer, kept[0]) if kept else 0

    def _size(self, buffer: tvm.ir.Var, step: int) -> int:
        """Elements of a part of so many units, 0 where these are no whole number."""
        elements = (_elements(buffer) or 0) * step
        units = int(self.loop.extent.value)
        return elements // units if elements % units == 0 else 0

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
            with self._where(self.analyzer.simplify(tirx.Not(condition))):
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
            self._kept[self._owner(var)] = ()

    def _access(self, buffer: tvm.ir.Var, indices: Sequence[tvm.ir.Expr]) -> None:
        owner = self._owner(buffer)
        kept = self._kept.get(owner, self.steps) if len(indices) == 1 else ()
        self._kept[owner] = tuple(
            step for step in kept if self._is_within(indices[0], step, self._size(owner, step))
        )

    def _is_within(self, index: tvm.ir.Expr, step: int, size: int) -> bool:
        """Whether an index is always in the part, of `size` elements, of its unit's `step`."""
        if size == 0 or _reads(index):
            return False
        dtype = str(index.ty.dtype)
        unit = self.loop.loop_var
        unit = unit if str(unit.ty.dtype) == dtype else tirx.Cast(dtype, unit)
        part = tirx.FloorDiv(unit, tirx.const(step, dtype)) if step > 1 else unit
        rest = self.analyzer.simplify(index - part * tirx.const(size, dtype), 4)
        bound = self.analyzer.const_int_bound(rest)
        return bool(bound.min_value >= 0 and bound.max_value < size)


def _divisors(body: tirx.Stmt) -> Iterator[int]:
    """The constants by which expressions are divided."""
    for node in walk(body):
        if isinstance(node, _DIVISIONS) and isinstance(node.b, tirx.IntImm):
            yield int(node.b.value)


def _reads(node: object) -> bool:
    """Whether an expression reads elements of tensors."""
    return any(isinstance(part, TensorLoad) for part in walk(node))


def _exprs(node: tvm.ir.Expr) -> Iterator[tvm.ir.Expr]:
    return (part for part in walk(node) if hasattr(part, "ty") and hasattr(part.ty, "dtype"))
