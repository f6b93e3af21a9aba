#!/usr/bin/env python3
"""Write docs/onnx-operators.md, the table of all operators of ONNX and what is taken of each.

It follows from onnx's registry, ours, and the lists of tests/onnx_suite, which tests hold.

Usage: ``scripts/gen_operator_docs.py`` writes the page; with ``--check`` it writes nothing and
exits with status 1 when the page is out of date.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import pages

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.onnx_suite import outcomes  # noqa: E402
from tests.onnx_suite.cases import Case, all_cases  # noqa: E402
from tvm_megcc import ops  # noqa: E402
from tvm_megcc.frontend import subgraphs  # noqa: E402
from tvm_megcc.ops.common import stock  # noqa: E402
from tvm_megcc.ops.refused import REFUSED  # noqa: E402

PAGE = ROOT / "docs" / "onnx-operators.md"
_HEAD = """# ONNX operators

<!-- Written by scripts/gen_operator_docs.py from the registries and tests/onnx_suite. -->

`scripts/onnx_suite` runs the {total:,} cases that ship with onnx, each through a compiled package
that gets every input when it runs: {passed:,} give ONNX's answer, {refused} are refused, {left_out}
are left out.

* *since*: the first opset that has the operator; all versions from there on are taken.
* *by*: a file of `tvm_megcc/ops` (own), TVM's converter (TVM), ONNX's definition by other operators
  (definition), the importer itself (importer); without an entry it is not taken.
* *types*: those of its operands in the cases that pass.
* *at run time*: operands that may be computed at run time in the cases that pass. Any other operand
  must be a constant or follow from shapes.
* *cases*: how many of ONNX's cases pass, of how many.
"""
_DOMAINS = {"": "ai.onnx", "ai.onnx.ml": "ai.onnx.ml", "com.microsoft": "com.microsoft"}


@dataclass
class Facts:
    """Types, operands and counts that the cases of an operator show."""

    types: set[str] = field(default_factory=set)
    at_run_time: dict[int, str] = field(default_factory=dict)
    passed: int = 0
    total: int = 0
    #: Why cases do not pass -> their names.
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def facts(cases: Iterable[Case]) -> Mapping[str, Facts]:
    """Facts by operator."""
    found: dict[str, Facts] = defaultdict(Facts)
    reasons = outcomes.refused() | outcomes.left_out()
    for case in cases:
        row = found[case.operator]
        row.total += 1
        if case.name in reasons:
            row.reasons[reasons[case.name]].append(case.name)
            continue
        row.passed += 1
        if len(case.model.graph.node) == 1:
            _operands(case.model, row)
    return found


def _operands(model: onnx.ModelProto, row: Facts) -> None:
    """Add types and names of the operands of a model of one node."""
    (node,) = model.graph.node
    version = next(o.version for o in model.opset_import if o.domain == node.domain)
    formal = onnx.defs.get_schema(node.op_type, version, node.domain).inputs
    ports = {port.name: port for port in model.graph.input}
    for number, name in enumerate(node.input):
        if name not in ports or not formal:
            continue
        elem_type = ports[name].type.tensor_type.elem_type
        if elem_type:
            row.types.add(onnx.TensorProto.DataType.Name(elem_type).lower())
        number = min(number, len(formal) - 1)
        row.at_run_time[number] = formal[number].name


def taken_by(domain: str, name: str) -> str:
    """Where an operator is converted: own, TVM, importer, definition; or ""."""
    op = ops.find(domain, name)
    if op is not None and not isinstance(op, stock.StockOp):
        return "own"
    if stock.has(domain, name):
        return "TVM"
    if not domain and name in (*subgraphs.CONVERTERS, "Constant", "Identity", "Shape", "Size"):
        return "importer"
    if domain != "com.microsoft":
        schema = onnx.defs.get_schema(name, domain=domain)
        if schema.has_function or schema.has_context_dependent_function:
            return "definition"
    return ""


def refusals(domain: str, name: str) -> list[str]:
    """The facts for which an operator's own code refuses a node; "..." stands for what varies."""
    op = ops.find(domain, name)
    if op is None:
        return [REFUSED[domain, name]] if (domain, name) in REFUSED else []
    facts = []
    for call in _code(ast.parse(inspect.getsource(inspect.getmodule(op))), name):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
            kind, texts = call.func.attr, [_text(arg) for arg in call.args]
            if kind in ("unsupported", "ill_typed"):
                facts.append(texts[0])
            elif kind in ("need", "need_ints") and len(texts) == 2 and not call.keywords:
                facts.append(f"{texts[1]} is computed at run time")
    return sorted({fact for fact in facts if fact.strip(". ")})


def _code(tree: ast.Module, operator: str) -> Iterator[ast.AST]:
    """The nodes of an operator's class or row, and of what they use of its module."""
    defined = {d.name: d for d in tree.body if isinstance(d, ast.FunctionDef | ast.ClassDef)}
    rows = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    found = {ast.literal_eval(r.args[0]): r for r in rows if isinstance(r.args[0], ast.Constant)}
    waiting: list[ast.AST] = [defined.get(operator) or found[operator]]
    while waiting:
        for node in ast.walk(waiting.pop()):
            yield node
            if isinstance(node, ast.Name) and node.id in defined:
                waiting.append(defined.pop(node.id))


def _text(node: ast.expr) -> str:
    """A string in the source, with "..." for its computed parts."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "..."


def operators() -> Mapping[str, Mapping[str, int]]:
    """Domain -> operator -> first opset, without operators deprecated in the newest opset."""
    found: dict[str, dict[str, int]] = {domain: {} for domain in _DOMAINS}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            row = found[schema.domain]
            row[schema.name] = min(schema.since_version, row.get(schema.name, 1 << 30))
    for domain, row in found.items():
        for name in list(row):
            if onnx.defs.get_schema(name, domain=domain).deprecated:
                del row[name]
    # ONNX Runtime's tools write some operators of their own among those of ONNX.
    own = {name for domain, name in ops.registered() if domain == ""}
    found[""] |= {name: 1 for name in own if not onnx.defs.has(name)}
    ours = {name for domain, name in ops.registered() if domain == "com.microsoft"}
    theirs = {name for name in stock.names() if stock.has("com.microsoft", name)}
    found["com.microsoft"] = dict.fromkeys(ours | theirs, 1)
    return found


def page() -> str:
    """The text of the page."""
    cases = all_cases()
    rows = facts(cases.values())
    refused, left_out = len(outcomes.refused()), len(outcomes.left_out())
    passed = len(cases) - refused - left_out
    text = _HEAD.format(total=len(cases), passed=passed, refused=refused, left_out=left_out)
    head = ("operator", "since", "by", "types", "at run time", "cases")
    for domain, names in operators().items():
        lines = []
        for name, since in sorted(names.items(), key=lambda row: row[0].lower()):
            row = rows.get(f"{domain}::{name}" if domain else name, Facts())
            lines.append((name, since, taken_by(domain, name), *_cells(row)))
        text += f"\n## {_DOMAINS[domain]}\n\n{pages.table(head, lines, words=head)}\n"
    text += "\n## What is refused, or left out, and why\n\n"
    text += "By an operator's own code, and of ONNX's cases. What all operators share, sizes that\n"
    text += "only the run shows among it, is in [dynamic-shapes.md](dynamic-shapes.md).\n"
    found = [(domain, name) for domain, names in operators().items() for name in names]
    own = {f"{d}::{n}" if d else n: refusals(d, n) for d, n in found}
    for operator in sorted({*rows, *own}, key=str.lower):
        lines = [f"* {fact}\n" for fact in own.get(operator, [])]
        for reason, names in sorted(rows.get(operator, Facts()).reasons.items()):
            lines.append(f"* {reason}: {_names(names)}\n")
        text += f"\n**{operator}**\n\n{''.join(lines)}" if lines else ""
    return text


def _cells(row: Facts) -> tuple[str, str, str]:
    types = ", ".join(sorted(row.types))
    operands = ", ".join(row.at_run_time[k] for k in sorted(row.at_run_time))
    return types, operands, f"{row.passed} of {row.total}" if row.total else ""


def _names(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names)[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


if __name__ == "__main__":
    raise SystemExit(pages.write_or_check(PAGE, page, __doc__))
