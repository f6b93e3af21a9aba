"""Where in a function the catalogue's rows match, and which kernel serves each match.

Enters: a Relax function. Leaves: matches that do not overlap: the variable that a kernel will
compute, the request made of the match, and the kernel chosen for it.

TVM's ``FuseOpsByPattern`` does the same from the same patterns, but hands every attempt a map of
the whole function: 280 s for the 7,700 bindings of `gtcrn_stream`, where a map of the
neighbourhood takes two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import tvm
from tvm import relax
from tvm.relax.dpl.pattern import CallPattern

from tvm_megcc.dims import Undecided, is_static
from tvm_megcc.kernels import catalogue, registry
from tvm_megcc.kernels.request import Request, Row, shape_of
from tvm_megcc.kernels.slices import slice_of
from tvm_megcc.passes.channels_last import BROADCAST, UNARY
from tvm_megcc.shape_exprs import symbols_of

#: Calls that a pattern may reach from its root: no row is deeper.
DEPTH = 8

_SLICE = "relax.strided_slice"

Values = Mapping[relax.Var, relax.Expr]


@dataclass(frozen=True, slots=True)
class Match:
    """`request`, served by `kernel`, in place of the call bound to `var`."""

    var: relax.Var
    request: Request
    kernel: registry.KernelFile


def find_matches(func: relax.Function, arch: str) -> dict[relax.Var, Match]:
    """All matches in `func` by the variable that they compute.

    Operators with their epilogues come first; then elementwise operators, where a row takes a whole
    chain (a longer chain is one TIR function, which passes over memory once); then slices that such
    a function does not read itself.
    """
    matcher = _Matcher(func, arch)
    rows = catalogue.rows().values()
    slices = [r for r in rows if r.root == _SLICE]
    chains = [r for r in rows if r.chain]
    with symbols_of(func):
        matcher.take([r for r in rows if not r.chain and r not in slices], lambda row, var: True)
        lengths = matcher.chain_lengths()
        matcher.take(chains, lambda row, var: lengths.get(var) == row.chain)
        matcher.take(slices, lambda row, var: not matcher.is_read_by_chains(var))
    return matcher.matches


def op_name(expr: relax.Expr | None) -> str:
    """Name of the operator that `expr` calls, or an empty string."""
    is_call = isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op)
    return expr.op.name if is_call else ""


def _variables(expr: relax.Expr) -> Iterator[relax.Var]:
    """The variables that a binding's value uses, those of nested tuples included."""
    if isinstance(expr, relax.Var):
        yield expr
    elif isinstance(expr, relax.Call):
        for arg in expr.args:
            yield from _variables(arg)
    elif isinstance(expr, relax.Tuple):
        for field in expr.fields:
            yield from _variables(field)
    elif isinstance(expr, relax.TupleGetItem):
        yield from _variables(expr.tuple_value)


def _variables_of(operands: Iterable[object]) -> list[relax.Var]:
    return [o for o in operands if isinstance(o, relax.Var)]


class _Matcher:
    def __init__(self, func: relax.Function, arch: str) -> None:
        self.arch = arch
        self.values: dict[relax.Var, relax.Expr] = dict(relax.analysis.get_var2val(func).items())
        self.bound = {value: var for var, value in self.values.items()}
        self.users: dict[relax.Var, set[relax.Var]] = {}
        for var, value in self.values.items():
            for used in _variables(value):
                self.users.setdefault(used, set()).add(var)
        self.claimed: set[relax.Var] = set()
        self.matches: dict[relax.Var, Match] = {}

    def take(self, rows: Iterable[Row], wanted: Callable[[Row, relax.Var], bool]) -> None:
        """Claim matches of `rows`, from the last binding up and the first row down."""
        by_root: dict[str, list[Row]] = {}
        for row in rows:
            by_root.setdefault(row.root, []).append(row)
        for var in reversed(self.values):
            candidates = by_root.get(op_name(self.values[var]), ())
            if not candidates or var in self.claimed:
                continue
            near = self._neighbourhood(var)
            present = {op_name(value) for value in near.values()}
            for row in candidates:
                if row.anchors <= present and wanted(row, var) and self._try(row, var, near):
                    break

    def _neighbourhood(self, root: relax.Var) -> Values:
        """The bindings that a pattern rooted at `root` can see."""
        near: dict[relax.Var, relax.Expr] = {}
        level = [root]
        for _ in range(DEPTH):
            below: list[relax.Var] = []
            for var in level:
                if var not in near and var in self.values and var not in self.claimed:
                    near[var] = self.values[var]
                    below += _variables(self.values[var])
            level = below
        return near

    def _try(self, row: Row, root: relax.Var, near: Values) -> bool:
        found = row.pattern.extract_matched_expr(self.values[root], near)
        if found is None:
            return False
        parts = {name: found[pattern] for name, pattern in row.parts.items()}
        try:
            request = row.request({**parts, "root": self.values[root]})
        except Undecided:  # the row asks what only the shapes at run time answer
            return False
        if request is None:
            return False
        operands = [self._operand(o) for o in request.operands]
        inside = {self.bound[e] for p, e in found.items() if isinstance(p, CallPattern)}
        if not self._closed(inside, root) or any(o in inside for o in _variables_of(operands)):
            return False
        kernel = registry.find(request.op, self.arch, request.facts)
        if kernel is None:
            return False
        self.claimed |= inside
        self.matches[root] = Match(
            root, Request(request.op, request.facts, tuple(operands)), kernel
        )
        return True

    def _closed(self, inside: set[relax.Var], root: relax.Var) -> bool:
        """Whether nobody else uses what the kernel will not give (it has one result)."""
        return all(
            isinstance(var, relax.DataflowVar) and self.users.get(var, set()) <= inside
            for var in inside
            if var != root
        )

    def _operand(self, expr: object) -> object:
        """An operand as a variable where it is bound to one."""
        return self.bound.get(expr, expr) if isinstance(expr, relax.Expr) else expr

    def chain_lengths(self) -> dict[relax.Var, int]:
        """Each elementwise value -> number of calls in its chain (those that touch)."""
        chain = {v for v in self.values if v not in self.claimed and self._is_elementwise(v)}
        root = {v: v for v in chain}

        def find(var: relax.Var) -> relax.Var:
            while root[var] != var:
                root[var] = var = root[root[var]]
            return var

        for var in chain:
            for used in _variables(self.values[var]):
                if used in chain:
                    root[find(used)] = find(var)
        sizes = Counter(find(v) for v in chain)
        return {v: sizes[find(v)] for v in chain}

    def is_read_by_chains(self, var: relax.Var) -> bool:
        """Whether only generated elementwise functions use `var`, a slice from a fixed element on.

        They read the slice where it is, so that there is no copy of it.
        """
        users = self.users.get(var, set())
        generated = all(u not in self.claimed and self._is_elementwise(u) for u in users)
        call = self.values[var]
        shape = shape_of(call.args[0])
        cut = slice_of(call, shape) if shape is not None else None
        return bool(users) and generated and cut is not None and is_static(cut.begins)

    def _is_elementwise(self, var: relax.Var) -> bool:
        name = op_name(self.values[var])
        return name in UNARY or name in BROADCAST
