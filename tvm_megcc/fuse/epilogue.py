"""Epilogues of an operator within its kernel: bias, residual, activation, one step at a time.

A step looks at the users of the value so far, and gives a later value that a kernel could compute
instead. An anchor lists the steps of its operator; the kernels' headers limit the combinations.
`rescale.py` has the steps after sums of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.fuse.activation import REACH, over_any_by_root
from tvm_megcc.fuse.graph import Graph
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import dtype_of

_ADD = "relax.add"


@dataclass(frozen=True, slots=True)
class Tail:
    """Operations of a kernel on the operator's value before it is stored.

    Attributes
    ----------
    bias : constant, or None
    residual : Expr, or None
        Added before the activation, or ``after`` it.
    act, act_a, act_b
        Code and parameters of the activation (``codegen_c/include/megcc_act_codes.h``), 0 for none.
    scale, offset : Expr, or None
        Factor that makes a real number of an integer sum, and summand after it
        (`tvm_megcc.fuse.rescale`).
    divisor : Expr, or None
        Divisor of a real number, before `offset` is added.
    stored : Call, or None
        The ``relax.quantize`` that makes 8 bits of the number.
    axes : tuple of int
        The permutation in which the value is stored; none for its own order.
    """

    bias: relax.Expr | None = None
    residual: relax.Expr | None = None
    after: bool = False
    act: int = 0
    act_a: float = 0.0
    act_b: float = 0.0
    scale: relax.Expr | None = None
    offset: relax.Expr | None = None
    divisor: relax.Expr | None = None
    stored: relax.Call | None = None
    axes: tuple[int, ...] = ()

    @property
    def activation(self) -> dict[str, int | float]:
        """The facts ``act``, ``act_a`` and ``act_b``."""
        return {"act": self.act, "act_a": self.act_a, "act_b": self.act_b}

    @property
    def facts(self) -> dict[str, int | float]:
        """Those of the activation, and ``residual``: 0 none, 1 before the activation, 2 after."""
        where = 0 if self.residual is None else 2 if self.after else 1
        return {**self.activation, "residual": where}

    @property
    def operands(self) -> dict[str, relax.Expr]:
        """The residual, where there is one."""
        return {} if self.residual is None else {"residual": self.residual}


PLAIN = Tail()


@dataclass(frozen=True, slots=True)
class Grown:
    """An operator with some steps behind it.

    Attributes
    ----------
    value : Var
        The value computed so far.
    inside : frozenset of Var
        The values of all calls in the kernel call, the last one included.
    swapped : bool
        Whether the operator's value is the right operand of the sum with the residual; where both
        operands could be the operator, the left one is taken.
    """

    value: relax.Var
    inside: frozenset[relax.Var]
    tail: Tail = PLAIN
    swapped: bool = False


#: Graph, the operator's own value, state so far -> states after one more step.
Step = Callable[[Graph, relax.Var, Grown], Iterator[Grown]]


def bias(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """Extend `grown` by a sum with a constant, if that comes next."""
    if grown.tail != PLAIN:
        return
    for user, other, _ in sums(graph, grown.value):
        if isinstance(other, GenericConst):
            yield extended(grown, user, replace(grown.tail, bias=other))


def residual(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """Extend `grown` by a sum with a tensor of the same shape, if that comes next."""
    tail = grown.tail
    if tail.residual is not None:
        return
    for user, other, right in sums(graph, grown.value):
        same = graph.shape_of(other) == graph.shape_of(origin) and dtype_of(other) == dtype_of(
            origin
        )
        if same and other not in grown.inside:
            added = replace(tail, residual=other, after=bool(tail.act))
            yield replace(extended(grown, user, added), swapped=right)


def activation(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """Extend `grown` by an activation of one or more operators, if that comes next."""
    if grown.tail.act or grown.tail.after:
        return
    x, by_root = over_any_by_root()
    for root in graph.reached(grown.value, REACH):
        for act in by_root.get(op_name(graph.values[root]), ()):
            found = graph.matched(act.output, root)
            if found is None or graph.operand(found.parts[x]) != grown.value:
                continue
            read = act.parameters({name: found.parts[p] for name, p in act.parts.items()})
            if read is not None:
                tail = replace(grown.tail, act=act.code, act_a=read[0], act_b=read[1])
                yield Grown(root, grown.inside | found.calls, tail, grown.swapped)


def grow(
    graph: Graph, origin: relax.Var, inside: frozenset[relax.Var], steps: tuple[Step, ...]
) -> Iterator[Grown]:
    """All states of an operator: alone, then with every chain of its steps."""
    waiting = [Grown(origin, inside)]
    while waiting:
        grown = waiting.pop(0)
        yield grown
        for step in steps:
            waiting += step(graph, origin, grown)


def sums(graph: Graph, value: relax.Var) -> Iterator[tuple[relax.Var, relax.Expr, bool]]:
    """Sums of a value: variable, other operand, whether the value is the right operand."""
    for user in graph.users_of(value):
        call = graph.values[user]
        if op_name(call) != _ADD:
            continue
        lhs, rhs = call.args
        right = lhs != value
        yield user, lhs if right else rhs, right


def extended(grown: Grown, user: relax.Var, tail: Tail) -> Grown:
    """The state with one more call."""
    return Grown(user, grown.inside | {user}, tail, grown.swapped)
