"""The program of a package that serves given sizes: the VM's choice, made from the manifest.

Enters: an entry of the manifest's ``per_arch`` and sizes of the dynamic dims. Leaves: the number
of the program and its facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_megcc.dims import factor_of, json_at
from tvm_megcc.host.package import Port

Facts = Mapping[str, Any]


def dims_of(inputs: Sequence[Port], shapes: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Sizes of the dynamic dims, from the inputs' shapes."""
    values: dict[str, int] = {}
    for port in inputs:
        for dim, size in zip(port.shape, shapes[port.name], strict=True):
            if isinstance(dim, str):
                factor, name = factor_of(dim)
                values[name] = int(size) // factor
    return values


def program_for(entry: Facts, values: Mapping[str, int]) -> tuple[int, Facts] | None:
    """Number and facts of the first program that takes these sizes, or None."""
    if "functions" not in entry:
        return 0, entry
    for number, function in enumerate(entry["functions"]):
        fits = all(_within(values[d], *ends) for d, ends in function["sizes"].items())
        pairs = function.get("equal", ())
        if fits and all(json_at(a, values) == json_at(b, values) for a, b in pairs):
            return number, function
    return None


def _within(value: int, low: int, high: int | None) -> bool:
    return low <= value and (high is None or value < high)
