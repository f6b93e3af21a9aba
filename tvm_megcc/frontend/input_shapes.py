"""Apply the user's shapes to the model's inputs.

Enters: the graph and ``{input name: dims}``. Leaves: one `InputInfo` per real input with every dim
an int or a name; equal names are one symbolic dim across all inputs, within the bounds that were
given for it anywhere. A dim may be a multiple of a name (``32*h``), whose bounds are its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import onnx

from tvm_megcc.core.dtypes import of_onnx

from ..dims import GivenDim, Multiple, Symbol, read
from ..errors import InputError
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
    graph: onnx.GraphProto,
    shapes: Mapping[str, Sequence[GivenDim]],
    distinct_dims: Sequence[str] = (),
) -> tuple[InputInfo, ...]:
    """Combine the model's dims with the user's; see `tvm_megcc.frontend.from_onnx` for the rules.

    Raises
    ------
    InputError
        A name that is no input, a wrong rank, a dim that contradicts the model or another input, a
        pattern that no dim fits.
    """
    ports = real_inputs(graph)
    check_names(shapes, [port.name for port in ports])
    _check_patterns(distinct_dims, ports)
    declared: dict[str, tuple[str, Sequence[Dim]]] = {}
    for port in ports:
        dims = _declared(port, shapes.get(port.name), distinct_dims)
        dtype = of_onnx(port.type.tensor_type.elem_type)
        if dtype is None:
            raise InputError(f"input '{port.name}': the model gives no element type; export again")
        declared[port.name] = (dtype.name, dims)
    return bind(declared, shapes)


def check_names(shapes: Mapping[str, Sequence[GivenDim]], names: Sequence[str]) -> None:
    """Refuse a shape for a name that is no input."""
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

    `known` are dims with bounds in the model itself.
    """
    check_names(shapes, list(declared))
    dims = {name: list(of_model) for name, (_, of_model) in declared.items()}
    found = _Given(dict(known or {}))
    for name, of_model in dims.items():
        for dim in of_model:
            found.declared(dim)
        given = shapes.get(name)
        if given is not None:
            dims[name] = found.merged(name, of_model, given)
    bounds = found.resolved_bounds()
    infos = []
    for name, (dtype, _) in declared.items():
        shape = tuple(found.resolved(dim) for dim in dims[name])
        multiples = tuple(dict.fromkeys(m for d in shape if (m := found.multiples.get(d))))
        names = [found.multiples[d].of.name if d in found.multiples else d for d in shape]
        symbols = tuple(dict.fromkeys(bounds[n] for n in names if n in bounds))
        infos.append(InputInfo(name, dtype, shape, symbols, multiples))
    return tuple(infos)


def _check_patterns(patterns: Sequence[str], ports: Sequence[onnx.ValueInfoProto]) -> None:
    """Refuse a pattern that fits no dim's name."""
    dims = [dim for port in ports for dim in port.type.tensor_type.shape.dim]
    names = list(dict.fromkeys(dim.dim_param for dim in dims if dim.dim_param))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            known = ", ".join(f"'{name}'" for name in names)
            raise InputError(
                f"--distinct-dims: no input has a dim '{pattern}'; "
                + (f"the names are {known}" if known else "the inputs' dims have no names")
            )


def _declared(
    port: onnx.ValueInfoProto, given: Sequence[GivenDim] | None, distinct: Sequence[str]
) -> list[Dim]:
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
        elif dim.dim_param in _ANONYMOUS or any(fnmatchcase(dim.dim_param, p) for p in distinct):
            dims.append(_anonymous(port.name, axis))
        else:
            dims.append(dim.dim_param)
    return dims


def _anonymous(name: str, axis: int) -> str:
    return f"{name}_dim{axis}"


@dataclass(slots=True)
class _Given:
    """Bounds, sizes and multiples of the dims of all inputs, from the model and the user."""

    bounds: dict[str, Symbol]
    #: The model's names of dims -> the size or the name that the user gives.
    fixed: dict[str, Dim] = field(default_factory=dict)
    #: Dims that are multiples, by their text.
    multiples: dict[Dim, Multiple] = field(default_factory=dict)

    def declared(self, dim: Dim) -> None:
        """Note a dim that is a multiple in the model itself, as ``torch.export`` writes it."""
        found = read(dim) if isinstance(dim, str) else None
        if isinstance(found, Multiple) and str(found) == dim:
            self.multiples[dim] = found

    def merged(self, name: str, dims: list[Dim], given: Sequence[GivenDim]) -> list[Dim]:
        """The dims of an input: the model's, replaced or bounded by the user's."""
        if not dims and all(size == 1 for size in given):
            return dims  # a scalar in an array of one element, as ONNX Runtime takes it
        if len(given) != len(dims):
            raise InputError(
                f"input '{name}': {len(given)} dims given, the model has {len(dims)} "
                f"({_print(dims)}); give {len(dims)}"
            )
        return [
            self._merged(name, axis, dim, read(want) if isinstance(want, str) else want)
            for axis, (dim, want) in enumerate(zip(dims, given, strict=True))
        ]

    def _merged(self, name: str, axis: int, dim: Dim, want: GivenDim) -> Dim:
        if isinstance(want, Symbol):
            label = self._bounded(name, axis, dim, want)
            if not want.name:
                return label
            want = label
        if isinstance(want, Multiple):
            want = self._multiple(name, axis, dim, want)
        if want is None or want == -1:
            return dim
        if isinstance(want, int) and want < 0:
            raise InputError(f"input '{name}': dim {axis} is {want}; give a size or -1 for dynamic")
        if isinstance(dim, int):
            if want != dim:
                raise InputError(
                    f"input '{name}': dim {axis} is {dim} in the model, not {want}; give {dim}"
                )
        elif dim in self.multiples and isinstance(want, int):
            multiple = self.multiples[dim]
            if want % multiple.factor:
                raise InputError(
                    f"input '{name}': dim {axis} is {dim} in the model, of which {want} is no"
                    f" multiple; give a multiple of {multiple.factor}"
                )
            self._merged(name, axis, multiple.of.name, want // multiple.factor)
        elif self.fixed.setdefault(dim, want) != want:
            raise InputError(
                f"input '{name}': dim '{dim}' is {self.fixed[dim]} elsewhere, not {want};"
                " give one size"
            )
        return want

    def _bounded(self, name: str, axis: int, dim: Dim, want: Symbol) -> Dim:
        """Give a dim bounds; its name, or its size if it is fixed."""
        _check_bounds(name, axis, want)
        high = want.high
        if isinstance(dim, int):
            if dim < want.low or (high is not None and dim > high):
                raise InputError(
                    f"input '{name}': dim {axis} is {dim} in the model, which is not within"
                    f" {want.low} to {high}; give {dim}"
                )
            return dim
        label = want.name or dim
        _intersect(name, label, Symbol(label, want.low, high), self.bounds)
        return label

    def _multiple(self, name: str, axis: int, dim: Dim, want: Multiple) -> str:
        """Note that a dim is `want`, a multiple such as ``32*h``, and the bounds of its symbol.

        Returns the multiple's text.
        """
        _check_bounds(name, axis, want.of)
        found = want if want.of.name else want.named(f"{dim}_by_{want.factor}")
        if want.of != Symbol(want.of.name):
            _intersect(name, found.of.name, found.of, self.bounds)
        self.multiples[str(found)] = found
        return str(found)

    def resolved(self, dim: Dim) -> Dim:
        """The dim after all names are resolved: a size, a name, or the text of a multiple."""
        found = _resolve(dim, self.fixed)
        multiple = self.multiples.get(found)
        if multiple is None:
            return found
        base = self._base(multiple.of.name)
        if isinstance(base, int):
            return multiple.factor * base
        inner = self.multiples.get(base)
        if inner is not None:
            multiple = Multiple(multiple.factor * inner.factor, inner.of)
        else:
            multiple = multiple.named(base)
        self.multiples[str(multiple)] = multiple
        return str(multiple)

    def _base(self, name: str) -> Dim:
        """The dim for a symbol after all names are resolved.

        A multiple of a symbol may have the symbol's own name, which then stays.
        """
        found = _resolve(name, self.fixed)
        multiple = self.multiples.get(found)
        return name if multiple is not None and multiple.of.name == name else found

    def resolved_bounds(self) -> dict[str, Symbol]:
        """Bounds of the dims that stay symbolic, by their final names."""
        resolved: dict[str, Symbol] = {}
        for label, found in self.bounds.items():
            dim = self._base(label)
            if isinstance(dim, str):
                multiple = self.multiples.get(dim, Multiple(1, Symbol(dim)))
                high = None if found.high is None else found.high // multiple.factor
                low = -(-found.low // multiple.factor)
                _intersect(dim, multiple.of.name, Symbol(multiple.of.name, low, high), resolved)
            elif dim < found.low or (found.high is not None and dim > found.high):
                raise InputError(
                    f"dim '{label}' is {dim}, which is not within its bounds {found.low} to"
                    f" {found.high}; give another size"
                )
        return resolved


def _check_bounds(name: str, axis: int, found: Symbol) -> None:
    if found.low < 0 or (found.high is not None and found.high < found.low):
        raise InputError(
            f"input '{name}': dim {axis} has the bounds {found.low} to {found.high}, which hold no"
            " size; give low..high"
        )


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


def _resolve(dim: Dim, fixed: Mapping[str, Dim]) -> Dim:
    seen: set[Dim] = set()
    while isinstance(dim, str) and dim in fixed and dim not in seen:
        seen.add(dim)
        dim = fixed[dim]
    return dim


def _print(dims: Sequence[Dim]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"
