"""Expressions over facts, as they stand in a kernel's header comment (``when``, ``work``, ...).

Enters: a line of text such as ``g == 1 and ic % 8 == 0``. Leaves: a function of a fact dict. Facts
may be symbolic sizes: then so is the value, and a condition that their bounds do not decide raises
`tvm_megcc.dims.Undecided`, except where it only chooses between two sizes.

Example
-------
>>> Expression("n * oh")({"n": 2, "oh": 7})
14
>>> from tvm_megcc.dims import symbol
>>> Expression("n if n != 1 else 8")({"n": symbol("n")}).at({"n": 1})
8
>>> Expression("ceil(n, 8) + up(n, 8)")({"n": 9})
18
>>> tiles = Expression("n * ceil(oh, TILE)", {"TILE": 4})
>>> Expression("2 * tiles", lets={"tiles": tiles})({"n": 3, "oh": 5})
12
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from tvm_megcc import dims
from tvm_megcc.core import dtypes
from tvm_megcc.dims import Dim, Size

Fact = int | float | str | Dim
Facts = Mapping[str, Fact]

_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt,
    ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Tuple, ast.Name, ast.Load, ast.Constant,
    ast.IfExp, ast.Call,
)  # fmt: skip


def _equal(a: Fact, b: Fact) -> Size:
    if isinstance(a, int | Dim) and isinstance(b, int | Dim):
        return dims.compare("eq", a, b)
    return int(a == b)


def _less(a: Size, b: Size) -> Size:
    return dims.compare("lt", a, b) if isinstance(a, Dim) or isinstance(b, Dim) else int(a < b)


def _select(condition: Fact, then: Callable[[], Size], other: Callable[[], Size]) -> Size:
    if isinstance(condition, Dim):
        return dims.select(condition, then(), other())
    return then() if condition else other()


_COMPARE: dict[type, Callable[[Size, Size], Size]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda a, b: 1 - _equal(a, b),
    ast.Lt: _less,
    ast.LtE: lambda a, b: 1 - _less(b, a),
    ast.Gt: lambda a, b: _less(b, a),
    ast.GtE: lambda a, b: 1 - _less(a, b),
}


def _sizeof(dtype: str) -> Size:
    """Bytes of an element of a type."""
    return dtypes.nbytes(dtype, 1)


def _up(a: Size, b: Size) -> Size:
    """The least multiple of `b` that is not below `a`."""
    return dims.ceildiv(a, b) * b


_FUNCTIONS = {
    "min": dims.minimum, "max": dims.maximum, "ceil": dims.ceildiv, "up": _up, "sizeof": _sizeof,
}  # fmt: skip
#: Their names for a message.
_CALLABLE = f"{', '.join([*_FUNCTIONS][:-1])} and {[*_FUNCTIONS][-1]}"
_SCOPE = {
    "__builtins__": {},
    **_FUNCTIONS,
    "_select": _select,
    **{f"_{kind.__name__}": function for kind, function in _COMPARE.items()},
}


class _Symbolic(ast.NodeTransformer):
    """Comparisons and choices as calls of the functions above, which know symbolic sizes.

    A `let` name becomes its formula, so that a branch that is not taken is not computed.
    """

    def __init__(self, lets: Mapping[str, Expression]) -> None:
        self.lets = lets

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.lets[node.id].tree if node.id in self.lets else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(arg) for arg in node.args]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return node
        tests: list[ast.expr] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            tests.append(_call(f"_{type(op).__name__}", left, right))
            left = right
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call("_select", node.test, _delayed(node.body), _delayed(node.orelse))


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _delayed(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, value)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression; calling it with facts gives its value.

    Attributes
    ----------
    text : str
    constants : mapping
        Numbers that the text may name besides facts, as C code defines them.
    lets : mapping
        Formulas that the text may name.
    names : frozenset of str
        The facts that it names, itself or in a formula.

    Raises
    ------
    ValueError
        When the text is not an expression or uses more than names, constants, arithmetic,
        comparisons, ``and or not``, ``a if c else b``, and calls of ``min``, ``max``, ``ceil``,
        ``up`` and ``sizeof``.
    KeyError
        (call) When a fact that it names is missing.
    tvm_megcc.dims.Undecided
        (call) When ``and``, ``or`` or ``not`` meets a condition that depends on the shapes.
    """

    text: str
    constants: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    lets: Mapping[str, Expression] = field(default_factory=dict, repr=False, compare=False)
    tree: ast.expr = field(init=False, repr=False, compare=False)
    code: CodeType = field(init=False, repr=False, compare=False)
    names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text, mode="eval")
        except SyntaxError as error:
            raise ValueError(f"{self.text!r} is not an expression: {error.msg}") from None
        names = set()
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED):
                raise ValueError(f"{self.text!r}: {type(node).__name__} is not allowed here")
            if isinstance(node, ast.Call) and not (
                isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
            ):
                raise ValueError(f"{self.text!r}: only {_CALLABLE} can be called")
            if isinstance(node, ast.Name) and node.id not in _FUNCTIONS:
                names.add(node.id)
        symbolic = ast.fix_missing_locations(_Symbolic(self.lets).visit(tree))
        lets = {n: self.lets[n] for n in sorted(names & self.lets.keys())}
        numbers = {n: self.constants[n] for n in sorted(names & self.constants.keys())}
        facts = names - lets.keys() - numbers.keys()
        object.__setattr__(self, "tree", symbolic.body)
        object.__setattr__(self, "code", compile(symbolic, "<kernel header>", "eval"))
        object.__setattr__(self, "lets", lets)
        for let in lets.values():
            numbers |= let.constants
            facts |= let.names
        object.__setattr__(self, "constants", numbers)
        object.__setattr__(self, "names", frozenset(facts))

    def __call__(self, facts: Facts) -> Fact:
        missing = self.names - facts.keys()
        if missing:
            raise KeyError(f"{self.text!r} needs the fact {sorted(missing)[0]!r}")
        scope: dict[str, Any] = {**_SCOPE, **self.constants, **{n: facts[n] for n in self.names}}
        value: Fact = eval(self.code, scope)  # noqa: S307 - the tree was checked above
        return value

    @property
    def spelled_out(self) -> str:
        """The text with the formulas of `lets` in place of their names."""
        return re.sub(
            r"[A-Za-z_]\w*",
            lambda m: f"({self.lets[m[0]].spelled_out})" if m[0] in self.lets else m[0],
            self.text,
        )

    def number(self, facts: Facts) -> int:
        """The value where no fact is symbolic, truth as 0 or 1."""
        value = self(facts)
        assert isinstance(value, int), f"{self.text!r} is {value!r}, not a number"
        return int(value)
