"""tvm_megcc: neural networks as small C packages, as a plugin for Apache TVM.

TVM beside this package knows its target (``tvm.target.Target("tvm_megcc")``) and, where it has no
``tvm.relay``, has `tvm_megcc.relay` in that place. TVM itself is loaded only by what needs it, so
that the command line answers at once.

Example
-------
>>> import tvm_megcc
>>> from tvm_megcc import relay                                     # doctest: +SKIP
>>> mod, params = relay.frontend.from_onnx("model.onnx")            # doctest: +SKIP
>>> relay.build(mod, target="tvm_megcc", params=params).save("pkg") # doctest: +SKIP
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tvm_megcc import _register
from tvm_megcc.core.version import VERSION

__version__ = VERSION

if "tvm" in sys.modules:  # else TVM itself registers us when it is imported
    _register.register()


def __getattr__(name: str) -> Any:
    """`tvm_megcc.transform`, `generate` and others on first use: what they import is large."""
    if name == "transform":
        return importlib.import_module("tvm_megcc.transform")
    if name == "partition_for_megcc":
        return importlib.import_module("tvm_megcc.byoc.partition").partition_for_megcc
    if name == "set_seed":
        return importlib.import_module("tvm_megcc.relax_tools.draws").set_seed
    if name == "generate":
        return importlib.import_module("tvm_megcc.generation").generate
    raise AttributeError(f"module 'tvm_megcc' has no attribute {name!r}")
