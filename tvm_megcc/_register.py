"""Registers the plugin with TVM.

``import tvm`` takes the better part of a second; ``tvmc --help``, ``tvmc run`` and ``tvmc inspect``
do without it, so ``import tvm_megcc`` does not load TVM. Whoever imports TVM gets the plugin by it:
`register` is an entry point of the group ``tvm.backends``, which TVM calls at the end of its own
import. Where it was told not to (``TVM_DEVICE_BACKEND_AUTOLOAD=0``), ``import tvm_megcc`` behind
``import tvm`` registers.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


def register() -> None:
    """Register the target, the functions of TVM's VM, ``IRModule.dispatch``, the codegen of
    regions, the default pipeline of our target, ``tvm.relay`` and
    ``tvm.contrib.graph_executor``.

    To call it again does nothing.
    """
    from tvm_megcc import target
    from tvm_megcc.byoc import default
    from tvm_megcc.relax_tools import checks, draws, int8_rows, stretching

    target.register()
    checks.register()
    draws.register()
    int8_rows.register()
    stretching.register()
    attach_dispatch()
    attach_codegen()
    default.register()
    attach_relay(_lazily("tvm_megcc.relay"))
    attach_graph_executor()


def _lazily(name: str) -> ModuleType:
    """A module that runs when something of it is first asked for.

    Whoever imports TVM may itself be one of the modules that it would import, half-way through.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def attach_dispatch() -> None:
    """Give ``tvm.IRModule`` the method ``dispatch``."""
    import tvm

    # Imported when it is called: whoever imports that room first may be what imports TVM.
    def dispatch(mod: Any, function: str, shapes: Any, dispatcher: Any, **options: Any) -> Any:
        """See `tvm_megcc.dispatch.dispatch`."""
        from tvm_megcc.dispatch import dispatch

        return dispatch(mod, function, shapes, dispatcher, **options)

    if not hasattr(tvm.IRModule, "dispatch"):
        tvm.IRModule.dispatch = dispatch


def attach_codegen() -> None:
    """Give ``relax.transform.RunCodegen`` the compiler of regions annotated ``tvm_megcc``."""
    import tvm

    def compile_regions(functions: Any, options: Any, constant_names: Any) -> Any:
        from tvm_megcc.byoc.codegen import compile_regions

        return compile_regions(functions, options, constant_names)

    if tvm.get_global_func("relax.ext.tvm_megcc", allow_missing=True) is None:
        tvm.register_global_func("relax.ext.tvm_megcc", compile_regions)


def attach_relay(relay: ModuleType) -> None:
    """Make `relay` reachable as ``tvm.relay``, unless TVM has a module of that name."""
    import tvm

    if not hasattr(tvm, "relay"):
        tvm.relay = relay
        sys.modules.setdefault("tvm.relay", relay)


def attach_graph_executor() -> None:
    """Make ``tvm.contrib.graph_executor`` importable, unless TVM has a module of that name."""
    import tvm.contrib

    name = "tvm.contrib.graph_executor"
    if name in sys.modules or importlib.util.find_spec(name) is not None:
        return

    def __getattr__(attribute: str) -> Any:
        found = importlib.import_module("tvm_megcc.relay.graph_executor")
        return getattr(found, attribute)

    module = ModuleType(name, "GraphModule and create, of tvm_megcc.relay.graph_executor.")
    module.__getattr__ = __getattr__  # type: ignore[method-assign]
    sys.modules[name] = module
    tvm.contrib.graph_executor = module


def attach_parts(relay: ModuleType) -> None:
    """Make the modules of `relay` importable as those of ``tvm.relay``."""
    if sys.modules.get("tvm.relay") is relay:
        sys.modules.setdefault("tvm.relay.frontend", relay.frontend)
        sys.modules.setdefault("tvm.relay.vm", relay.vm)
