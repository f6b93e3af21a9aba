"""Tensors of a program and their places, its inputs and outputs, its weights.

Example
-------
>>> t = Tensor("x", "f32", (1, 4), Location("input", 0))
>>> t.nbytes
16
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tvm_megcc.core import dtypes
from tvm_megcc.core.contents import Bytes
from tvm_megcc.dims import Size, product

#: Bytes to which arena tensors and weights are aligned unless a plan says otherwise.
ALIGNMENT = 64

Space = Literal["arena", "weight", "input", "output", "block"]


@dataclass(frozen=True, slots=True)
class Location:
    """The place of a tensor's first byte.

    Attributes
    ----------
    space : {"arena", "weight", "input", "output", "block"}
    index : int
        Position in ``Program.weights`` / ``inputs`` / ``outputs``; for ``"arena"``, the *storage*
        id before planning (tensors with one id share one block), the pool's number afterwards;
        for ``"block"``, position in ``Program.storages`` (planned programs of symbolic shapes).
    offset : Size
        Bytes from the start of that weight, port, block or storage (after planning: of that pool).
    """

    space: Space
    index: int = 0
    offset: Size = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dense row-major array; views are tensors with the same storage and an offset."""

    name: str
    dtype: str
    shape: tuple[Size, ...]
    location: Location

    @property
    def nbytes(self) -> Size:
        return dtypes.nbytes(self.dtype, product(self.shape))


@dataclass(frozen=True, slots=True)
class Quantisation:
    """The number that an integer stands for: ``(integer - zero_point) * scale``."""

    scale: float
    zero_point: int


@dataclass(frozen=True, slots=True)
class Port:
    """A model input or output: its name exactly as in the model, and its tensor id.

    `quantisation` says what its integers stand for, None where they stand for themselves.
    """

    name: str
    tensor: int
    quantisation: Quantisation | None = None


@dataclass(frozen=True, slots=True)
class Weight:
    """Constant bytes, packed for the kernel that reads them; equal bytes are stored once.

    `data` may be a view of a constant of the module, so that it is in memory once.
    """

    name: str
    data: Bytes
