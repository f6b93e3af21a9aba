"""Apply the user's shapes to the model's inputs.

Enters: the graph and ``{input name: dims}``. Leaves: one `InputInfo` per real input with every dim
an int or a name; equal names are one symbolic dim across all inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from ..errors import InputError
from .dtypes import short_dtype, tvm_dtype
from .model import InputInfo

Dim = int | str
#: Spellings of "unknown" that exporters write instead of leaving the dim's name out.
_ANONYMOUS = {"", "?", "-1", "None"}


def real_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Inputs that are not initialisers, in the model's order."""
    weights = {w.name for w in graph.initializer}
    weights |= {w.values.name for w in graph.sparse_initializer}
    return [port for port in graph.input if port.name not in weights]


def bind_inputs(
    graph: onnx.GraphProto, shapes: Mapping[str, Sequence[int | str | None]]
) -> tuple[InputInfo, ...]:
    """Combine the model's dims with the user's; see `tvm_megcc.frontend.from_onnx` for the rules.

    Raises
    ------
    InputError
        A name that is no input, a wrong rank, a dim that contradicts the model or another input.
    """
    ports = real_inputs(graph)
    names = [port.name for port in ports]
    for name in shapes:
        if name not in names:
            known = ", ".join(f"'{n}'" for n in names)
            raise InputError(f"'{name}' is no input of the model; its inputs are {known}")
    dims = {port.name: _declared(port, shapes.get(port.name)) for port in ports}
    fixed: dict[str, Dim] = {}
    for name in names:
        if shapes.get(name) is not None:
            dims[name] = _merge(name, dims[name], shapes[name], fixed)
    infos = []
    for port in ports:
        dtype = tvm_dtype(port.type.tensor_type.elem_type)
        if dtype is None:
            raise InputError(f"input '{port.name}': the model gives no element type; export again")
        shape = tuple(_resolve(dim, fixed) for dim in dims[port.name])
        infos.append(InputInfo(port.name, short_dtype(dtype), shape))
    return tuple(infos)


def _declared(port: onnx.ValueInfoProto, given: Sequence[int | str | None] | None) -> list[Dim]:
    tensor = port.type.tensor_type
    if not tensor.HasField("shape"):
        if given is None:
            raise InputError(
                f"input '{port.name}': the model gives no shape; give one with --input-shapes"
            )
        return [_anonymous(port.name, axis) for axis in range(len(given))]
    dims: list[Dim] = []
    for axis, dim in enumerate(tensor.shape.dim):
        if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
            dims.append(dim.dim_value)
        elif dim.dim_param in _ANONYMOUS:
            dims.append(_anonymous(port.name, axis))
        else:
            dims.append(dim.dim_param)
    return dims


def _anonymous(name: str, axis: int) -> str:
    return f"{name}_dim{axis}"


def _merge(
    name: str, dims: list[Dim], given: Sequence[int | str | None], fixed: dict[str, Dim]
) -> list[Dim]:
    if len(given) != len(dims):
        raise InputError(
            f"input '{name}': {len(given)} dims given, the model has {len(dims)} "
            f"({_print(dims)}); give {len(dims)}"
        )
    merged: list[Dim] = []
    for axis, (dim, want) in enumerate(zip(dims, given, strict=True)):
        if want is None or want == -1:
            merged.append(dim)
            continue
        if isinstance(want, int) and want < 0:
            raise InputError(f"input '{name}': dim {axis} is {want}; give a size or -1 for dynamic")
        if isinstance(dim, int):
            if want != dim:
                raise InputError(
                    f"input '{name}': dim {axis} is {dim} in the model, not {want}; give {dim}"
                )
        elif fixed.setdefault(dim, want) != want:
            raise InputError(
                f"input '{name}': dim '{dim}' is {fixed[dim]} elsewhere, not {want}; give one size"
            )
        merged.append(want)
    return merged


def _resolve(dim: Dim, fixed: Mapping[str, Dim]) -> Dim:
    seen: set[Dim] = set()
    while isinstance(dim, str) and dim in fixed and dim not in seen:
        seen.add(dim)
        dim = fixed[dim]
    return dim


def _print(dims: Sequence[Dim]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"
