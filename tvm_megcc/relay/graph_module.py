"""Run a compiled model: the graph executor's interface over one execution of a library.

Enters: ``lib["default"](tvm.cpu())``, of a `Library` or of a loaded ``.so``. Leaves: outputs.

Example
-------
>>> m = GraphModule(tvm.runtime.load_module("model.so")["default"](tvm.cpu())) # doctest: +SKIP
>>> m.set_input("x", x); m.run(); m.get_output(0).numpy()                      # doctest: +SKIP
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import tvm
from tvm.rpc.base import RPC_SESS_MASK
from tvm.runtime.module import BenchmarkResult

from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.relay.profile import Profile, Recorder


class GraphModule:
    """One execution: it keeps its inputs and outputs until the next run.

    Parameters
    ----------
    execution : callable
        What ``lib["default"](device)`` returns (see codegen_c/emit/package/tvm_library.c).
    """

    def __init__(self, execution: Callable[..., Any]) -> None:
        self._call = execution

    def set_input(
        self, key: int | str | None = None, value: object | None = None, **inputs: object
    ) -> None:
        """Copy values into inputs, by number, by name, or by keyword.

        Parameters
        ----------
        key : int or str, optional
        value : tvm.runtime.Tensor or array-like
            Dtype and shape must be the model's; a Python number or list takes the model's dtype.
            Elements of 4 and 2 bits have a byte each here: int8 or uint8, also in outputs.
            Where the model leaves a dim open, the value's size is taken; it may change between
            runs.
        **inputs
            Further inputs by name.

        Raises
        ------
        ValueError, IndexError
            When there is no such input; the message lists the names there are.
        TypeError, ValueError
            When the dtype or the shape is not the model's.
        """
        if key is not None:
            self._set(key, value)
        for name, each in inputs.items():
            self._set(name, each)

    def _set(self, key: int | str, value: object) -> None:
        if isinstance(key, str) and self.get_input_index(key) < 0:
            raise ValueError(
                f"the model has no input called '{key}'; its inputs are"
                f" {', '.join(map(repr, self.get_input_names()))}"
            )
        if not isinstance(value, tvm.runtime.Tensor):
            if not isinstance(value, np.ndarray | np.generic) and not hasattr(value, "__array__"):
                value = np.asarray(value, dtype=self.get_input(key).numpy().dtype)
            value = tvm.runtime.tensor(_one_byte_each(np.array(value, order="C")), self._device)
        elif _is_remote(self._device) and not _is_remote(value.device):
            value = tvm.runtime.tensor(value.numpy(), self._device)
        self._call("set_input", key, value)

    @cached_property
    def _device(self) -> tvm.runtime.Device:
        """The CPU of this machine, or of the one where the library was loaded over RPC."""
        return self._call("get_device_tensor").device

    def set_seed(self, seed: int) -> None:
        """Begin the random numbers that the model draws again: at first the seed is 0.

        Parameters
        ----------
        seed : int
            64 bits, with a sign. A model that draws nothing takes any.
        """
        self._call("set_seed", seed)

    def run(self, **inputs: object) -> None:
        """Run the model once, after setting the inputs given by keyword."""
        self.set_input(**inputs)  # type: ignore[arg-type]
        self._call("run")

    def get_output(self, index: int, out: tvm.runtime.Tensor | None = None) -> tvm.runtime.Tensor:
        """A copy of an output of the last run, or `out` filled with it."""
        if out is None:
            return self._call("get_output", index)
        self._call("get_output", index, out)
        return out

    def get_input(self, key: int | str) -> tvm.runtime.Tensor:
        """A copy of an input's present value."""
        return self._call("get_input", key)

    def get_input_shape(self, key: int | str) -> tuple[int | None, ...]:
        """The shape that an input has; None where it is open and has not been set."""
        text = str(self._call("get_input_shape", key))
        return tuple(None if d == "?" else int(d) for d in text.split(",") if d)

    def check_shapes(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Give inputs shapes without data, and see whether the model takes them together.

        Raises
        ------
        ValueError
            It does not.
        """
        for name, dims in shapes.items():
            self._call("set_input_shape", name, *dims)
        self._call("check_shapes")

    def get_num_inputs(self) -> int:
        return int(self._call("get_num_inputs"))

    def get_num_outputs(self) -> int:
        return int(self._call("get_num_outputs"))

    def get_input_index(self, name: str) -> int:
        """The number of an input, -1 when there is none of this name."""
        return int(self._call("get_input_index", name))

    def get_input_names(self) -> list[str]:
        """The inputs' names in the model's order."""
        return [str(self._call("get_input_name", i)) for i in range(self.get_num_inputs())]

    def get_output_names(self) -> list[str]:
        """The outputs' names in the model's order."""
        return [str(self._call("get_output_name", i)) for i in range(self.get_num_outputs())]

    def load_params(self, params: bytes | bytearray | Mapping[str, object]) -> None:
        """Set inputs from what ``tvm.runtime.save_param_dict`` wrote, or from a mapping.

        Raises
        ------
        InputError
            A name that is no input. Weights are packed into the library when it is built: give
            them to ``relay.build(params=...)``, or build without them, so that they are inputs.
        """
        values: Mapping[str, object]
        if isinstance(params, Mapping):
            values = params
        else:
            values = tvm.runtime.load_param_dict(bytes(params))
        for name in values:
            if self.get_input_index(name) < 0:
                raise InputError(
                    f"'{name}' is no input of the library, which has its weights packed inside;"
                    " build it again with other params=, or without, so that they are inputs"
                )
        for name, value in values.items():
            self._set(name, value)

    def benchmark(
        self,
        device: tvm.runtime.Device | None = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        end_to_end: bool = False,
        **inputs: object,
    ) -> BenchmarkResult:
        """Time the model: ``repeat`` means of ``number`` runs, after one run that is not timed.

        Parameters
        ----------
        device : tvm.runtime.Device, optional
            The CPU; accepted because the graph executor had it.
        func_name : {"run"}
        repeat, number : int
        min_repeat_ms : int, optional
            `number` grows until so many runs take this long.
        end_to_end : bool
            Also copy inputs in and outputs out in each run.
        **inputs
            Inputs by name, as for `run`.

        Returns
        -------
        BenchmarkResult
            Seconds: ``mean``, ``median``, ``min``, ``max``, ``std``, ``results``.
        """
        _check_timed(func_name, repeat, number)
        self.set_input(**inputs)  # type: ignore[arg-type]
        given = {name: self.get_input(name) for name in self.get_input_names()}

        def once() -> None:
            if end_to_end:
                for name, value in given.items():
                    self._call("set_input", name, value)
            self._call("run")
            if end_to_end:
                for index in range(self.get_num_outputs()):
                    self.get_output(index)

        once()
        results = []
        for _ in range(repeat):
            seconds = _seconds(once, number)
            while min_repeat_ms and seconds * 1000 < min_repeat_ms:
                number = max(
                    number + 1, int(number * min_repeat_ms / (seconds * 1000 + 1e-6) * 1.1)
                )
                seconds = _seconds(once, number)
            results.append(seconds / number)
        return BenchmarkResult(results)

    def time_evaluator(
        self,
        func_name: str = "run",
        dev: tvm.runtime.Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
    ) -> Callable[[], BenchmarkResult]:
        """A function that times the model with the inputs that it has then; see `benchmark`."""
        _check_timed(func_name, repeat, number)
        return lambda: self.benchmark(dev, func_name, repeat, number, min_repeat_ms)

    def profile(self, **inputs: object) -> Profile:
        """Run the model once and time each of its kernel calls.

        A call is timed from Python, which adds some microseconds to each.
        """
        self.set_input(**inputs)  # type: ignore[arg-type]
        if _is_remote(self._device):
            raise UnsupportedError(
                "profile: a library loaded over RPC cannot call back at every kernel call; profile"
                " on the machine itself, or with the package's `run --profile`"
            )
        recorder = Recorder()
        self._call("profile", tvm.runtime.convert(recorder))
        try:
            self._call("run")
        finally:
            self._call("profile", None)
        return recorder.profile()

    def debug_get_output(self, node: int | str, out: tvm.runtime.Tensor | None = None) -> NoReturn:
        """Refused: a library keeps only its outputs.

        Raises
        ------
        UnsupportedError
            Calls of a library write over each other's results, in one arena.
        """
        raise UnsupportedError(
            f"debug_get_output({node!r}): a library keeps no value that another may overwrite;"
            " `tvmc run --dump` writes what each call of a package computes"
        )


def _is_remote(device: tvm.runtime.Device) -> bool:
    # TVM's number of a session is above that of the device's kind.
    return bool(device.dlpack_device_type() >= RPC_SESS_MASK)


def _check_timed(func_name: str, repeat: int, number: int) -> None:
    if func_name != "run":
        raise InputError(f"only 'run' can be timed, not {func_name!r}")
    if repeat < 1 or number < 1:
        raise InputError(f"repeat={repeat} and number={number}: give 1 or more of each")


def _seconds(run: Callable[[], None], number: int) -> float:
    begin = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - begin


def _one_byte_each(array: np.ndarray) -> np.ndarray:
    """An array of a packed type with a byte for each element; any other array unchanged."""
    row = of_numpy(array.dtype.name)
    if row is None or not row.is_packed:
        return array
    return array.view(np.uint8) if row.is_float else array.astype(row.held_numpy)
