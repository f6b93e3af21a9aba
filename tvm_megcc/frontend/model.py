"""The result of the frontend: the module and the model's ports, in the model's own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import tvm

from ..dims import Multiple, Symbol


@dataclass(frozen=True, slots=True)
class InputInfo:
    """One real input: ``name`` as in the model, ``dtype`` ours, ``shape`` of ints and dim names.

    ``symbols`` are those of its dims that have bounds. A dim that is a multiple of a symbol is the
    text of one of ``multiples``.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    symbols: tuple[Symbol, ...] = ()
    multiples: tuple[Multiple, ...] = ()

    def fixed(self, sizes: Mapping[str, int]) -> InputInfo:
        """The port with other dims for some names."""
        shape = tuple(sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in self.shape)
        symbols = tuple(symbol for symbol in self.symbols if symbol.name not in sizes)
        return replace(self, shape=shape, symbols=symbols)


@dataclass(frozen=True, slots=True)
class OutputInfo:
    """One output; a dim that is an expression of symbolic dims is printed as one (``n * 2``)."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A model as Relax, with its ports in the model's order."""

    mod: tvm.IRModule
    inputs: tuple[InputInfo, ...]
    outputs: tuple[OutputInfo, ...]
    name: str
