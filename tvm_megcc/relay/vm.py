"""Relay's virtual machine over a compiled library, and the dispatchers of TVM's RFC 4118.

Every library takes shapes that change between runs, so `compile` is `relay.build`.

Example
-------
>>> exe = relay.vm.compile(mod, target="tvm_megcc", params=params)      # doctest: +SKIP
>>> relay.vm.VirtualMachine(exe, tvm.cpu()).run(x)                      # doctest: +SKIP
>>> mod.dispatch("main", {"data": (relay.Any(), 3, 224, 224)}, relay.vm.log_dispatcher)  # doctest: +SKIP
>>> mod.dispatch("main", shapes, relay.vm.uniform_dispatcher(step=16, low=1, high=256))  # doctest: +SKIP
"""  # noqa: E501 - as users write it

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import tvm
from tvm.runtime.module import BenchmarkResult

from tvm_megcc.dispatch.dispatchers import log_dispatcher, uniform_dispatcher
from tvm_megcc.errors import InputError
from tvm_megcc.relay.build import build
from tvm_megcc.relay.graph_module import GraphModule
from tvm_megcc.relay.library import Library

__all__ = ["VirtualMachine", "compile", "log_dispatcher", "uniform_dispatcher"]

#: A result as Relay's machine returned it: a tensor, or a list of several.
Result: TypeAlias = tvm.runtime.Tensor | list[tvm.runtime.Tensor]


def compile(  # noqa: A001 - Relay's word
    mod: tvm.IRModule,
    target: Any = "tvm_megcc",
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Library:
    """`relay.build` in the order of Relay's arguments; `options` are those of `build`."""
    return build(mod, target, params=params, **options)


class VirtualMachine:
    """Runs a library as Relay's machine of this name, and as Relax's, did.

    Parameters
    ----------
    exe : Library or tvm.runtime.Module
        What `compile` returned, or a loaded ``.so``. Its one function is ``main``, whatever it was
        called in the module.
    device : tvm.runtime.Device
        The CPU.
    memory_cfg : str, optional
        Accepted for Relay's sake; memory is planned by the compiler.
    """

    def __init__(self, exe: Any, device: tvm.runtime.Device, memory_cfg: str | None = None) -> None:
        self._module = GraphModule(exe["default"](device))

    def set_input(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Set inputs by position and by name; those that are not given keep their values."""
        _check_main(func_name)
        names = self._module.get_input_names()
        if len(args) > len(names):
            raise InputError(f"{len(args)} inputs are given; the model has {len(names)}")
        for name, value in zip(names, args, strict=False):
            if name in kwargs:
                raise InputError(f"input '{name}' is given by position and by name; give it once")
            self._module.set_input(name, value)
        self._module.set_input(**kwargs)  # type: ignore[arg-type]

    def run(self, *args: object, **kwargs: object) -> Result:
        """Run ``main``; inputs as for `set_input`."""
        return self.invoke("main", *args, **kwargs)

    def invoke(self, func_name: str, *args: object, **kwargs: object) -> Result:
        """Run a function, which is ``main``, and return its results."""
        self.set_input(func_name, *args, **kwargs)
        self._module.run()
        found = self.get_outputs()
        return found[0] if len(found) == 1 else found

    def __getitem__(self, func_name: str) -> Callable[..., Result]:
        """A function to call, as Relax's machine has it."""
        _check_main(func_name)
        return self.run

    def invoke_stateful(self, func_name: str) -> None:
        """Run with the inputs that `set_input` has set; `get_outputs` has the results."""
        _check_main(func_name)
        self._module.run()

    def get_outputs(self) -> list[tvm.runtime.Tensor]:
        """Copies of the results of the last run."""
        return [self._module.get_output(k) for k in range(self._module.get_num_outputs())]

    def benchmark(
        self,
        device: tvm.runtime.Device,
        *args: object,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        end_to_end: bool = False,
        **kwargs: object,
    ) -> BenchmarkResult:
        """See `GraphModule.benchmark`; inputs as for `set_input`."""
        self.set_input(func_name, *args, **kwargs)
        return self._module.benchmark(device, "run", repeat, number, min_repeat_ms, end_to_end)


def _check_main(func_name: str) -> None:
    if func_name != "main":
        raise InputError(f"a library has no function '{func_name}'; its only one is 'main'")
