"""Bind values to a function's parameters, as constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ..errors import InputError


def bound(
    mod: tvm.IRModule, function: str, values: Mapping[str, Any], num_input: int
) -> tvm.IRModule:
    """Replace the parameters of a function that have a value by constants.

    Parameters
    ----------
    values : mapping of str to array or tensor
        What is none of the function's parameters is left alone.
    num_input : int
        So many parameters are inputs; the others must have a value.

    Raises
    ------
    InputError
        A parameter has no value, or one that does not fit it.
    """
    found = {}
    for index, param in enumerate(mod[function].params):
        if param.name in values:
            found[param.name] = _fitting(param, values[param.name])
        elif index >= num_input:
            raise InputError(
                f"parameter '{param.name}' of the module has no value; give it in params=, which"
                " from_onnx returns for its own modules, or in the file of --params"
            )
    return relax.transform.BindParams(function, found)(mod) if found else mod


def _fitting(param: relax.Var, value: tvm.runtime.Tensor | np.ndarray) -> tvm.runtime.Tensor:
    array = value if isinstance(value, np.ndarray) else value.numpy()
    if isinstance(param.ty, relax.TensorType) and param.ty.shape is not None:
        shape = [int(d) if isinstance(d, int | tvm.tirx.IntImm) else None for d in param.ty.shape]
        fits = len(shape) == array.ndim and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits or str(param.ty.dtype) != str(array.dtype):
            named = zip(shape, param.ty.shape, strict=True)
            dims = ", ".join(str(d if size is None else size) for size, d in named)
            raise InputError(
                f"parameter '{param.name}' is {param.ty.dtype}[{dims}], its"
                f" value is {array.dtype}{list(array.shape)}; give a value of the parameter's type"
            )
    return tvm.runtime.tensor(array)
