"""Liveness of the tensors that a Relax function allocates, for `PlanMemory`.

Enters: a function after ``CallTIRRewrite`` (allocations and destination-passing calls). Leaves: an
`Allocation` per ``R.builtin.alloc_tensor`` that may share memory. Bindings are numbered in program
order, branches of an ``If`` one after the other; a tensor is live from the first call that touches
it to the last, through all its aliases (other variables, tuples, views, results that may be it).

A tensor that escapes (returned, captured by a closure, an ``If`` condition, an argument of an
unknown operator) is no `Allocation`, and stays as TVM has it.

Example
-------
>>> [a.var.name for a in allocations(mod, mod["main"])]  # doctest: +SKIP
['alloc', 'alloc1']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import tvm
from tvm import relax, tirx

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.traits import named
from tvm_megcc.tvm_memory.bounds import Bounds

#: Numbers of the allocations that a value may be, or one alias per field of a tuple.
Alias: TypeAlias = "frozenset[int] | tuple[Alias, ...]"
NONE: Alias = frozenset()

#: Operators whose result has the bytes of their first argument, which they do not read.
VIEWS = named("reshape memory.view")
#: Operators that read a tensor and keep nothing of it; True: TVM's code for it ignores the offset.
READERS = {
    "relax.shape_of": False,
    "relax.tensor_to_shape": True,
    "relax.memory.kill_tensor": False,
    "relax.print": True,
    "relax.assert_op": True,
}
#: Operators without tensors to keep.
NEUTRAL = named("""
    builtin.alloc_tensor memory.alloc_storage memory.alloc_tensor memory.kill_storage null_value
""")
_EXTERNAL_RESHAPE = "vm.builtin.reshape"


@dataclass(frozen=True, slots=True)
class Allocation:
    """A tensor to place: ``var`` is bound to its ``alloc_tensor``, at place `home` in the code.

    `size` is in bytes, an int where shape or upper bounds say it. The tensor is touched in steps
    ``first <= step < last``, by the PrimFuncs `consumers`; where `rigid`, also by something that
    wants byte offset zero. `home` numbers the sequence of bindings it is in, 0 for the outermost.
    """

    var: relax.Var
    size: int | tirx.PrimExpr
    dtype: str
    device: int
    scope: str
    home: int
    first: int
    last: int
    consumers: frozenset[str]
    rigid: bool


@dataclass(frozen=True, slots=True)
class KernelCall:
    """The call of PrimFunc `name` at `step`."""

    step: int
    name: str
    call: relax.Call


def analyse(mod: tvm.IRModule, func: relax.Function) -> Liveness:
    """Find the liveness of the tensors of `func`."""
    walker = Liveness(mod, Bounds(func))
    walker.escape(walker.sequence(func.body))
    return walker


def allocations(mod: tvm.IRModule, func: relax.Function) -> list[Allocation]:
    """The tensors of `func` that may share memory, in program order."""
    return [root.freeze() for root in analyse(mod, func).roots if not root.escaped]


@dataclass(eq=False, slots=True)
class Root:
    """An `Allocation` in the making; `touched` are the steps of the calls that use it."""

    var: relax.Var
    size: int | tirx.PrimExpr
    dtype: str
    device: int
    scope: str
    home: int
    step: int
    touched: list[int] = field(default_factory=list)
    consumers: set[str] = field(default_factory=set)
    rigid: bool = False
    escaped: bool = False

    def freeze(self) -> Allocation:
        touched = self.touched or [self.step]  # never used: TVM still checks that it would fit
        return Allocation(
            self.var, self.size, self.dtype, self.device, self.scope, self.home,
            min(touched), max(touched) + 1, frozenset(self.consumers), self.rigid,
        )  # fmt: skip


class Liveness:
    """Tensors of a function (`roots`, in program order), and its `calls` of PrimFuncs."""

    def __init__(self, mod: tvm.IRModule, bounds: Bounds) -> None:
        self.mod = mod
        self.bounds = bounds
        self.roots: list[Root] = []
        self.calls: list[KernelCall] = []
        self.bound_at: dict[relax.Var, int] = {}
        self.aliases: dict[relax.Var, Alias] = {}
        #: Variables that are an allocation or a view of it for certain, not just perhaps.
        self.owners: dict[relax.Var, Root] = {}
        self.step = 0
        self.homes: list[int] = []
        self.home_count = 0

    def sequence(self, seq: relax.Expr) -> Alias:
        """Visit a sequence of bindings; return the alias of its result."""
        if not isinstance(seq, relax.SeqExpr):
            return self.value(seq)
        self.homes.append(self.home_count)
        self.home_count += 1
        for block in seq.blocks:
            for binding in block.bindings:
                self.step += 1
                self.bound_at[binding.var] = self.step
                if not self._is_allocated(binding):
                    self.aliases[binding.var] = self.value(binding.value)
                    self._own(binding)
        self.homes.pop()
        return self.value(seq.body)

    def escape(self, alias: Alias) -> None:
        for root in self._roots(alias):
            root.escaped = True

    def may_be(self, expr: relax.Expr) -> list[Root]:
        """The tensors that `expr` may be or hold; calls do not count."""
        return [] if isinstance(expr, relax.Call) else self._roots(self.value(expr))

    def value(self, expr: relax.Expr) -> Alias:
        """Alias of `expr`; its calls touch their operands."""
        if isinstance(expr, relax.Tuple):
            return tuple(self.value(f) for f in expr.fields)
        if isinstance(expr, relax.TupleGetItem):
            whole = self.value(expr.tuple_value)
            return whole[expr.index] if isinstance(whole, tuple) else whole
        if isinstance(expr, relax.If):
            self.escape(self.value(expr.cond))  # the VM reads a condition without its offset
            return _either(self.sequence(expr.true_branch), self.sequence(expr.false_branch))
        if isinstance(expr, relax.SeqExpr):
            return self.sequence(expr)
        if isinstance(expr, relax.Function):
            for var in relax.analysis.free_vars(expr):
                self.escape(self.aliases.get(var, NONE))
            return NONE
        if isinstance(expr, relax.Call):
            return self._call(expr)
        return self.aliases.get(expr, NONE) if isinstance(expr, relax.Var) else NONE

    def _is_allocated(self, binding: relax.Binding) -> bool:
        """Note the tensor of `binding`, if it allocates one that can be planned."""
        call = binding.value
        if isinstance(binding, relax.MatchCast) or op_name(call) != "relax.builtin.alloc_tensor":
            return False
        shape, dtype, device, scope = call.args
        if not isinstance(shape, relax.ShapeExpr) or not isinstance(device, tirx.IntImm):
            return False
        if scope.value != "global" or not self._is_plain(int(device)):
            return False
        size = self.bounds.size(shape.values, str(dtype.value))
        self.roots.append(
            Root(binding.var, size, str(dtype.value), int(device), scope.value,
                  self.homes[-1], self.step)
        )  # fmt: skip
        self.aliases[binding.var] = frozenset([len(self.roots) - 1])
        self.owners[binding.var] = self.roots[-1]
        return True

    def _own(self, binding: relax.Binding) -> None:
        value = binding.value
        if isinstance(value, relax.Call) and value.args and _is_view(value.op):
            value = value.args[0]
        if isinstance(value, relax.Var) and value in self.owners:
            self.owners[binding.var] = self.owners[value]

    def _is_plain(self, device: int) -> bool:
        """Whether memory of the device is flat (textures have layouts of their own)."""
        devices = self.mod.global_infos.get("vdevice", ())
        return not 0 <= device < len(devices) or devices[device].memory_scope in ("", "global")

    def _call(self, call: relax.Call) -> Alias:
        arguments = [self.value(a) for a in call.args]
        op = call.op
        if _is_view(op):
            return arguments[0]
        if isinstance(op, tvm.ir.Op):
            return self._operator(op.name, call, arguments)
        if _is_kernel(self.mod, op):
            self._touch(arguments, consumer=op.name_hint)
            self.calls.append(KernelCall(self.step, op.name_hint, call))
            return NONE
        if isinstance(op, relax.ExternFunc) or (
            isinstance(op, relax.GlobalVar) and not keeps(self.mod, op)
        ):
            self._touch(arguments)
            return self._flat(arguments) if _may_hold_tensor(call.ty) else NONE
        self.escape(tuple(arguments))
        return NONE

    def _operator(self, name: str, call: relax.Call, arguments: list[Alias]) -> Alias:
        if name == "relax.memory.ensure_zero_offset":
            self._touch(arguments)
            return arguments[0]
        if name == "relax.vm.call_tir_dyn" and _is_kernel(self.mod, call.args[0]):
            self._touch(arguments[1:], consumer=call.args[0].name_hint)
        elif name in READERS:
            self._touch(arguments, rigid=READERS[name])
        elif name not in NEUTRAL:
            self.escape(tuple(arguments))
        return NONE

    def _touch(
        self, arguments: Iterable[Alias], consumer: str | None = None, rigid: bool = True
    ) -> None:
        for root in self._roots(tuple(arguments)):
            root.touched.append(self.step)
            if consumer is not None:
                root.consumers.add(consumer)
            elif rigid:
                root.rigid = True

    def _roots(self, alias: Alias) -> list[Root]:
        return [self.roots[i] for i in sorted(self._flat([alias]))]

    def _flat(self, aliases: Iterable[Alias]) -> frozenset[int]:
        found: set[int] = set()
        for alias in aliases:
            found |= self._flat(alias) if isinstance(alias, tuple) else alias
        return frozenset(found)


def keeps(mod: tvm.IRModule, gvar: relax.GlobalVar, callers: tuple[str, ...] = ()) -> bool:
    """Whether a Relax function may hold an argument beyond its return, other than as its result."""
    func = mod[gvar] if gvar in mod.functions else None
    if not isinstance(func, relax.Function):
        return True
    if gvar.name_hint in callers:
        return False  # recursion: the first visit decides
    unknown = False

    def visit(expr: relax.Expr) -> None:
        nonlocal unknown
        if isinstance(expr, relax.Function):
            unknown = True
        elif isinstance(expr, relax.Call) and not unknown:
            op = expr.op
            if isinstance(op, tvm.ir.Op):
                known = VIEWS | READERS.keys() | NEUTRAL
                known |= {"relax.memory.ensure_zero_offset", "relax.vm.call_tir_dyn"}
                unknown = op.name not in known
            elif isinstance(op, relax.GlobalVar):
                if not _is_kernel(mod, op):
                    unknown = keeps(mod, op, (*callers, gvar.name_hint))
            else:
                unknown = not isinstance(op, relax.ExternFunc)

    relax.analysis.post_order_visit(func.body, visit)
    return unknown


def _is_view(op: relax.Expr) -> bool:
    if isinstance(op, relax.ExternFunc):
        return bool(op.global_symbol == _EXTERNAL_RESHAPE)
    return isinstance(op, tvm.ir.Op) and op.name in VIEWS


def _is_kernel(mod: tvm.IRModule, op: relax.Expr) -> bool:
    return isinstance(op, relax.GlobalVar) and isinstance(mod.functions.get(op), tirx.PrimFunc)


def _either(a: Alias, b: Alias) -> Alias:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_either(x, y) for x, y in zip(a, b, strict=True))
    return _leaves(a) | _leaves(b)


def _leaves(alias: Alias) -> frozenset[int]:
    if isinstance(alias, tuple):
        return frozenset().union(*(_leaves(a) for a in alias))
    return alias


def _may_hold_tensor(ty: tvm.ir.Type) -> bool:
    if isinstance(ty, relax.TupleType):
        return any(_may_hold_tensor(t) for t in ty.fields)
    return not isinstance(ty, (relax.ShapeType, tvm.ir.PrimType))
