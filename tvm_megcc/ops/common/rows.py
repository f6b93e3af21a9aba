"""Operators that are one row of a table, as in ``ops/onnx/elementwise.py``."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

from .stock import StockOp


def row(name: str, doc: str, base: type[Any] = StockOp, **facts: Any) -> type[Any]:
    """Class of an operator, for the list ``OPERATORS`` of a module.

    Parameters
    ----------
    name, doc
        The operator's name, and its formula or TVM's name for it.
    base
        The class with the conversion; TVM's own one if left out.
    facts
        Attributes of the class (see `common.operator`); functions become static methods.
    """
    members = {k: staticmethod(v) if callable(v) else v for k, v in facts.items()}
    return ABCMeta(name, (base,), {"__doc__": doc, **members})
