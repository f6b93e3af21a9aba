"""Apply the user's shapes to the model's inputs.

Enters: the graph and ``{input name: dims}``. Leaves: one `InputInfo` per real input with every dim
an int or a name; equal names are one symbolic dim across all inputs, within the bounds that were
given for it anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from tvm_megcc.core.dtypes import of_onnx

from ..dims import Symbol
from ..errors import InputError
from .model import InputInfo

Dim = int | str
#: What a user may give for a dim: a size, a name, None or -1 for the model's own, or bounds (a
#: `Symbol`, whose name may be empty).
GivenDim = int | str | Symbol | None
#: Spellings of "unknown" that exporters write instead of leaving the dim's name out.
_ANONYMOUS = {"", "?", "-1", "None"}


def real_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Inputs that are not initialisers, in the model's order."""
    weights = {w.name for w in graph.initializer}
    weights |= {w.values.name for w in graph.sparse_initializer}
    return [port for port in graph.input if port.name not in weights]


def bind_inputs(
    graph: onnx.GraphProto, shapes: Mapping[str, Sequence[GivenDim]]
) -> tuple[InputInfo, ...]:
    """Combine the model's dims with the user's; see `tvm_megcc.frontend.from_onnx` for the rules.

    Raises
    ------
    InputError
        A name that is no input, a wrong rank, a dim that contradicts the model or another input.
    """
    ports = real_inputs(graph)
    check_names(shapes, [port.name for port in ports])
    declared: dict[str, tuple[str, Sequence[Dim]]] = {}
    for port in ports:
        dims = _declared(port, shapes.get(port.name))
        dtype = of_onnx(port.type.tensor_type.elem_type)
        if dtype is None:
            raise InputError(f"input '{port.name}': the model gives no element type; export again")
        declared[port.name] = (dtype.name, dims)
    return bind(declared, shapes)


def check_names(shapes: Mapping[str, Sequence[GivenDim]], names: Sequence[str]) -> None:
    """Raise where a shape is given for what is no input."""
    for name in shapes:
        if name not in names:
            known = ", ".join(f"'{n}'" for n in names)
            raise InputError(f"'{name}' is no input of the model; its inputs are {known}")


def bind(
    declared: Mapping[str, tuple[str, Sequence[Dim]]],
    shapes: Mapping[str, Sequence[GivenDim]],
    known: Mapping[str, Symbol] | None = None,
) -> tuple[InputInfo, ...]:
    """Inputs of these dtypes and dims by name, with the user's dims; errors as of `bind_inputs`.

    `known` are dims that the model itself gives bounds.
    """
    check_names(shapes, list(declared))
    dims = {name: list(of_model) for name, (_, of_model) in declared.items()}
    fixed: dict[str, Dim] = {}
    bounds = dict(known or {})
    for name in declared:
        if shapes.get(name) is not None:
            dims[name] = _merge(name, dims[name], shapes[name], fixed, bounds)
    bounds = _resolved_bounds(bounds, fixed)
    infos = []
    for name, (dtype, _) in declared.items():
        shape = tuple(_resolve(dim, fixed) for dim in dims[name])
        symbols = tuple(dict.fromkeys(bounds[d] for d in shape if d in bounds))
        infos.append(InputInfo(name, dtype, shape, symbols))
    return tuple(infos)


def _declared(port: onnx.ValueInfoProto, given: Sequence[GivenDim] | None) -> list[Dim]:
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
    name: str,
    dims: list[Dim],
    given: Sequence[GivenDim],
    fixed: dict[str, Dim],
    bounds: dict[str, Symbol],
) -> list[Dim]:
    if not dims and all(size == 1 for size in given):
        return dims  # a scalar in an array of one element, as ONNX Runtime takes it
    if len(given) != len(dims):
        raise InputError(
            f"input '{name}': {len(given)} dims given, the model has {len(dims)} "
            f"({_print(dims)}); give {len(dims)}"
        )
    merged: list[Dim] = []
    for axis, (dim, want) in enumerate(zip(dims, given, strict=True)):
        if isinstance(want, Symbol):
            merged.append(_bounded(name, axis, dim, want, bounds))
            want = want.name or None
        if want is None or want == -1:
            if len(merged) == axis:
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
        if len(merged) == axis:
            merged.append(want)
    return merged


def _bounded(name: str, axis: int, dim: Dim, want: Symbol, bounds: dict[str, Symbol]) -> Dim:
    """The name of a dim that gets bounds; several bounds of one name must leave something."""
    high = want.high
    if want.low < 0 or (high is not None and high < want.low):
        raise InputError(
            f"input '{name}': dim {axis} has the bounds {want.low} to {high}, which hold no size;"
            " give low..high"
        )
    if isinstance(dim, int):
        if dim < want.low or (high is not None and dim > high):
            raise InputError(
                f"input '{name}': dim {axis} is {dim} in the model, which is not within"
                f" {want.low} to {high}; give {dim}"
            )
        return dim
    label = want.name or dim
    _intersect(name, label, Symbol(label, want.low, high), bounds)
    return label


def _intersect(where: str, label: str, found: Symbol, bounds: dict[str, Symbol]) -> None:
    known = bounds.get(label, Symbol(label))
    highs = [h for h in (known.high, found.high) if h is not None]
    both = Symbol(label, max(known.low, found.low), min(highs) if highs else None)
    if both.high is not None and both.high < both.low:
        raise InputError(
            f"input '{where}': dim '{label}' is {known.low} to {known.high} elsewhere and"
            f" {found.low} to {found.high} here, which have no size in common; give other bounds"
        )
    bounds[label] = both


def _resolved_bounds(bounds: Mapping[str, Symbol], fixed: Mapping[str, Dim]) -> dict[str, Symbol]:
    """Bounds by the names that the dims have in the end, of those that are still symbolic."""
    resolved: dict[str, Symbol] = {}
    for label, found in bounds.items():
        dim = _resolve(label, fixed)
        if isinstance(dim, str):
            _intersect(dim, dim, Symbol(dim, found.low, found.high), resolved)
        elif dim < found.low or (found.high is not None and dim > found.high):
            raise InputError(
                f"dim '{label}' is {dim}, which is not within its bounds {found.low} to"
                f" {found.high}; give another size"
            )
    return resolved


def _resolve(dim: Dim, fixed: Mapping[str, Dim]) -> Dim:
    seen: set[Dim] = set()
    while isinstance(dim, str) and dim in fixed and dim not in seen:
        seen.add(dim)
        dim = fixed[dim]
    return dim


def _print(dims: Sequence[Dim]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"
