"""Expressions over facts, as they stand in a kernel's header comment (``when``, ``work``, ...).

Enters: a line of text such as ``g == 1 and ic % 8 == 0``. Leaves: a function of a fact dict.

Example
-------
>>> Expression("n * oh")({"n": 2, "oh": 7})
14
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType

Fact = int | float | str

_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt,
    ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Tuple, ast.Name, ast.Load, ast.Constant,
    ast.IfExp, ast.Call,
)  # fmt: skip
_FUNCTIONS = {"min": min, "max": max}


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression; calling it with facts gives its value.

    Raises
    ------
    ValueError
        When the text is not an expression or uses more than names, constants, arithmetic,
        comparisons, ``and or not``, ``a if c else b``, ``min`` and ``max``.
    KeyError
        (call) When a fact that it names is missing.
    """

    text: str
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
                raise ValueError(f"{self.text!r}: only min and max can be called")
            if isinstance(node, ast.Name) and node.id not in _FUNCTIONS:
                names.add(node.id)
        object.__setattr__(self, "code", compile(tree, "<kernel header>", "eval"))
        object.__setattr__(self, "names", frozenset(names))

    def __call__(self, facts: Mapping[str, Fact]) -> Fact:
        missing = self.names - facts.keys()
        if missing:
            raise KeyError(f"{self.text!r} needs the fact {sorted(missing)[0]!r}")
        scope = {"__builtins__": {}, **_FUNCTIONS, **{n: facts[n] for n in self.names}}
        return eval(self.code, scope)  # noqa: S307 - the tree was checked above
