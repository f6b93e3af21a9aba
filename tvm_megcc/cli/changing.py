"""Lines of ``tvmc inspect`` on a model of dynamic shapes: its programs and their sizes.

Enters: the facts of `tvm_megcc.cli.inspect.summary`. Leaves: lines, and the arena for given shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tvm_megcc.dims import json_at, json_symbols
from tvm_megcc.errors import InputError
from tvm_megcc.report.labels import group_at

if TYPE_CHECKING:
    from tvm_megcc.host.package import Port

Facts = Mapping[str, Any]


def lines(facts: Facts) -> Iterator[str]:
    """Lines on the dynamic dims and each architecture's programs; none if every shape is fixed."""
    if not any("functions" in a for a in facts["archs"].values()):
        return
    for symbol in facts["symbols"]:
        high = symbol["high"]
        yield f"dim '{symbol['name']}': {symbol['low']} to {'any' if high is None else high}"
    for arch, entry in facts["archs"].items():
        functions = entry.get("functions", ())
        for number, function in enumerate(functions):
            found = function["arena_bytes"]
            arena = "arena by shape" if found is None else f"arena {found} bytes"
            if found is None and (limit := function.get("arena_limit")) is not None:
                arena += f", at most {limit} bytes"
            kernels = ", ".join(f"{n} {k}" for k, n in function["calls_by_kernel"].items())
            sizes = _sizes(function)
            # The next one serves the same sizes where what has to be equal in this one is not.
            if any(other["sizes"] == function["sizes"] for other in functions[number + 1 :]):
                sizes += " if dims that meet are equal"
            yield f"program {number} for {arch}, {sizes}: {arena}, {kernels}"
    for arch, found in facts.get("at", {}).items():
        yield f"{arch}: program {found['function']}, arena {found['arena_bytes']} bytes"


def _sizes(function: Facts) -> str:
    rows = []
    for dim, (low, high) in function["sizes"].items():
        if high is None:
            rows.append(f"{dim} >= {low}")
        else:
            rows.append(f"{dim} == {low}" if high == low + 1 else f"{low} <= {dim} < {high}")
    return " and ".join(rows) or "all other sizes"


def at_shapes(
    facts: Facts, inputs: Sequence[Port], shapes: Mapping[str, Sequence[Any]]
) -> dict[str, dict[str, Any]]:
    """The program that serves these shapes, its arena and its bands, by architecture.

    Raises InputError if the model does not take these shapes.
    """
    from tvm_megcc.host.arrays import sized
    from tvm_megcc.host.serving import dims_of

    fixed = {port.name: port.shape for port in sized(inputs, shapes)}
    values = dims_of(inputs, fixed)
    for symbol in facts["symbols"]:
        value, high = values.get(symbol["name"]), symbol["high"]
        if value is not None and not (symbol["low"] <= value <= (value if high is None else high)):
            bounds = f"{symbol['low']} to {'any' if high is None else high}"
            raise InputError(f"--shapes: dim '{symbol['name']}' is {value}; it must be {bounds}")
    return {arch: _at(entry, values) for arch, entry in facts["archs"].items()}


def _at(entry: Facts, values: Mapping[str, int]) -> dict[str, Any]:
    from tvm_megcc.host import serving

    found = serving.program_for(entry, values)
    if found is None:
        sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise InputError(f"--shapes: the model was not compiled for {sizes}; give other sizes")
    number, function = found
    arena = function["arena_bytes"]
    if arena is None:
        arena = _stacked(function["blocks"], values)
    found_at = {"function": number, "arena_bytes": arena}
    if "streamed" in function:
        found_at["streamed"] = [group_at(group, values) for group in function["streamed"]]
    return found_at


def _stacked(blocks: Sequence[Facts], values: Mapping[str, int]) -> int:
    """Arena bytes of blocks that stand on one another, as the VM computes them."""
    ends: list[int] = []
    arena = 0
    for block in blocks:
        # A part whose size only the run says lies within one whose size the shapes say.
        known = [s for s in block["sizes"] if json_symbols(s) <= values.keys()]
        size = 0 if block["dynamic"] else max((json_at(s, values) for s in known), default=0)
        under = max((ends[b] for b in block["below"]), default=0)
        start = -(-under // block["alignment"]) * block["alignment"]
        ends.append(start + size)
        arena = max(arena, start + size if size else 0)
    return arena
