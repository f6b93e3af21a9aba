"""The program of a `Bundle` that serves given shapes, and its arena, as the VM decides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm_megcc.core.program import Bundle, Program, Range, Variant
from tvm_megcc.dims import as_multiple, at, bounds, symbols
from tvm_megcc.errors import InputError
from tvm_megcc.memory.stacking import arena_bytes


def sizes_of(bundle: Bundle, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The value of each symbol for these input shapes.

    Raises
    ------
    InputError
        For a shape that the model does not accept, or a symbol that no shape says.
    """
    values: dict[str, int] = {}
    ports = {port.name: port for port in bundle.inputs}
    for name, shape in shapes.items():
        if name not in ports:
            known = ", ".join(f"'{n}'" for n in ports)
            raise InputError(f"'{name}' is no input of the model; its inputs are {known}")
        dims = ports[name].dims
        if len(shape) != len(dims):
            raise InputError(f"input '{name}' has {len(dims)} dims, not {len(shape)}")
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            found = as_multiple(dim)
            if found is None:
                if dim != size:
                    raise InputError(f"input '{name}': dim {axis} is {dim}, not {size}")
                continue
            (factor, symbol), (low, high) = found, bounds(dim)
            if not low <= size <= high:
                raise InputError(
                    f"input '{name}': dim {axis} ('{dim}') is {size}; give {low:.0f} to {high:.0f}"
                )
            if size % factor:
                raise InputError(
                    f"input '{name}': dim {axis} ('{dim}') is {size}; give a multiple of {factor}"
                )
            other = values.setdefault(symbol.name, int(size) // factor) * factor
            if other != size:
                raise InputError(
                    f"input '{name}': dim {axis} ('{dim}') is {other} by another dim of '{symbol}',"
                    f" not {size}; give one size"
                )
    for missing in (s.name for port in bundle.inputs for d in port.dims for s in symbols(d)):
        if missing not in values:
            raise InputError(
                f"no shape says the size of '{missing}'; give the shapes of all inputs"
            )
    return values


def variant_for(bundle: Bundle, values: Mapping[str, int]) -> Variant:
    """The first variant that takes these sizes, also where it wants some to be equal.

    Raises
    ------
    InputError
        When none does.
    """
    found = [v for v in bundle.variants if all(_holds(bundle, r, values) for r in v.guard)]
    if found:
        return next((v for v in found if _are_equal(v.program, values)), found[-1])
    sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
    raise InputError(f"the model was not compiled for {sizes}; see tvmc inspect")


def _holds(bundle: Bundle, found: Range, values: Mapping[str, int]) -> bool:
    value = values[bundle.symbols[found.symbol].name]
    return found.low <= value and (found.high is None or value < found.high)


def _are_equal(program: Program, values: Mapping[str, int]) -> bool:
    """Whether sizes that a program wants to be equal are, but for those that data says."""
    return all(
        at(r.a, values) == at(r.b, values)
        for r in program.requirements
        if all(s.name in values for size in (r.a, r.b) for s in symbols(size))
    )


def bundle_arena_bytes(bundle: Bundle, values: Mapping[str, int]) -> int:
    """Bytes of arena for these sizes; what depends on data is not in the arena."""
    program = variant_for(bundle, values).program
    return arena_bytes(program, values) if program.symbols else program.arena_bytes or 0
