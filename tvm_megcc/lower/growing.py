"""A program under construction, to which bindings, branches and loops add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core.array_bytes import bytes_of
from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.program import Copy, Kernel, Let, Location, Requirement, Step, Tensor, Weight
from tvm_megcc.dims import Size, Symbol, compare, of, symbols
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.exprs import array_of, dtype_name, make_constant
from tvm_megcc.relax_tools.shape_exprs import symbols_of


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """A shape whose dims are the elements of a tensor."""

    tensor: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """A shape of known sizes."""

    sizes: tuple[Size, ...]


#: A tensor id, the ids of a tuple's fields, or a shape, read from a tensor or known.
Value = int | tuple["Value", ...] | ShapeOf | Sizes


def single(value: Value) -> int:
    """Tensor id of a value that is one tensor."""
    assert isinstance(value, int)
    return value


@dataclass
class Growing(ABC):
    """A program under construction: its parts, and the sizes known at the next step.

    Attributes
    ----------
    shared : dict
        Weights of all functions of the module by their bytes.
    """

    mod: tvm.IRModule
    shared: dict[Bytes, Bytes]
    tensors: list[Tensor] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    calls: list[Step] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    requirements: dict[tuple[Size, Size], Requirement] = field(default_factory=dict)
    #: The symbols of the inputs.
    given: frozenset[Symbol] = field(init=False, default=frozenset())
    #: First place of each of these in the inputs, for messages.
    places: dict[Symbol, str] = field(init=False, default_factory=dict)
    #: Number of branches and loops around the next step.
    regions: int = field(init=False, default=0)
    #: Symbols or known sizes of the dims of the function at hand.
    scope: dict[str, Symbol | Size] = field(init=False, default_factory=dict)
    _renamed: dict[str, Symbol | Size] = field(init=False, default_factory=dict)
    _weight_ids: dict[Bytes, int] = field(init=False, default_factory=dict)
    _constants: dict[tuple[int, str, tuple[int, ...]], int] = field(
        init=False, default_factory=dict
    )
    _storages: int = field(init=False, default=0)

    @abstractmethod
    def inlined(self, name: str, values: Sequence[Value]) -> Value:
        """Add the steps of a function for these arguments; return its result."""

    @contextmanager
    def symbols_of(self, func: relax.Function) -> Iterator[None]:
        """Use the dims of a function, this one or a callee, within a ``with`` block."""
        outside, self.scope = self.scope, {**symbols_of(func), **self._renamed}
        try:
            yield
        finally:
            self.scope = outside

    def rename(self, name: str, known: Symbol | Size) -> None:
        """Let a dim of the function at hand be a known size."""
        self._renamed[name] = self.scope[name] = known

    def fresh(self, symbol: Symbol) -> Symbol:
        """Add a symbol that is set during the run, under another name if its own is taken."""
        names = {s.name for s in self.symbols}
        taken = (f"{symbol.name}{k or ''}" for k in range(len(names) + 1))
        found = replace(symbol, name=next(n for n in taken if n not in names))
        self.symbols.append(found)
        return found

    def let(self, names: Sequence[Symbol], sizes: Sequence[Size], name: str) -> None:
        """Add a step that sets symbols to these sizes."""
        self.symbols += [s for s in names if s not in self.symbols]
        numbers = tuple(self.symbols.index(s) for s in names)
        self.calls.append(Let(numbers, tuple(sizes), name))

    def name_size(self, symbol: Symbol, size: Size, name: str) -> None:
        """Let a new symbol be a size, computed with the shapes or before the next step.

        In a branch it is computed there, as the branch may not be for the shapes at hand.
        """
        if isinstance(size, int) or (not self.regions and symbols(size) <= self.given):
            self.rename(symbol.name, size)
        else:
            self.let([symbol], [size], name)

    def check_read(self, sizes: Iterable[Size], name: str) -> None:
        """Check that every size is known at the next step."""
        for size in sizes:
            for symbol in symbols(size):
                assert symbol in self.symbols, f"{name} needs the size {symbol} before it is read"

    def require(self, a: Size, b: Size, name: str) -> Size:
        """Require two sizes to be equal, when the shapes are set or a region is run.

        Returns
        -------
        Size
            The common size.
        """
        same = compare("eq", a, b)
        if same == 1:
            return b
        if not self.regions:
            if same == 0:
                raise UnsupportedError(
                    f"'{name}': a dim is {a} and the model needs {b}, which is never equal"
                    f"{self._from(a, b)}; give other sizes with --input-shapes"
                )
            self.requirement(a, b, name)
            return b
        # A region may not be run with these shapes; then its sizes need not fit.
        symbol = self.fresh(Symbol(f"{name}.size"))
        self.let([symbol], [a], name)
        self.requirement(of(symbol), b, name)
        return of(symbol)

    def _from(self, *sizes: Size) -> str:
        """Part of a message that lists the input dims from which sizes follow."""
        found = sorted(self.places[s] for d in sizes for s in symbols(d) if s in self.places)
        return f" (from {', '.join(dict.fromkeys(found))})" if found else ""

    def requirement(self, a: Size, b: Size, name: str) -> None:
        """End runs with shapes for which two sizes differ."""
        self.requirements.setdefault((a, b), Requirement(a, b, name))

    def new_tensor(self, name: str, dtype: str, shape: tuple[Size, ...]) -> int:
        """Add a tensor with a storage of its own."""
        self.tensors.append(Tensor(name, dtype, shape, Location("arena", self._storages)))
        self._storages += 1
        return len(self.tensors) - 1

    def movable(self, tensor: int, sizes: Iterable[Size], name: str) -> int:
        """The tensor, or a copy of a constant one that gets sizes known only during a run.

        Weights of an image have a fixed shape. Constants come here as results of both branches of
        an If, or as arguments of a function.
        """
        known = self.tensors[tensor]
        if known.location.space != "weight" or all(isinstance(size, int) for size in sizes):
            return tensor
        copy = self.new_tensor(f"{name}.copy", known.dtype, known.shape)
        self.calls.append(Copy(copy, tensor, name=name))
        return copy

    def constant(self, array: np.ndarray) -> int:
        """Add a constant tensor."""
        return self.constant_of(make_constant(array))

    def constant_of(self, expr: GenericConst) -> int:
        array = array_of(expr)
        data, dtype = bytes_of(array), dtype_name(expr.value.dtype)
        weight = self._weight_ids.setdefault(data, len(self.weights))
        if weight == len(self.weights):
            self.weights.append(Weight(f"w{weight}", self.shared.setdefault(data, data)))
        key = (weight, dtype, tuple(array.shape))
        if key not in self._constants:
            at = Location("weight", weight)
            self.tensors.append(Tensor(f"w{weight}", dtype, tuple(array.shape), at))
            self._constants[key] = len(self.tensors) - 1
        return self._constants[key]
