"""Graph of a function's bindings: users of values, and matches of patterns around a value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import relax
from tvm.relax.dpl import DFPattern
from tvm.relax.dpl.pattern import CallPattern, OrPattern

from tvm_megcc.dims import Size
from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.shape_exprs import symbols_of

#: Largest depth of a pattern, in calls.
DEPTH = 8


def root_of(pattern: DFPattern) -> str:
    """Name of the operator of a pattern's last call."""
    while isinstance(pattern, OrPattern):  # alternatives are commuted forms of one operator
        pattern = pattern.left
    assert isinstance(pattern, CallPattern)
    return str(pattern.op.expr.name)


def variables(expr: relax.Expr) -> Iterator[relax.Var]:
    """Variables that an expression uses, those in nested tuples included."""
    if isinstance(expr, relax.Var):
        yield expr
    elif isinstance(expr, relax.Call):
        for arg in expr.args:
            yield from variables(arg)
    elif isinstance(expr, relax.Tuple):
        for field in expr.fields:
            yield from variables(field)
    elif isinstance(expr, relax.TupleGetItem):
        yield from variables(expr.tuple_value)


@dataclass(frozen=True, slots=True)
class Found:
    """A match of a pattern: the expression of each part, and the values of its calls."""

    parts: Mapping[DFPattern, relax.Expr]
    calls: frozenset[relax.Var]


class Graph:
    """The bindings of a function; patterns do not see `claimed` values.

    Each variable is one Python object here: looking it up compares identities. TVM's `__eq__` of
    two objects for one variable takes far longer.
    """

    def __init__(self, func: relax.Function) -> None:
        self.values: dict[relax.Var, relax.Expr] = dict(relax.analysis.get_var2val(func).items())
        self.claimed: set[relax.Var] = set()
        self.symbols = symbols_of(func)
        self._bound = {value: var for var, value in self.values.items()}
        self._users: dict[relax.Var, dict[relax.Var, None]] = {}
        self._near: dict[relax.Var, tvm_ffi.Map[relax.Var, relax.Expr]] = {}
        same = {var: var for var in self.values}
        self._used = {
            var: tuple(same.setdefault(v, v) for v in variables(value))
            for var, value in self.values.items()
        }
        for var, found in self._used.items():
            for used in found:
                self._users.setdefault(used, {})[var] = None

    def shape_of(self, expr: relax.Expr) -> tuple[Size, ...] | None:
        """As `relax_tools.exprs.shape_of`, of an expression of this function."""
        return shape_of(expr, self.symbols)

    def users_of(self, var: relax.Var) -> list[relax.Var]:
        """Values that are computed from a value, in order."""
        return list(self._users.get(var, ()))

    def operand(self, expr: object) -> object:
        """Variable to which an expression is bound, or the expression itself."""
        return self._bound.get(expr, expr) if isinstance(expr, relax.Expr) else expr

    def claim(self, calls: Iterable[relax.Var]) -> None:
        """Hide these values from patterns from now on."""
        self.claimed.update(calls)
        self._near.clear()

    def reached(self, var: relax.Var, steps: int) -> Iterator[relax.Var]:
        """Values that are computed from a value by at most `steps` calls, nearest first."""
        seen: set[relax.Var] = {var}
        level = [var]
        for _ in range(steps):
            level = [u for v in level for u in self.users_of(v) if u not in self.claimed]
            level = [u for u in dict.fromkeys(level) if u not in seen]
            seen.update(level)
            yield from level

    def matched(
        self, pattern: DFPattern, root: relax.Var, again: Collection[DFPattern] = ()
    ) -> Found | None:
        """Match a pattern whose last call is bound to `root`; do not count calls of `again`."""
        found = pattern.extract_matched_expr(self.values[root], self._around(root))
        if found is None:
            return None
        calls = (p for p in found if isinstance(p, CallPattern) and p not in again)
        return Found(found, frozenset(self._bound[found[p]] for p in calls))

    def is_closed(self, inside: frozenset[relax.Var], root: relax.Var) -> bool:
        """Whether only these calls use their values, except `root`."""
        return all(
            isinstance(var, relax.DataflowVar) and inside.issuperset(self._users.get(var, ()))
            for var in inside
            if var != root
        )

    def _around(self, root: relax.Var) -> tvm_ffi.Map[relax.Var, relax.Expr]:
        """Bindings within reach of a pattern that ends at `root`."""
        if root in self._near:
            return self._near[root]
        near: dict[relax.Var, relax.Expr] = {}
        level = [root]
        for _ in range(DEPTH):
            below: list[relax.Var] = []
            for var in level:
                if var not in near and var in self.values and var not in self.claimed:
                    near[var] = self.values[var]
                    below += self._used[var]
            level = below
        return self._near.setdefault(root, tvm_ffi.Map(near))
