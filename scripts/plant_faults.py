"""Faults that can be planted in a source text: where, and what stands there instead.

Enters: a file's text. Leaves: `Fault`s of four kinds (`KINDS`). Python is read by its syntax tree,
C by patterns that take clang-format's style for granted. Messages, annotations and preprocessor
lines are left alone, and so are changes that no run can show: `a < b ? a : b` is the same with
`<=`, and `max(a, b)` the same as `max(b, a)`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import count, cycle, islice
from pathlib import Path

KINDS = ("comparison turned", "bound off by one", "operands swapped", "guard dropped")
TURNED, BOUND, SWAPPED, GUARD = KINDS

#: Every third fault is one in C.
C_EVERY = 3

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
            "is": "is not", "is not": "is", "in": "not in", "not in": "in"}  # fmt: skip
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_NAMES: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_ORDERED: dict[type[ast.operator], str] = {
    ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<", ast.Pow: "**",
}  # fmt: skip
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
#: Calls whose first two arguments are not of one kind: swapped, they would not run at all.
_UNLIKE = {"isinstance", "issubclass", "getattr", "setattr", "hasattr", "cast", "print", "map",
           "filter"}  # fmt: skip
#: Calls whose first two arguments may change places, the project's own last.
_SYMMETRIC = {"min", "max", "minimum", "maximum", "add", "multiply", "mul", "gcd", "lcm",
              "_either"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """A change of one place in a file: the text from `start` to `end` becomes `after`."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    def planted(self, text: str) -> str:
        """The file's text with the fault."""
        assert text[self.start : self.end] == self.before, f"{self.path} has changed"
        return text[: self.start] + self.after + text[self.end :]

    def context(self, text: str) -> str:
        """The lines of the fault and the change: what tells it from others of its file."""
        begin, end = text.rfind("\n", 0, self.start) + 1, text.find("\n", self.end)
        lines = f"{text[begin : self.start]}\0{self.after}\0{text[self.start : end]}"
        return " ".join(lines.split())

    def __str__(self) -> str:
        before, after = (" ".join(t.split()) for t in (self.before, self.after))
        return f"{self.path}:{self.line}: {self.kind}: `{before}` -> `{after}`"


def room(path: str) -> str:
    """The folder that stands for a file: its room, and for C what kind of code it is."""
    parts = Path(path).parts[:-1]
    depth = 1 if parts[0] == "runtime" else 2
    if parts[:2] == ("codegen_c", "emit") and path.endswith((".c", ".h")):
        depth = 3
    return "/".join(parts[:depth])


def drawn(texts: dict[str, str], seed: int) -> Iterator[Fault]:
    """Faults, the same for the same seed and texts: rooms and kinds take turns.

    Each choice is by its own number, so that an edit changes only the draws of its room.
    """
    turns = []
    for endings in ((".py",), (".c", ".h")):
        rooms: dict[str, list[str]] = {}
        for path in sorted(texts):
            if path.endswith(endings):
                rooms.setdefault(room(path), []).append(path)
        if rooms:
            order = sorted(rooms, key=lambda name: _number(seed, name))
            turns.append(cycle([tuple(rooms[name]) for name in order]))

    @cache
    def of(paths: tuple[str, ...]) -> list[Fault]:
        found = [f for path in paths for f in faults(path, texts[path])]
        return sorted(found, key=lambda f: _number(seed, f.path, f.context(texts[f.path])))

    seen: set[Fault] = set()
    rooms_in_all = len({room(path) for path in texts})
    misses = 0
    visits = Counter[str]()
    for number in count(1):
        paths = next(turns[-1 if number % C_EVERY == 0 else 0])
        here = room(paths[0])
        visits[here] += 1
        # Kinds in turn for each room's visit; a room without the kind gives another.
        first = (_number(seed, here) + visits[here]) % len(KINDS)
        for kind in [*KINDS[first:], *KINDS[:first]]:
            fault = next((f for f in of(paths) if f.kind == kind and f not in seen), None)
            if fault is not None:
                seen.add(fault)
                misses = 0
                yield fault
                break
        else:
            misses += 1
            if misses > C_EVERY * rooms_in_all:
                return


def _number(*words: object) -> int:
    """A number that looks drawn, the same for the same words."""
    return int.from_bytes(blake2b(repr(words).encode(), digest_size=8).digest(), "big")


def faults(path: str, text: str) -> list[Fault]:
    """Every fault that can be planted in a file."""
    changes = _python(text) if path.endswith(".py") else _c(text)
    found = []
    for kind, start, end, after in changes:
        line = text.count("\n", 0, start) + 1
        found.append(Fault(path, line, kind, start, end, text[start:end], after))
    return [fault for fault in found if fault.before != fault.after]


Change = tuple[str, int, int, str]


def _python(text: str) -> Iterator[Change]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    lines = text.split("\n")
    tree = ast.parse(text)
    limits = {node.test for node in ast.walk(tree) if _is_limit(node)}

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    for node in _code(tree):
        if isinstance(node, ast.expr):
            if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
                continue  # a name would be missing, or a parenthesis
            start, end = span(node)
            said = {child: text[slice(*span(child))] for child in _operands(node)}
            for kind, after in _expression(node, said):
                if kind != BOUND or node not in limits:
                    yield kind, start, end, after
        elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES):
            if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)):
                continue
            start, end = span(node.test)
            yield GUARD, start, end, f"False and ({text[start:end]})"


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are run and are no message, annotation or decorator."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)


def _is_limit(node: ast.AST) -> bool:
    """Whether this is the smaller or the larger of two: `a if a < b else b`."""
    match node:
        case ast.IfExp(test=ast.Compare(left=a, comparators=[b]), body=body, orelse=orelse):
            return {ast.dump(a), ast.dump(b)} == {ast.dump(body), ast.dump(orelse)}
    return False


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=[right]):
            return [left, right]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return [test, body, orelse]
        case ast.BoolOp(values=values):
            return values
        case ast.Call(func=func, args=[_, _, *_] as args):
            return [func, *args]
        case ast.Subscript(value=value, slice=ast.Slice()):
            return [value]
    return []


def _expression(node: ast.expr, said: dict[ast.expr, str]) -> Iterator[tuple[str, str]]:
    """Kinds of faults of an expression, and its text with each."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            name = _NAMES[type(op)]
            yield TURNED, f"{said[left]} {_NEGATED[name]} {said[right]}"
            if name in _SHIFTED:
                yield BOUND, f"{said[left]} {_SHIFTED[name]} {said[right]}"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=1)):
            yield BOUND, f"{said[left]} {'+' if isinstance(op, ast.Add) else '-'} 2"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ORDERED:
            if not any(isinstance(n, ast.Constant | ast.JoinedStr) for n in (left, right)):
                yield SWAPPED, f"({said[right]}) {_ORDERED[type(op)]} ({said[left]})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield SWAPPED, f"({said[orelse]}) if {said[test]} else ({said[body]})"
        case ast.BoolOp(op=ast.And(), values=[_, *rest]):
            yield GUARD, "(" + " and ".join(said[value] for value in rest) + ")"
        case ast.Call(func=func, args=[a, b, *rest], keywords=[]) if said[func].rpartition(".")[
            2
        ] not in _UNLIKE | _SYMMETRIC and all(
            isinstance(n, ast.Name | ast.Attribute) for n in (a, b)
        ):
            yield SWAPPED, f"{said[func]}({', '.join(said[n] for n in (b, a, *rest))})"
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            for low, high in ((_next(lower), upper), (lower, _next(upper))):
                if (low, high) != (lower, upper):
                    bounds = ("" if n is None else ast.unparse(n) for n in (low, high))
                    yield BOUND, f"{said[value]}[{':'.join(bounds)}]"


def _next(bound: ast.expr | None) -> ast.expr | None:
    """A constant bound of a slice, one further from 0; another bound as it is."""
    match bound:
        case ast.Constant(value=int(value)):
            return ast.Constant(value + 1)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return ast.Constant(-value - 1)
    return bound


_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M,
)
_OPERAND = r"(?:[A-Za-z_]\w*(?:(?:\.|->)\w+|\[[^\[\]]*\]|\([^()]*\))*|\d\w*)"
_PAIR = re.compile(rf"(?:(?<=[(,=\[?:{{;&|<>] )|(?<=[(\[])|(?<=return ))({_OPERAND}) (-|/|%|<<) "
                   rf"({_OPERAND})(?![\w(\[.]|->| [*/%])")  # fmt: skip
_CHOICE = re.compile(rf"(?<=\? )({_OPERAND}) : ({_OPERAND})(?=[;,)])")
#: The smaller or the larger of two: `a < b ? a : b`, or `if (a < b) b = a`.
_LIMIT = re.compile(r"(?:[(=,] |\(|return )(?P<a>[^?;{}=]+) (?P<op><=?|>=?) (?P<b>[^?;{}=]+) \? "
                    r"(?:(?P=a) : (?P=b)|(?P=b) : (?P=a))(?=[;,)])|"
                    r"if \((?P<c>[^?;{}=]+) (?P<by><=?|>=?) (?P<d>[^?;{}=]+)\)\s*\{?\s*"
                    r"(?:(?P=c) = (?P=d);|(?P=d) = (?P=c);)")  # fmt: skip
_IF = re.compile(r"\bif \(")
_LEAVE = re.compile(r"\)\s*\{?\s*(?:return|continue|break|goto)\b")


def _c(text: str) -> Iterator[Change]:
    # What is no code is as long, and nothing that a pattern below takes.
    code = _NO_CODE.sub(lambda m: re.sub(r"[^\n]", "\0", m[0]), text)
    limits = {m.span("op" if m["op"] else "by") for m in _LIMIT.finditer(code)}
    for found in re.finditer(r" (==|!=|<=|>=|<|>) ", code):
        start, end = found.span(1)
        yield TURNED, start, end, _NEGATED[found[1]]
        if found[1] in _SHIFTED and (start, end) not in limits:
            yield BOUND, start, end, _SHIFTED[found[1]]
    for found in re.finditer(r"(?<= [+-] )1\b(?![.\w])", code):
        yield BOUND, *found.span(), "2"
    for found in _PAIR.finditer(code):
        yield SWAPPED, *found.span(), f"{found[3]} {found[2]} {found[1]}"
    for found in _CHOICE.finditer(code):
        yield SWAPPED, *found.span(), f"{found[2]} : {found[1]}"
    for found in _IF.finditer(code):
        end = _closing(code, found.end())
        if _LEAVE.match(code, end):
            yield GUARD, found.end(), end, f"0 && ({text[found.end() : end]})"


def _closing(code: str, start: int) -> int:
    """Where the parenthesis closes that opened before `start`."""
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if not depth:
            return at
    return len(code)


def first(texts: dict[str, str], seed: int, number: int) -> Sequence[Fault]:
    """The first faults of a seed."""
    return list(islice(drawn(texts, seed), number))
