"""TVM's old module of this name: `GraphModule`, and `create` from the three parts of a build.

It is ``tvm.contrib.graph_executor`` too, where TVM has none.

Example
-------
>>> m = graph_executor.create(*lib, tvm.cpu())                          # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import tvm

from tvm_megcc.relay.graph_module import GraphModule

__all__ = ["GraphModule", "create"]


def create(graph_json: str, lib: Any, device: tvm.runtime.Device) -> GraphModule:
    """An execution of a library, which has its graph inside: `graph_json` is not read."""
    return GraphModule(lib["default"](device))
