"""``.py``, the text of a Relax module (TVMScript, ``mod.script()``) -> Relax.

TVM's parser reads the text and does not run it as a program, but it evaluates the expressions in
it. So the text may say what TVMScript says and nothing else: `check` refuses other names before
anything is evaluated. That keeps accidents out, a Python program above all; it is no sandbox.

TVM prints no constants but single numbers: weights are parameters of the function, and their values
come beside the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import tvm

from tvm_megcc.core.model_file import read_bytes

from ..dims import GivenDim
from ..errors import InputError
from ..frontend import ImportedModel
from .failures import importing
from .relax_module import from_module

_REMEDY = "give what mod.script() prints"

#: Names that a text may use without defining them; the parser knows the first as TVMScript.
_SCRIPT = ("I", "R", "T", "ir", "relax", "tir", "tirx")
_NAMES = frozenset({*_SCRIPT, "Axis", "TypeVar", "cls", "range", "bool", "float", "int"})

#: Modules that a name of TVMScript may lead into.
_INSIDE = ("tvm.relax.op.", "tvm.relax.script.builder.distributed", "tvm.relax.script.parser.dist")

#: Modules that the text's head imports from; the parser has them already.
_HEADER = ("typing", "tvm", "tvm.script", "tvm.tirx.layout")

#: Statements at the top level of a module's text.
_STATEMENTS = (ast.ImportFrom, ast.Import, ast.ClassDef, ast.FunctionDef, ast.Assign, ast.Expr)


def import_script(
    path: Path,
    shapes: Mapping[str, Sequence[GivenDim]] | None,
    params: Mapping[str, Any] | None,
) -> ImportedModel:
    """Import the text of a Relax module; `params` are values of parameters.

    Raises
    ------
    tvm_megcc.errors.MegccError
        The text is not TVMScript, or the module cannot be compiled.
    """
    try:
        text = read_bytes(path, "the text of a Relax module").decode()
        tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"'{path}': not TVMScript ({error}); {_REMEDY}") from None
    check(tree, str(path))
    with importing(path, "TVM's script parser", _REMEDY):
        found = tvm.script.from_source(_without_imports(text, tree))
        mod = found if isinstance(found, tvm.IRModule) else tvm.IRModule({"main": found})
    return from_module(mod, shapes, name=path.stem, where=f"'{path}'", params=params)


def _without_imports(text: str, tree: ast.Module) -> str:
    """The text, its lines where they were, without the imports, which TVM's parser refuses."""
    lines = text.splitlines()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            lines[node.lineno - 1 : node.lineno - 1 + count] = [""] * count
    return "\n".join(lines)


def check(tree: ast.Module, path: str) -> None:
    """Refuse a text that holds anything but TVMScript.

    Raises
    ------
    InputError
        It names the line.
    """
    for node, fact in _foreign(tree):
        if fact == "metadata":
            raise InputError(
                f"'{path}' line {node.lineno}: the module's constants are not in its text, as TVM"
                " 0.27 prints none; make parameters of them (relax.frontend.detach_params,"
                " or weights as arguments) and give their values with --params"
            )
        raise InputError(f"'{path}' line {node.lineno}: {fact} is not TVMScript; {_REMEDY}")


def _foreign(tree: ast.Module) -> Iterator[tuple[Any, str]]:
    """Nodes of a text that are not TVMScript, each with its text for a message."""
    known = _NAMES | _defined(tree)
    for statement in tree.body:
        if not isinstance(statement, _STATEMENTS):
            yield statement, f"'{ast.unparse(statement)[:40]}'"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            if node not in tree.body or module not in _HEADER:
                yield node, f"'{ast.unparse(node)}'"
        elif isinstance(node, ast.Name) and node.id not in known:
            yield node, "metadata" if node.id == "metadata" else f"'{node.id}'"
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("_") or not _leads_inside(node):
                yield node, f"'{ast.unparse(node)}'"
        elif isinstance(node, ast.Lambda | ast.Await | ast.Yield | ast.JoinedStr):
            yield node, f"'{ast.unparse(node)[:40]}'"


def _defined(tree: ast.Module) -> set[str]:
    """Names that the text defines."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _leads_inside(node: ast.Attribute) -> bool:
    """Whether an attribute is of a value of the text, or of a module of TVMScript's."""
    path = [node.attr]
    root = node.value
    while isinstance(root, ast.Attribute):
        path.insert(0, root.attr)
        root = root.value
    if isinstance(root, ast.Constant):
        return False
    if not isinstance(root, ast.Name) or root.id not in _SCRIPT:
        return True
    from tvm.script.parser.core.entry import _default_globals

    value = _default_globals()[root.id]
    for name in path:
        if not hasattr(value, name):
            return True  # which the parser says better
        value = getattr(value, name)
        if isinstance(value, ModuleType) and not f"{value.__name__}.".startswith(_INSIDE):
            return False
    return True
