"""Registers the plugin with TVM, now or as soon as TVM is imported.

``import tvm`` takes the better part of a second; ``tvmc --help``, ``tvmc run`` and ``tvmc inspect``
do without it. So the registration waits for somebody's ``import tvm``: a finder at the front of
``sys.meta_path`` lets the import go its usual way and calls `register` after the module ran.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def register() -> None:
    """Register the target, ``IRModule.dispatch``, and ``tvm.relay``; once is enough."""
    from tvm_megcc import checks, stretching, target

    target.register()
    checks.register()
    stretching.register()
    attach_dispatch()
    attach_relay(_lazily("tvm_megcc.relay"))


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


def attach_relay(relay: ModuleType) -> None:
    """Make `relay` reachable as ``tvm.relay``, unless TVM has a module of that name."""
    import tvm

    if not hasattr(tvm, "relay"):
        tvm.relay = relay
        sys.modules.setdefault("tvm.relay", relay)


def attach_parts(relay: ModuleType) -> None:
    """Make the modules of `relay` importable as those of ``tvm.relay``."""
    if sys.modules.get("tvm.relay") is relay:
        sys.modules.setdefault("tvm.relay.frontend", relay.frontend)
        sys.modules.setdefault("tvm.relay.vm", relay.vm)


def when_tvm_is_imported() -> None:
    """Call `register` now if TVM is there, else right after its first import."""
    if "tvm" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _AfterTvm())


class _AfterTvm(MetaPathFinder):
    """Finds ``tvm`` like the finders behind it, and appends `register` to its execution."""

    searching = False

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != "tvm" or self.searching:
            return None
        self.searching = True  # the nested search passes us by
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.searching = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                register()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
