"""One ONNX operator, one file: ``ops/<operator in lower case>.py``, found by scanning this folder.

A file holds one subclass of `OnnxOp` (``com.microsoft::FusedConv`` lives in
``com_microsoft_fusedconv.py``); helpers shared by several operators are in files that begin with an
underscore. See ``docs/adding-an-op.md``.

Example
-------
>>> find("", "Clip").name
'Clip'
>>> find("", "NoSuchOperator") is None
True
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from ._context import Attrs, Context
from ._inputs import Inputs
from ._operator import OnnxOp, Result

__all__ = ["Attrs", "Context", "Inputs", "OnnxOp", "Result", "find", "registered"]


@cache
def registered() -> dict[tuple[str, str], OnnxOp]:
    """Every operator of this folder by ``(domain, name)``."""
    table: dict[tuple[str, str], OnnxOp] = {}
    for module_info in pkgutil.iter_modules(__path__):
        if module_info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        op = _only_operator(module)
        key = (op.domain, op.name)
        assert key not in table, f"{module_info.name}.py: {key} is converted elsewhere too"
        table[key] = op()
    return table


def find(domain: str, name: str) -> OnnxOp | None:
    """Our converter for an operator, or None."""
    return registered().get((domain, name))


def _only_operator(module: Any) -> type[OnnxOp]:
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, OnnxOp)
        and value.__module__ == module.__name__
    ]
    assert len(found) == 1, f"{module.__name__}: one OnnxOp is expected, {len(found)} found"
    op = found[0]
    stem = "_".join(filter(None, [op.domain.replace(".", "_"), op.name])).lower()
    assert module.__name__.endswith(f".{stem}"), (
        f"{module.__name__}: {op.name} belongs in {stem}.py"
    )
    return op
