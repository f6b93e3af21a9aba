"""Attributes of a module or function that hold plain data, as JSON: TVM prints and copies them.

Example
-------
>>> read(written(tvm.IRModule(), "tvm_megcc.names", {"v_211": "211"}), "tvm_megcc.names")
{'v_211': '211'}
"""

from __future__ import annotations

import json
from typing import Any

import tvm
from tvm import relax


def written(holder: Any, key: str, value: Any) -> Any:
    """A module or function with `value`, of dicts, lists, strings and numbers, under `key`."""
    return holder.with_attr(key, json.dumps(value, sort_keys=True))


def read(holder: object, key: str) -> Any:
    """The value that `written` put under `key`, tuples as lists; None if there is none."""
    attrs = holder.attrs if isinstance(holder, tvm.IRModule | relax.Function) else None
    return json.loads(str(attrs[key])) if attrs and key in attrs else None
