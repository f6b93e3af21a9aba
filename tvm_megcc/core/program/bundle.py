"""One model as several programs, each for some of the shapes."""

from __future__ import annotations

from dataclasses import dataclass

from tvm_megcc.core.program.program import Program
from tvm_megcc.core.program.sizes import data_symbols
from tvm_megcc.core.program.tensors import Quantisation
from tvm_megcc.dims import Size, Symbol


@dataclass(frozen=True, slots=True)
class PortType:
    """Type of a model's input: each dim is a number, a symbol or a multiple of one."""

    name: str
    dtype: str
    dims: tuple[Size, ...]
    quantisation: Quantisation | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """``low <= symbol < high``; ``high`` is None when there is no end."""

    symbol: int
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Variant:
    """A program and the sizes that it serves: all of ``guard`` must hold."""

    guard: tuple[Range, ...]
    program: Program


@dataclass(frozen=True, slots=True)
class Bundle:
    """One model for one architecture as several programs, each for some of the shapes.

    The variants are tried in order. Their ports agree in name, order, dtype and rank.
    """

    name: str
    arch: str
    symbols: tuple[Symbol, ...]
    inputs: tuple[PortType, ...]
    variants: tuple[Variant, ...]


def bundle_of(program: Program | Bundle) -> Bundle:
    """A program as the bundle for all shapes that it accepts; a bundle itself."""
    if isinstance(program, Bundle):
        return program
    inputs = tuple(
        PortType(p.name, tensor.dtype, tensor.shape, p.quantisation)
        for p in program.inputs
        for tensor in [program.tensors[p.tensor]]
    )
    data = data_symbols(program)
    of_inputs = tuple(s for s in program.symbols if s not in data)
    return Bundle(program.name, program.arch, of_inputs, inputs, (Variant((), program),))


def programs_of(found: Program | Bundle) -> tuple[Program, ...]:
    """The programs of a bundle, or the one that there is."""
    return tuple(v.program for v in found.variants) if isinstance(found, Bundle) else (found,)
