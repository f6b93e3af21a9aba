"""Operators of ONNX, found by scanning a folder for each domain.

A file ``ops/<domain>/<operator in lower case>.py`` holds one subclass of `OnnxOp`:
``com.microsoft::Inverse`` is in ``com_microsoft/inverse.py``. Operators that are one expression
are rows of a table, the list ``OPERATORS`` of a file; a family of classes in one file has such a
list, too. Helpers that several files share are in ``common/``. See ``docs/adding-an-op.md``.

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

from .common.context import Attrs, Context
from .common.inputs import Inputs
from .common.operator import OnnxOp, Result

__all__ = ["Attrs", "Context", "Inputs", "OnnxOp", "Result", "find", "registered"]

#: The folders of operators, and the domain of each.
_FOLDERS = {
    "onnx": "",
    "ml": "ai.onnx.ml",
    "training": "ai.onnx.preview.training",
    "com_microsoft": "com.microsoft",
}


@cache
def registered() -> dict[tuple[str, str], OnnxOp]:
    """Every operator of these folders by ``(domain, name)``."""
    table: dict[tuple[str, str], OnnxOp] = {}
    for folder, domain in _FOLDERS.items():
        package = importlib.import_module(f"{__name__}.{folder}")
        for module_info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{module_info.name}")
            for op in getattr(module, "OPERATORS", None) or [_only_operator(module)]:
                op.domain, op.__module__ = domain, module.__name__
                assert (domain, op.name) not in table, f"{op.name} is converted twice"
                table[domain, op.name] = op()
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
    assert module.__name__.endswith(f".{op.name.lower()}"), (
        f"{module.__name__}: {op.name} belongs in {op.name.lower()}.py"
    )
    return op
