"""Run a compiled model: the graph executor's interface over one execution of a library.

Enters: ``lib["default"](tvm.cpu())``, of a `Library` or of a loaded ``.so``. Leaves: outputs.

Example
-------
>>> m = GraphModule(tvm.runtime.load_module("model.so")["default"](tvm.cpu())) # doctest: +SKIP
>>> m.set_input("x", x); m.run(); m.get_output(0).numpy()                      # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm

from tvm_megcc.core.dtypes import of_numpy


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
            When there is no such input.
        TypeError, ValueError
            When the dtype or the shape is not the model's.
        """
        if key is not None:
            self._set(key, value)
        for name, each in inputs.items():
            self._set(name, each)

    def _set(self, key: int | str, value: object) -> None:
        if not isinstance(value, tvm.runtime.Tensor):
            if not isinstance(value, np.ndarray | np.generic) and not hasattr(value, "__array__"):
                value = np.asarray(value, dtype=self.get_input(key).numpy().dtype)
            value = tvm.runtime.tensor(_one_byte_each(np.array(value, order="C")))
        self._call("set_input", key, value)

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


def _one_byte_each(array: np.ndarray) -> np.ndarray:
    """An array of a packed type as the library takes it, any other as it is."""
    row = of_numpy(array.dtype.name)
    if row is None or not row.is_packed:
        return array
    return array.view(np.uint8) if row.is_float else array.astype(row.held_numpy)
