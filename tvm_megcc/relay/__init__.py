"""What a Relay user remembers: `build`, `Any`, `frontend.from_onnx`, `vm`, `GraphModule`.

Example
-------
>>> from tvm_megcc import relay                                                  # doctest: +SKIP
>>> mod, params = relay.frontend.from_onnx(model, shape={"x": (1, 3, 224, 224)}) # doctest: +SKIP
>>> lib = relay.build(mod, target="tvm_megcc", params=params)                    # doctest: +SKIP
>>> m = relay.GraphModule(lib["default"](tvm.cpu()))                             # doctest: +SKIP
>>> m.set_input("x", x); m.run(); m.get_output(0)                                # doctest: +SKIP
"""

import sys

from tvm_megcc import _register
from tvm_megcc.relay import frontend, graph_executor, vm
from tvm_megcc.relay.build import build
from tvm_megcc.relay.dims import Any
from tvm_megcc.relay.graph_module import GraphModule
from tvm_megcc.relay.library import Library

__all__ = ["Any", "GraphModule", "Library", "build", "frontend", "graph_executor", "vm"]

_register.attach_parts(sys.modules[__name__])
